// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What normalisation keeps whatever rounding does: without an epsilon, numbers that are a power of two larger have the
// same y to the last bit, negative ones its negative, and a constant that is added to all of a set changes little; the
// elements of a set sum to zero, and their squares to their number. By every variant, CPUs' and GPUs'.
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {
    NULL, "rows", "columns", "workgroup:64", "workgroup:256", "registers:32x1", "registers:256x8"};
enum { VARIANTS = sizeof variants / sizeof *variants };

// Sets that lie in one piece, an odd number of them; channels of images; columns.
typedef struct problem {
    husk_norm_kind kind;
    int32_t rank;
    int64_t shape[3];
} problem;
static const problem problems[] = {{HUSK_NORM_LAYER, 2, {7, 300}},   {HUSK_NORM_LAYER, 2, {3, 5001}},
                                   {HUSK_NORM_RMS, 2, {7, 300}},     {HUSK_NORM_INSTANCE, 3, {2, 3, 100}},
                                   {HUSK_NORM_BATCH, 3, {5, 3, 70}}, {HUSK_NORM_BATCH, 2, {600, 6}}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int64_t count_of(const problem *p)
{
    return p->shape[0] * p->shape[1] * (p->rank == 3 ? p->shape[2] : 1);
}

static int64_t sets_of(const problem *p)
{
    return p->kind == HUSK_NORM_BATCH      ? p->shape[1]
           : p->kind == HUSK_NORM_INSTANCE ? p->shape[0] * p->shape[1]
                                           : p->shape[0];
}

// The set of an element.
static int64_t set_of(const problem *p, int64_t i)
{
    const int64_t space = p->rank == 3 ? p->shape[2] : 1;
    return p->kind == HUSK_NORM_BATCH      ? i / space % p->shape[1]
           : p->kind == HUSK_NORM_INSTANCE ? i / space
                                           : i / p->shape[1];
}

static bool compute(const problem *p, const char *variant, const float *x, float *y)
{
    husk_norm_params params = husk_norm_defaults(p->kind);
    params.training = p->kind == HUSK_NORM_BATCH;
    params.epsilon = 0;
    params.variant = variant;
    test_tensor input = test_input_values(p->rank, p->shape, x),
                output = test_output(HUSK_F32, p->rank, p->shape, TEST_PACKED);
    const bool ran =
        test_ran(husk_norm(test_queue(), &params, &input.tensor, NULL, NULL, NULL, NULL, &output.tensor, NULL, NULL),
                 "norm", variant);
    if (ran) {
        test_get_values(&output, y);
        test_count_executed("norm", variant);
    }
    test_release(&input);
    test_release(&output);
    return ran;
}

typedef struct values {
    float *x, *moved, *y, *z;
} values;

static values make(const problem *p)
{
    const size_t bytes = (size_t)count_of(p) * sizeof(float);
    const values v = {malloc(bytes), malloc(bytes), malloc(bytes), malloc(bytes)};
    ck_assert(v.x && v.moved && v.y && v.z);
    husk_ref_random random = {.seed = 3};
    for (int64_t i = 0; i < count_of(p); i++)
        v.x[i] = (float)husk_ref_random_below(&random, 4096) / 128.0f - 16.0f;
    return v;
}

static void release(values *v)
{
    free(v->x);
    free(v->moved);
    free(v->y);
    free(v->z);
}

static const char *named(const char *variant)
{
    return variant ? variant : "(chosen)";
}

START_TEST(powers_of_two_and_signs_change_no_bit)
{
    static const float factors[] = {-1.0f, 0x1p-1f, 0x1p40f, -0x1p40f, 0x1p-40f, -0x1p-3f};
    const problem *p = &problems[_i];
    values v = make(p);
    for (int n = 0; n < VARIANTS; n++) {
        if (!compute(p, variants[n], v.x, v.y))
            continue;
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            for (int64_t i = 0; i < count_of(p); i++)
                v.moved[i] = v.x[i] * factors[f];
            ck_assert(compute(p, variants[n], v.moved, v.z));
            for (int64_t i = 0; i < count_of(p); i++)
                ck_assert_msg(v.z[i] == (factors[f] < 0 ? -v.y[i] : v.y[i]), "%s: x %g gives %.9g, times %g %.9g",
                              named(variants[n]), (double)v.x[i], (double)v.y[i], (double)factors[f], (double)v.z[i]);
        }
    }
    release(&v);
}
END_TEST

