// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// In the precision HIGHEST no element of a convolution or of its gradients depends on what it does not see: where one
// element of an input changes, to a large number or to infinity, all results that do not see it keep their bits. That
// is so of what the library chooses, in the call and in plans, and of every variant but Winograd's; and Winograd's is
// taken by leave alone: the precision, params.winograd, the variant's name, HUSK_VARIANT; not by a tuning database.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/environment.h"
#include "support/support.h"
#include "support/values.h"

enum { CHANNELS = 64, EDGE = 28, AT = 13, PIXELS = CHANNELS * EDGE * EDGE, WEIGHTS = CHANNELS * CHANNELS * 9 };
enum { FORWARD, DATA, GRADIENT, DIRECTIONS };
static const int64_t image[] = {1, CHANNELS, EDGE, EDGE}, filter[] = {CHANNELS, CHANNELS, 3, 3};
static const char *const operators[] = {"conv", "conv_backward_data", "conv_backward_weights"};
static float pixels[PIXELS], weights[WEIGHTS], gradients[PIXELS];

static void fill(float *values, int count, uint32_t seed, float scale)
{
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        values[i] = scale * ((float)(seed >> 8) / 8388608.0f - 1.0f);
    }
}

// The element that changes: a pixel amid the image; of x, for the gradient by weights, the corner, which only the
// filters' middles and what is right and below of them see.
static int changed(int direction)
{
    return 5 * EDGE * EDGE + (direction == GRADIENT ? 0 : AT * EDGE + AT);
}

static bool sees(int direction, int i)
{
    if (direction == GRADIENT)
        return i / 9 % CHANNELS == 5 && i % 9 / 3 <= 1 && i % 3 <= 1;
    return abs(i / EDGE % EDGE - AT) <= 1 && abs(i % EDGE - AT) <= 1;
}

static int count_of(int direction)
{
    return direction == GRADIENT ? WEIGHTS : PIXELS;
}

// The results, and the variant that has computed them; false: it does not compute this here.
static bool compute(husk_queue *queue, int direction, const husk_conv_params *params, float *results, char name[64])
{
    husk_error error;
    husk_buffer *in, *other, *out;
    husk_context *context = husk_queue_context(queue);
    test_ok_error(husk_buffer_create(context, sizeof pixels, &in, &error), &error);
    test_ok_error(husk_buffer_create(context, sizeof gradients > sizeof weights ? sizeof gradients : sizeof weights,
                                     &other, &error),
                  &error);
    test_ok_error(husk_buffer_create(context, (uint64_t)count_of(direction) * sizeof(float), &out, &error), &error);
    const husk_tensor x = husk_tensor_make(in, HUSK_F32, 4, image);
    const husk_tensor w = husk_tensor_make(direction == GRADIENT ? out : other, HUSK_F32, 4, filter);
    const husk_tensor y = husk_tensor_make(direction == GRADIENT ? other : out, HUSK_F32, 4, image);
    ck_assert(!husk_buffer_write(queue, in, 0, sizeof pixels, pixels));
    ck_assert(!(direction == GRADIENT ? husk_buffer_write(queue, other, 0, sizeof gradients, gradients)
                                      : husk_buffer_write(queue, other, 0, sizeof weights, weights)));
    const husk_status status = direction == FORWARD ? husk_conv(queue, params, &x, &w, NULL, &y)
                               : direction == DATA  ? husk_conv_backward_data(queue, params, &w, &x, &y)
                                                    : husk_conv_backward_weights(queue, params, &x, &y, &w, NULL);
    if (status == HUSK_OK) {
        snprintf(name, 64, "%s", husk_plan_variant(husk_queue_plan(queue)));
        ck_assert(!husk_buffer_read(queue, out, 0, (uint64_t)count_of(direction) * sizeof(float), results));
    } else {
        ck_assert_msg(status == HUSK_UNSUPPORTED, "%s", husk_queue_error(queue)->text);
    }
    husk_buffer_release(in);
    husk_buffer_release(other);
    husk_buffer_release(out);
    return status == HUSK_OK;
}

