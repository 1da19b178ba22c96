// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What reductions keep whatever rounding does: sums, products and extremes of small whole numbers are whole, a norm of
// numbers a power of two larger is so much larger to the last bit, log-sum-exp of n equal numbers is log n above them,
// and grows by what all of them grow by. By every variant, CPUs' and GPUs'.
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL, "rows", "columns", "workgroup:1x64", "workgroup:16x4"};
enum { VARIANTS = sizeof variants / sizeof *variants };

typedef struct problem {
    int64_t shape[2];
    int32_t axis;
} problem;
static const problem problems[] = {{{5, 7}, 1}, {{3, 1000}, 1}, {{1, 70001}, 1}, {{65, 9}, 0}, {{300, 33}, 0}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int64_t count_of(const problem *p)
{
    return p->shape[0] * p->shape[1];
}

static int64_t length_of(const problem *p)
{
    return p->shape[p->axis];
}

static int64_t rows_of(const problem *p)
{
    return p->shape[1 - p->axis];
}

// Where element i of row r lies.
static int64_t place(const problem *p, int64_t row, int64_t i)
{
    return p->axis == 0 ? i * p->shape[1] + row : row * p->shape[1] + i;
}

static bool compute(const problem *p, husk_reduce_kind kind, const char *variant, const float *x, float *y)
{
    const husk_reduce_params params =
        HUSK_REDUCE_PARAMS(.kind = kind, .axis_count = 1, .axes = {p->axis}, .variant = variant);
    const int64_t rows[] = {rows_of(p)};
    test_tensor input = test_input_values(2, p->shape, x), output = test_output(HUSK_F32, 1, rows, TEST_PACKED);
    const bool ran = test_ran(husk_reduce(test_queue(), &params, &input.tensor, &output.tensor), "reduce", variant);
    if (ran) {
        test_get_values(&output, y);
        test_count_executed("reduce", variant);
    }
    test_release(&input);
    test_release(&output);
    return ran;
}

static float *make(const problem *p)
{
    float *values = malloc((size_t)count_of(p) * sizeof *values);
    ck_assert_ptr_nonnull(values);
    return values;
}

static const char *named(const char *variant)
{
    return variant ? variant : "(chosen)";
}

static double whole(const problem *p, husk_reduce_kind kind, int64_t row, const float *x)
{
    double result = kind == HUSK_REDUCE_PRODUCT ? 1 : 0;
    for (int64_t i = 0; i < length_of(p); i++) {
        const double e = (double)x[place(p, row, i)];
        if (kind == HUSK_REDUCE_SUM || kind == HUSK_REDUCE_SUM_ABS)
            result += kind == HUSK_REDUCE_SUM ? e : fabs(e);
        else if (kind == HUSK_REDUCE_PRODUCT)
            result *= e;
        else
            result = i == 0 ? e : kind == HUSK_REDUCE_MAX ? fmax(result, e) : fmin(result, e);
    }
    return result;
}

// Sums below 2^24, and products of which each step is a power of two.
START_TEST(whole_numbers_stay_whole)
{
    static const husk_reduce_kind kinds[] = {HUSK_REDUCE_SUM, HUSK_REDUCE_SUM_ABS, HUSK_REDUCE_PRODUCT, HUSK_REDUCE_MAX,
                                             HUSK_REDUCE_MIN};
    static const float powers[] = {2.0f, 0.5f, 1.0f}; // whatever share a work-item has, its product stays small
    const problem *p = &problems[_i];
    float *x = make(p), *y = make(p);
    husk_ref_random random = {.seed = 5};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (int64_t at = 0; at < count_of(p); at++) {
            const float number = (float)husk_ref_random_below(&random, 401) - 200;
            const float power = powers[(p->axis == 0 ? at / p->shape[1] : at % p->shape[1]) % 3];
            x[at] = kinds[k] != HUSK_REDUCE_PRODUCT ? number : number < 0 ? -power : power;
        }
        for (int n = 0; n < VARIANTS; n++) {
            if (!compute(p, kinds[k], variants[n], x, y))
                continue;
            for (int64_t row = 0; row < rows_of(p); row++) {
                const double right = whole(p, kinds[k], row, x);
                ck_assert_msg((double)y[row] == right, "%s: %s of %lld whole numbers is %.9g, %.9g is right",
                              named(variants[n]), husk_reduce_kind_name(kinds[k]), (long long)length_of(p),
                              (double)y[row], right);
            }
        }
    }
    free(x);
    free(y);
}
END_TEST