// x and x + c are numbers that f32 holds. The mean may be rounded by half a unit of c's last place, the differences to
// it may not: what is lost is second order.
START_TEST(a_constant_changes_little)
{
    static const float constants[] = {100.0f, -4096.0f, 32768.0f, -65536.0f};
    const problem *p = &problems[_i];
    values v = make(p);
    const double f = 16 + 2 * sqrt((double)(count_of(p) / sets_of(p)));
    for (int n = 0; n < VARIANTS && p->kind != HUSK_NORM_RMS; n++) {
        if (!compute(p, variants[n], v.x, v.y))
            continue;
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (int64_t i = 0; i < count_of(p); i++)
                v.moved[i] = v.x[i] + constants[c];
            ck_assert(compute(p, variants[n], v.moved, v.z));
            for (int64_t i = 0; i < count_of(p); i++)
                ck_assert_msg(fabs((double)v.y[i] - (double)v.z[i]) <=
                                  2 * f * HUSK_REF_UNIT * (1 + fabs((double)v.y[i])),
                              "%s: x %g gives %.9g, and with %g more %.9g", named(variants[n]), (double)v.x[i],
                              (double)v.y[i], (double)constants[c], (double)v.z[i]);
        }
    }
    release(&v);
}
END_TEST

// Small numbers, large ones, an offset, and one that outweighs all others of its set.
static void fill(const problem *p, int kind, float *x)
{
    husk_ref_random random = {.seed = 11 + (uint64_t)kind};
    for (int64_t i = 0; i < count_of(p); i++) {
        const float unit = (float)husk_ref_random_below(&random, 4096) / 4096.0f;
        x[i] = kind == 0 ? 1e-15f * unit : kind == 1 ? 1e15f * (unit - 0.5f) : kind == 2 ? 1000.0f + unit : unit;
    }
    if (kind == 3)
        x[count_of(p) / 2] = 1e6f;
}

START_TEST(sets_have_no_mean_and_variance_one)
{
    const problem *p = &problems[_i];
    values v = make(p);
    const double n_set = (double)(count_of(p) / sets_of(p)), f = 16 + 2 * sqrt(n_set);
    for (int which = 0; which < 4 * VARIANTS; which++) {
        const char *variant = variants[which / 4];
        fill(p, which % 4, v.x);
        if (!compute(p, variant, v.x, v.y))
            continue;
        for (int64_t set = 0; set < sets_of(p); set++) {
            double sum = 0, squares = 0;
            for (int64_t i = 0; i < count_of(p); i++)
                if (set_of(p, i) == set) {
                    sum += (double)v.y[i];
                    squares += (double)v.y[i] * (double)v.y[i];
                }
            ck_assert_msg(p->kind == HUSK_NORM_RMS || fabs(sum) <= 2 * f * HUSK_REF_UNIT * n_set,
                          "%s: numbers of kind %d have a mean of %.3g", named(variant), which % 4, sum / n_set);
            ck_assert_msg(fabs(squares - n_set) <= 4 * f * HUSK_REF_UNIT * n_set,
                          "%s: numbers of kind %d have a mean square of %.9g", named(variant), which % 4,
                          squares / n_set);
        }
    }
    release(&v);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("norm_properties");
    TCase *tests = tcase_create("norm_properties");
    tcase_add_loop_test(tests, powers_of_two_and_signs_change_no_bit, 0, PROBLEMS);
    tcase_add_loop_test(tests, a_constant_changes_little, 0, PROBLEMS);
    tcase_add_loop_test(tests, sets_have_no_mean_and_variance_one, 0, PROBLEMS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