// How many results that do not see the element are others where it is so much.
static int count_changes(husk_queue *queue, int direction, const husk_conv_params *params, float value, char name[64])
{
    const int count = count_of(direction);
    float *before = malloc((size_t)count * sizeof *before), *after = malloc((size_t)count * sizeof *after);
    int changes = -1;
    ck_assert(before && after);
    const float kept = pixels[changed(direction)];
    if (compute(queue, direction, params, before, name)) {
        pixels[changed(direction)] = value;
        ck_assert(compute(queue, direction, params, after, name));
        changes = 0;
        for (int i = 0; i < count; i++)
            changes += !sees(direction, i) && !test_same_value(before[i], after[i]);
    }
    pixels[changed(direction)] = kept;
    free(before);
    free(after);
    return changes;
}

static husk_conv_params plain(void)
{
    return HUSK_CONV_PARAMS(.pad = {1, 1});
}

START_TEST(results_that_do_not_see_an_element_keep_their_bits)
{
    const float values[] = {1e4f, INFINITY, NAN};
    const int direction = _i;
    char name[64] = "";
    husk_conv_params params = plain();
    int tried = 0;
    for (size_t v = 0; v == 0 || params.variant; v++) {
        for (int i = 0; i < 3; i++) {
            const int changes = count_changes(test_silent_queue(), direction, &params, values[i], name);
            if (changes < 0)
                break;
            ck_assert_msg(changes == 0, "%s %s: %g changes %d results that do not see it", operators[direction], name,
                          (double)values[i], changes);
            tried++;
        }
        do
            params.variant = husk_op_variant(operators[direction], v);
        while (params.variant && strstr(params.variant, "winograd") && ++v);
    }
    ck_assert_int_ge(tried, 3);
}
END_TEST

// ---- leave ----

static bool is_winograd(const char *variant)
{
    return strstr(variant, "winograd") != NULL;
}

// Whether a Winograd variant is among those that may be taken.
static bool may_be_taken(husk_context *context, const husk_conv_params *params)
{
    husk_error error;
    husk_queue *queue;
    husk_tuning_candidate candidates[64];
    size_t count = 0;
    char name[64];
    bool is_there = false;
    static float results[PIXELS];
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    ck_assert(compute(queue, FORWARD, params, results, name));
    test_ok_error(husk_tuning_candidates(context, husk_queue_plan(queue), candidates, 64, &count, &error), &error);
    for (size_t i = 0; i < count && i < 64; i++)
        is_there = is_there || is_winograd(candidates[i].variant);
    ck_assert_msg(is_there || !is_winograd(name), "%s, which is no candidate", name);
    husk_queue_release(queue);
    return is_there;
}

START_TEST(leave_is_what_the_caller_says)
{
    husk_error error;
    husk_context *high, *highest;
    husk_conv_params params = plain();
    test_ok_error(husk_context_create(NULL, NULL, &highest, &error), &error);
    test_ok_error(husk_context_create(NULL, &HUSK_CONTEXT_PARAMS(.precision = HUSK_PRECISION_HIGH), &high, &error),
                  &error);
    const bool is_here = may_be_taken(high, &params); // on other devices it is not, leave or none
    ck_assert(is_here || !test_device_is_home());
    ck_assert(!may_be_taken(highest, &params));
    params.winograd = 1;
    ck_assert_int_eq(may_be_taken(highest, &params), is_here);
    params.winograd = 0;
    params.precision = HUSK_PRECISION_HIGHEST;
    ck_assert(!may_be_taken(high, &params));
    params.precision = HUSK_PRECISION_MEDIUM;
    ck_assert_int_eq(may_be_taken(highest, &params), is_here);
    params.winograd = 2;
    params.precision = HUSK_PRECISION_HIGHEST;
    husk_queue *queue;
    test_ok_error(husk_queue_create(highest, NULL, &queue, &error), &error);
    const husk_tensor none = husk_tensor_make(NULL, HUSK_F32, 4, image);
    ck_assert_int_eq(husk_conv(queue, &params, &none, &none, NULL, &none), HUSK_INVALID_ARGUMENT);
    const char *text = husk_queue_error(queue)->text;
    ck_assert_msg(strstr(text, "winograd is 2, neither 0 nor 1") != NULL, "%s", text);
    husk_queue_release(queue);
    husk_context_release(high);
    husk_context_release(highest);
}
END_TEST

