// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What pooling keeps whatever rounding does: a maximum grows by what all elements grow by and stays where it was, the
// mean of equal numbers is that number, of 2^n whole numbers exact. By every variant, CPUs' and GPUs'.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL, "planes", "channels", "window", "direct:64", "direct:256"};
enum { VARIANTS = sizeof variants / sizeof *variants, N = 2, C = 3, SIDE = 33, COUNT = N * C * SIDE * SIDE };

typedef struct problem {
    int64_t window, stride;
} problem;
static const problem problems[] = {{2, 2}, {4, 1}, {3, 2}, {7, 3}, {32, 1}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static float x[COUNT], moved[COUNT], y[COUNT], z[COUNT];
static int32_t indices[COUNT], others[COUNT];

static int64_t side_of(const problem *p)
{
    return (SIDE - p->window) / p->stride + 1;
}

static int64_t outputs_of(const problem *p)
{
    return N * C * side_of(p) * side_of(p);
}

// The variant "channels" wants channels last; in every test images lie one channel after the other.
static bool is_last(const char *variant)
{
    return variant && !strcmp(variant, "channels");
}

// Where element i of planes of side * side lies in memory.
static int64_t place(const char *variant, int64_t side, int64_t i)
{
    const int64_t plane = side * side, image = i / plane / C, channel = i / plane % C;
    return is_last(variant) ? (image * plane + i % plane) * C + channel : i;
}

static test_tensor input_of(const char *variant, const float *in)
{
    static float values[COUNT];
    const int64_t first[] = {N, C, SIDE, SIDE}, last[] = {N, SIDE, SIDE, C};
    for (int64_t i = 0; i < COUNT; i++)
        values[place(variant, SIDE, i)] = in[i];
    return test_input_values(4, is_last(variant) ? last : first, values);
}

static test_tensor output_of(const problem *p, const char *variant, husk_dtype dtype)
{
    const int64_t side = side_of(p), first[] = {N, C, side, side}, last[] = {N, side, side, C};
    return test_output(dtype, 4, is_last(variant) ? last : first, TEST_PACKED);
}

// [N, C, side, side] of what may lie channels last.
static husk_tensor planes(const test_tensor *memory, const char *variant, int64_t side)
{
    const int64_t shape[] = {N, C, side, side}, strides[] = {side * side * C, 1, side * C, C};
    husk_tensor tensor = memory->tensor;
    for (int d = 0; d < 4 && is_last(variant); d++) {
        tensor.shape[d] = shape[d];
        tensor.strides[d] = strides[d];
    }
    return tensor;
}

static bool compute(const problem *p, husk_pool_kind kind, const char *variant, const float *in, float *out,
                    int32_t *where)
{
    static float values[COUNT];
    const husk_pool_params params = HUSK_POOL_PARAMS(.kind = kind, .window = {p->window, p->window},
                                                     .stride = {p->stride, p->stride}, .variant = variant);
    test_tensor input = input_of(variant, in), output = output_of(p, variant, HUSK_F32),
                index = output_of(p, variant, HUSK_I32);
    const husk_tensor from = planes(&input, variant, SIDE), to = planes(&output, variant, side_of(p)),
                      at = planes(&index, variant, side_of(p));
    const bool ran = test_ran(husk_pool(test_queue(), &params, &from, &to, where ? &at : NULL), "pool", variant);
    if (ran) {
        test_get_values(&output, values);
        for (int64_t i = 0; i < outputs_of(p); i++)
            out[i] = values[place(variant, side_of(p), i)];
        if (where) {
            test_fetch(&index);
            for (int64_t i = 0; i < outputs_of(p); i++)
                where[i] = (int32_t)husk_ref_load(&index.array, place(variant, side_of(p), i));
        }
        test_count_executed("pool", variant);
    }
    test_release(&input);
    test_release(&output);
    test_release(&index);
    return ran;
}

static const char *named(const char *variant)
{
    return variant ? variant : "(chosen)";
}

static void fill(void)
{
    husk_ref_random random = {.seed = 9};
    for (int i = 0; i < COUNT; i++)
        x[i] = (float)husk_ref_random_below(&random, 4001) - 2000;
}

START_TEST(maxima_grow_with_their_elements)
{
    static const float constants[] = {-1.0f, 5000.0f, -1048576.0f, 8388608.0f};
    const problem *p = &problems[_i];
    fill();
    for (int n = 0; n < VARIANTS; n++) {
        if (!compute(p, HUSK_POOL_MAX, variants[n], x, y, indices))
            continue;
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (int i = 0; i < COUNT; i++)
                moved[i] = x[i] + constants[c];
            ck_assert(compute(p, HUSK_POOL_MAX, variants[n], moved, z, others));
            for (int64_t i = 0; i < outputs_of(p); i++)
                ck_assert_msg(z[i] == y[i] + constants[c] && indices[i] == others[i],
                              "%s: %.9g at %d, with %g more %.9g at %d", named(variants[n]), (double)y[i],
                              (int)indices[i], (double)constants[c], (double)z[i], (int)others[i]);
        }
    }
}
END_TEST

START_TEST(equal_elements_have_themselves_as_mean)
{
    static const float elements[] = {1.0f, -7.0f, 0.1f, 1e6f, 3e30f, 1e-30f};
    const problem *p = &problems[_i];
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
        for (int i = 0; i < COUNT; i++)
            x[i] = elements[e];
        for (int n = 0; n < VARIANTS; n++) {
            if (!compute(p, HUSK_POOL_AVG, variants[n], x, y, NULL))
                continue;
            for (int64_t i = 0; i < outputs_of(p); i++)
                ck_assert_msg(fabs((double)y[i] - (double)elements[e]) <=
                                  (4 + 2 * (double)p->window) * HUSK_REF_UNIT * fabs((double)elements[e]),
                              "%s: the mean of %.9g is %.9g", named(variants[n]), (double)elements[e], (double)y[i]);
        }
    }
}
END_TEST

START_TEST(means_of_whole_numbers)
{
    const problem *p = &problems[_i];
    const int64_t side = side_of(p), elements = p->window * p->window;
    const bool is_exact = (elements & (elements - 1)) == 0;
    fill();
    for (int n = 0; n < VARIANTS; n++) {
        if (!compute(p, HUSK_POOL_AVG, variants[n], x, y, NULL))
            continue;
        for (int64_t i = 0; i < outputs_of(p); i++) {
            const float *corner =
                x + i / (side * side) * SIDE * SIDE + i / side % side * p->stride * SIDE + i % side * p->stride;
            double sum = 0;
            for (int64_t e = 0; e < elements; e++)
                sum += (double)corner[e / p->window * SIDE + e % p->window];
            const double right = sum / (double)elements;
            ck_assert_msg(fabs(y[i] - right) <= (is_exact ? 0 : 4 * HUSK_REF_UNIT * fabs(right)),
                          "%s: the mean of %lld whole numbers is %.9g, %.9g is right", named(variants[n]),
                          (long long)elements, (double)y[i], right);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("pool_properties");
    TCase *tests = tcase_create("pool_properties");
    tcase_add_loop_test(tests, maxima_grow_with_their_elements, 0, PROBLEMS);
    tcase_add_loop_test(tests, equal_elements_have_themselves_as_mean, 0, PROBLEMS);
    tcase_add_loop_test(tests, means_of_whole_numbers, 0, PROBLEMS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
