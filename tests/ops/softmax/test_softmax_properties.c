// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120
// What softmax and log-softmax keep whatever rounding does: that all elements may grow by the same, that rows sum to
// one, order and sign. A bound that grows with the elements hides what a formula loses where they are large.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {
    NULL, "rows", "columns", "workgroup:1x256", "workgroup:32x8", "registers:32x1", "registers:256x8"};
enum { VARIANTS = sizeof variants / sizeof *variants };

// Rows of private memory, rows that are cut, an axis before the last one.
typedef struct rows {
    int64_t shape[2]; // [rows, axis], or [axis, rows]
    int32_t axis;
} rows;
static const rows problems[] = {{{5, 7}, 1}, {{3, 1000}, -1}, {{1, 70001}, 1}, {{9, 64}, 0}, {{300, 33}, -2}};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static int64_t count_of(const rows *r)
{
    return r->shape[0] * r->shape[1];
}

static bool is_down(const rows *r)
{
    return r->axis % 2 == 0;
}

static int64_t length_of(const rows *r)
{
    return r->shape[is_down(r) ? 0 : 1];
}

// Where element i of row r lies.
static int64_t place(const rows *p, int64_t row, int64_t i)
{
    return is_down(p) ? i * p->shape[1] + row : row * p->shape[1] + i;
}

// y of x by a variant; false: the variant does not compute the problem.
static bool compute(const rows *p, uint32_t is_log, const char *variant, const float *x, float *y)
{
    husk_softmax_params params = HUSK_MAKE(husk_softmax_params, .axis = p->axis, .log = is_log, .variant = variant);
    test_tensor input = test_input_values(2, p->shape, x), output = test_output(HUSK_F32, 2, p->shape, TEST_PACKED);
    const bool ran = test_ran(husk_softmax(test_queue(), &params, &input.tensor, &output.tensor), "softmax", variant);
    if (ran) {
        test_get_values(&output, y);
        test_count_executed("softmax", variant);
    }
    test_release(&input);
    test_release(&output);
    return ran;
}

static float *make(const rows *p)
{
    float *values = malloc((size_t)count_of(p) * sizeof *values);
    ck_assert_ptr_nonnull(values);
    return values;
}

static const char *named(const char *variant)
{
    return variant ? variant : "(chosen)";
}

// Of n equal elements each is 1 / n, its logarithm -log n: however large they are.
START_TEST(equal_elements_share)
{
    static const float elements[] = {1.0f, -1.0f, 1e4f, -1e4f, 1e8f, -1e8f, 3e38f, -3e38f, 1e-40f};
    const rows *p = &problems[_i];
    const int64_t n = length_of(p);
    float *x = make(p), *y = make(p);
    for (size_t e = 0; e < sizeof elements / sizeof *elements; e++) {
        for (int64_t i = 0; i < count_of(p); i++)
            x[i] = elements[e];
        for (int v = 0; v < 2 * VARIANTS; v++) {
            const bool is_log = v % 2;
            const double right = is_log ? -log((double)n) : 1 / (double)n;
            if (!compute(p, is_log, variants[v / 2], x, y))
                continue;
            for (int64_t i = 0; i < count_of(p); i++)
                ck_assert_msg(fabs(y[i] - right) <= 16 * HUSK_REF_UNIT * fabs(right),
                              "%s%s of %lld elements %g: %.9g, %.9g is right", is_log ? "log-" : "",
                              named(variants[v / 2]), (long long)n, (double)elements[e], (double)y[i], right);
        }
    }
    free(x);
    free(y);
}
END_TEST