// The variant that computes this in the precision HIGHEST, in a context that was made in this environment.
static void chosen(husk_context *context, int direction, const char *variant, char name[64])
{
    static float results[PIXELS > WEIGHTS ? PIXELS : WEIGHTS];
    husk_error error;
    husk_queue *queue;
    husk_conv_params params = plain();
    params.variant = variant;
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    if (!compute(queue, direction, &params, results, name))
        name[0] = '\0';
    husk_queue_release(queue);
}

START_TEST(a_name_is_leave_and_a_tuning_database_is_none)
{
    static char document[2048];
    husk_error error;
    husk_context *context;
    husk_queue *queue;
    husk_tuning_key key;
    char name[64];
    const bool is_forward = _i == FORWARD;
    const char *variant = is_forward ? "winograd_4x4" : "winograd",
               *preference = is_forward ? "conv:winograd_4x4" : "conv_backward_weights:winograd";
    const int direction = is_forward ? FORWARD : GRADIENT;
    test_setenv("HUSK_VARIANT", NULL);
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    chosen(context, direction, variant, name);
    const bool is_here = is_winograd(name); // named in the call
    ck_assert_msg(is_here || !test_device_is_home(), "%s", name);
    chosen(context, direction, NULL, name);
    ck_assert_msg(!is_winograd(name), "%s", name);

    static float results[PIXELS > WEIGHTS ? PIXELS : WEIGHTS];
    husk_conv_params params = plain();
    test_ok_error(husk_queue_create(context, NULL, &queue, &error), &error);
    ck_assert(compute(queue, direction, &params, results, name));
    test_ok_error(husk_tuning_key_get(context, husk_queue_plan(queue), &key, &error), &error);
    husk_queue_release(queue);
    snprintf(document, sizeof document,
             "{\"schema\": \"husk-tuning/1\", \"entries\": [{\"device\": \"%s\", \"platform\": \"%s\", \"driver\": "
             "\"%s\", \"family\": \"%s\", \"op\": \"%s\", \"problem\": \"%s\", \"class\": \"%s\", \"kernels\": "
             "\"%s\", \"state\": \"tuned\", \"variant\": \"%s\"}]}",
             key.device, key.platform, key.driver, key.family, key.op, key.problem, key.shape_class, key.kernels,
             variant);
    test_ok_error(husk_context_load_tuning(context, &HUSK_TUNING_PARAMS(.text = document), &error), &error);
    chosen(context, direction, NULL, name);
    ck_assert_msg(!is_winograd(name), "a tuning database has made it %s", name);
    husk_context_release(context);

    test_setenv("HUSK_VARIANT", preference);
    test_ok_error(husk_context_create(NULL, NULL, &context, &error), &error);
    chosen(context, direction, NULL, name);
    ck_assert_msg(is_winograd(name) == is_here, "HUSK_VARIANT=%s: %s", preference, name);
    husk_context_release(context);
    test_restore_environment();
}
END_TEST

int main(void)
{
    fill(pixels, PIXELS, 1, 1.0f);
    fill(weights, WEIGHTS, 2, 0.1f);
    fill(gradients, PIXELS, 3, 1.0f);
    Suite *suite = suite_create("locality");
    TCase *tests = tcase_create("locality");
    tcase_add_loop_test(tests, results_that_do_not_see_an_element_keep_their_bits, 0, DIRECTIONS);
    tcase_add_test(tests, leave_is_what_the_caller_says);
    tcase_add_loop_test(tests, a_name_is_leave_and_a_tuning_database_is_none, 0, 2);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