START_TEST(norms_grow_by_powers_of_two)
{
    static const float factors[] = {-1.0f, 0x1p-1f, 0x1p40f, -0x1p40f, 0x1p-40f};
    const problem *p = &problems[_i];
    float *x = make(p), *moved = make(p), *y = make(p), *z = make(p);
    husk_ref_random random = {.seed = 5};
    for (int64_t i = 0; i < count_of(p); i++)
        x[i] = (float)husk_ref_random_below(&random, 4096) / 128.0f - 16.0f;
    for (int n = 0; n < VARIANTS; n++) {
        if (!compute(p, HUSK_REDUCE_NORM, variants[n], x, y))
            continue;
        for (size_t f = 0; f < sizeof factors / sizeof *factors; f++) {
            for (int64_t i = 0; i < count_of(p); i++)
                moved[i] = x[i] * factors[f];
            ck_assert(compute(p, HUSK_REDUCE_NORM, variants[n], moved, z));
            for (int64_t row = 0; row < rows_of(p); row++)
                ck_assert_msg(z[row] == y[row] * fabsf(factors[f]), "%s: norm %.9g, of numbers times %g %.9g",
                              named(variants[n]), (double)y[row], (double)factors[f], (double)z[row]);
        }
    }
    free(x);
    free(moved);
    free(y);
    free(z);
}
END_TEST

// The result's own rounding is all that a constant may cost.
START_TEST(log_sum_exp_grows_with_its_elements)
{
    static const float constants[] = {0, 1, -100, 1e4f, -1e6f, 1e8f};
    const problem *p = &problems[_i];
    float *x = make(p), *y = make(p);
    husk_ref_random random = {.seed = 5};
    for (int which = 0; which < 12; which++) {
        const double c = (double)constants[which / 2];
        for (int64_t i = 0; i < count_of(p); i++) // equal ones, or whole numbers that stay whole with the constant
            x[i] = (float)(c + (which % 2 && fabs(c) < 1e7 ? (double)husk_ref_random_below(&random, 21) : 0));
        for (int n = 0; n < VARIANTS; n++) {
            if (!compute(p, HUSK_REDUCE_LOG_SUM_EXP, variants[n], x, y))
                continue;
            for (int64_t row = 0; row < rows_of(p); row++) {
                double sum = 0;
                for (int64_t i = 0; i < length_of(p); i++)
                    sum += exp((double)x[place(p, row, i)] - c);
                const double right = c + log(sum),
                             most = HUSK_REF_UNIT * (fabs(right) + 16 + 2 * sqrt((double)length_of(p)) + 2 * log(sum));
                ck_assert_msg(fabs(y[row] - right) <= most, "%s: %lld numbers of %g and a little: %.9g, %.9g is right",
                              named(variants[n]), (long long)length_of(p), c, (double)y[row], right);
            }
        }
    }
    free(x);
    free(y);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reduce_properties");
    TCase *tests = tcase_create("reduce_properties");
    tcase_add_loop_test(tests, whole_numbers_stay_whole, 0, PROBLEMS);
    tcase_add_loop_test(tests, norms_grow_by_powers_of_two, 0, PROBLEMS);
    tcase_add_loop_test(tests, log_sum_exp_grows_with_its_elements, 0, PROBLEMS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