// x and x + c are whole numbers that f32 holds, so that x - max is the same in both, and all that follows.
START_TEST(a_constant_changes_nothing)
{
    static const float constants[] = {1.0f, -77.0f, 1024.0f, -65536.0f, 1048576.0f, -16777000.0f};
    const rows *p = &problems[_i];
    float *x = make(p), *moved = make(p), *y = make(p), *z = make(p);
    husk_ref_random random = {.seed = 5};
    for (int64_t i = 0; i < count_of(p); i++)
        x[i] = (float)husk_ref_random_below(&random, 21);
    for (int v = 0; v < 2 * VARIANTS; v++) {
        if (!compute(p, v % 2, variants[v / 2], x, y))
            continue;
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (int64_t i = 0; i < count_of(p); i++)
                moved[i] = x[i] + constants[c];
            ck_assert(compute(p, v % 2, variants[v / 2], moved, z));
            for (int64_t i = 0; i < count_of(p); i++)
                ck_assert_msg(test_same_value(y[i], z[i]), "%s%s: x %g gives %.9g, and with %g more %.9g",
                              v % 2 ? "log-" : "", named(variants[v / 2]), (double)x[i], (double)y[i],
                              (double)constants[c], (double)z[i]);
        }
    }
    free(x);
    free(moved);
    free(y);
    free(z);
}
END_TEST

static void check_row(const rows *p, int64_t row, bool is_log, const char *variant, const float *x, const float *y)
{
    double sum = 0;
    int64_t greatest = place(p, row, 0);
    for (int64_t i = 0; i < length_of(p); i++) {
        const int64_t at = place(p, row, i);
        ck_assert_msg(is_log ? y[at] <= 0 : y[at] >= 0 && y[at] <= 1, "%s: %.9g is out of range", named(variant),
                      (double)y[at]);
        sum += is_log ? exp((double)y[at]) : (double)y[at];
        if (x[at] > x[greatest])
            greatest = at;
    }
    for (int64_t i = 1; i < length_of(p); i++) { // e^x may err by some units of its last place
        const int64_t a = place(p, row, i - 1), b = place(p, row, i);
        const double slack = 8 * HUSK_REF_UNIT * fmax(fabs((double)y[a]), is_log ? 1 : 1e-37);
        ck_assert_msg(x[a] < x[b]   ? y[a] <= y[b] + slack
                      : x[a] > x[b] ? y[b] <= y[a] + slack
                                    : y[a] == y[b],
                      "%s%s: x %.9g and %.9g, y %.9g and %.9g", is_log ? "log-" : "", named(variant), (double)x[a],
                      (double)x[b], (double)y[a], (double)y[b]);
    }
    // Elements' errors are of one sign at worst: of the sum, and of each exponential.
    const double most =
        (16 + 2 * sqrt((double)length_of(p)) + (is_log ? fabs((double)y[greatest]) : 0)) * HUSK_REF_UNIT;
    ck_assert_msg(fabs(sum - 1) <= 2 * most, "%s%s: a row of %lld sums to %.9g", is_log ? "log-" : "", named(variant),
                  (long long)length_of(p), sum);
}

// Small differences beside a large offset, wide ranges, and one element that outweighs all others.
static void fill(const rows *p, int kind, float *x)
{
    husk_ref_random random = {.seed = 11 + (uint64_t)kind};
    for (int64_t i = 0; i < count_of(p); i++) {
        const float unit = (float)husk_ref_random_below(&random, 4096) / 4096.0f;
        x[i] = kind == 0 ? 30000.0f + unit : kind == 1 ? 200.0f * (unit - 0.5f) : unit;
    }
    if (kind == 2)
        x[count_of(p) / 2] = 90.0f;
    for (int64_t row = 0; kind == 3 && row < count_of(p) / length_of(p); row++)
        for (int64_t i = 1; i < length_of(p); i += 3)
            x[place(p, row, i)] = -INFINITY;
}

START_TEST(rows_sum_to_one_in_order)
{
    const rows *p = &problems[_i];
    const int64_t row_count = count_of(p) / length_of(p);
    float *x = make(p), *y = make(p);
    for (int kind = 0; kind < 4; kind++) {
        fill(p, kind, x);
        for (int v = 0; v < 2 * VARIANTS; v++) {
            if (!compute(p, v % 2, variants[v / 2], x, y))
                continue;
            for (int64_t row = 0; row < row_count; row++)
                check_row(p, row, v % 2, variants[v / 2], x, y);
        }
    }
    free(x);
    free(y);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("softmax_properties");
    TCase *tests = tcase_create("softmax_properties");
    tcase_add_loop_test(tests, equal_elements_share, 0, PROBLEMS);
    tcase_add_loop_test(tests, a_constant_changes_nothing, 0, PROBLEMS);
    tcase_add_loop_test(tests, rows_sum_to_one_in_order, 0, PROBLEMS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
