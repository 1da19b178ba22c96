// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// What functions of one number keep whatever rounding does: exactness on whole numbers, sign, order, what they are
// where they are nearly x, and their values at the ends.
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof variants / sizeof *variants, MOST = 4096 };
static float x[MOST], y[MOST];

static bool compute(husk_unary_op op, float exponent, const char *variant, int64_t count)
{
    const int64_t shape[] = {count};
    const husk_unary_params params =
        HUSK_UNARY_PARAMS(.op = op, .low = -3, .high = 5, .exponent = exponent, .variant = variant);
    test_tensor input = test_input_values(1, shape, x), output = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    const bool ran = test_ran(husk_unary(test_queue(), &params, &input.tensor, &output.tensor), "unary", variant);
    if (ran) {
        test_get_values(&output, y);
        test_count_executed("unary", variant);
    }
    test_release(&input);
    test_release(&output);
    return ran;
}

static void expect(bool holds, husk_unary_op op, const char *variant, int64_t i, const char *what)
{
    ck_assert_msg(holds, "%s, %s: of %.9g comes %.9g: %s", husk_unary_name(op), variant ? variant : "(chosen)",
                  (double)x[i], (double)y[i], what);
}

// ---- whole numbers ----

static double exact(husk_unary_op op, double of)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
        return -of;
    case HUSK_UNARY_ABSOLUTE:
        return fabs(of);
    case HUSK_UNARY_SIGN:
        return (of > 0) - (of < 0);
    case HUSK_UNARY_SQUARE:
        return of * of;
    case HUSK_UNARY_CLAMP:
        return fmin(fmax(of, -3), 5);
    default: // FLOOR, CEIL, ROUND
        return of;
    }
}

START_TEST(whole_numbers_stay_whole)
{
    static const husk_unary_op ops[] = {HUSK_UNARY_NEGATE, HUSK_UNARY_ABSOLUTE, HUSK_UNARY_SIGN, HUSK_UNARY_SQUARE,
                                        HUSK_UNARY_CLAMP,  HUSK_UNARY_FLOOR,    HUSK_UNARY_CEIL, HUSK_UNARY_ROUND};
    for (int i = 0; i < MOST; i++)
        x[i] = (float)(i - MOST / 2);
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int v = 0; v < VARIANTS; v++) {
            const bool ran = compute(ops[o], 0, variants[v], MOST);
            for (int i = 0; ran && i < MOST; i++)
                expect(y[i] == (float)exact(ops[o], (double)x[i]), ops[o], variants[v], i, "not exact");
        }
}
END_TEST

// Squares of whole numbers have whole roots; OpenCL allows a root 3 ulp, and powers 16.
START_TEST(roots_and_powers_come_back)
{
    for (int v = 0; v < VARIANTS; v++) {
        for (int i = 0; i < MOST; i++)
            x[i] = (float)i * (float)i;
        bool ran = compute(HUSK_UNARY_SQRT, 0, variants[v], MOST);
        for (int i = 0; ran && i < MOST; i++)
            expect(fabs((double)y[i] - i) <= 6 * HUSK_REF_UNIT * i, HUSK_UNARY_SQRT, variants[v], i, "no whole root");
        for (int i = 0; i < MOST; i++)
            x[i] = (float)i;
        ran = compute(HUSK_UNARY_POWER, 2, variants[v], MOST);
        for (int i = 0; ran && i < MOST; i++)
            expect(fabs((double)y[i] - (double)i * i) <= 32 * HUSK_REF_UNIT * i * i, HUSK_UNARY_POWER, variants[v], i,
                   "no square");
    }
}
END_TEST

// ---- next to zero ----

// From 2^-126 on: below it numbers may count as zero.
START_TEST(small_numbers_are_themselves)
{
    static const husk_unary_op ops[] = {HUSK_UNARY_EXPM1, HUSK_UNARY_LOG1P, HUSK_UNARY_SIN};
    int count = 0;
    for (float size = 0x1p-126f; size < 0x1p-14f; size *= 1.37f) {
        x[count++] = size;
        x[count++] = -size;
    }
    x[count++] = 0.0f;
    x[count++] = -0.0f;
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        for (int v = 0; v < VARIANTS; v++) {
            const bool ran = compute(ops[o], 0, variants[v], count);
            for (int i = 0; ran && i < count; i++) {
                const double off = fabs((double)y[i] - (double)x[i]), size = fabs((double)x[i]);
                expect(off <= size * (8 * HUSK_REF_UNIT + size), ops[o], variants[v], i, "far from x");
                expect(!signbit(y[i]) == !signbit(x[i]), ops[o], variants[v], i, "the sign is lost");
            }
        }
}
END_TEST

// ---- order, and the ends ----

START_TEST(what_rises_rises)
{
    static const husk_unary_op ops[] = {HUSK_UNARY_EXP, HUSK_UNARY_EXPM1, HUSK_UNARY_LOG, HUSK_UNARY_LOG1P,
                                        HUSK_UNARY_SQRT};
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
        const bool is_of_all = ops[o] == HUSK_UNARY_EXP || ops[o] == HUSK_UNARY_EXPM1;
        for (int i = 0; i < MOST; i++)
            x[i] = is_of_all ? 0.05f * (float)(i - MOST / 2) : ldexpf(1.0f + (float)(i % 16) / 16.0f, i / 16 - 120);
        for (int v = 0; v < VARIANTS; v++) {
            const bool ran = compute(ops[o], 0, variants[v], MOST);
            for (int i = 1; ran && i < MOST; i++) {
                const double slack = 16 * HUSK_REF_UNIT * fabs((double)y[i]);
                expect(y[i] >= y[i - 1] || (double)y[i - 1] - (double)y[i] <= slack, ops[o], variants[v], i,
                       "less than what is before it");
            }
        }
    }
}
END_TEST

START_TEST(the_ends_are_what_they_are)
{
    static const struct {
        husk_unary_op op;
        float x, y;
    } ends[] = {
        {HUSK_UNARY_EXP, 0, 1},
        {HUSK_UNARY_EXP, -INFINITY, 0},
        {HUSK_UNARY_EXP, INFINITY, INFINITY},
        {HUSK_UNARY_EXP, 89, INFINITY},
        {HUSK_UNARY_EXP, -110, 0},
        {HUSK_UNARY_EXPM1, -INFINITY, -1},
        {HUSK_UNARY_EXPM1, -40, -1},
        {HUSK_UNARY_LOG, 1, 0},
        {HUSK_UNARY_LOG, 0, -INFINITY},
        {HUSK_UNARY_LOG, -1, NAN},
        {HUSK_UNARY_LOG, INFINITY, INFINITY},
        {HUSK_UNARY_LOG1P, -1, -INFINITY},
        {HUSK_UNARY_LOG1P, -2, NAN},
        {HUSK_UNARY_SQRT, 0, 0},
        {HUSK_UNARY_SQRT, -1, NAN},
        {HUSK_UNARY_SQRT, INFINITY, INFINITY},
        {HUSK_UNARY_RSQRT, INFINITY, 0},
        {HUSK_UNARY_RSQRT, 0, INFINITY},
        {HUSK_UNARY_RECIPROCAL, INFINITY, 0},
        {HUSK_UNARY_COS, 0, 1},
        {HUSK_UNARY_SIN, INFINITY, NAN},
        {HUSK_UNARY_SIGN, NAN, 0},
        {HUSK_UNARY_ROUND, 0.5f, 0},
        {HUSK_UNARY_ROUND, 1.5f, 2},
        {HUSK_UNARY_ROUND, -2.5f, -2},
        {HUSK_UNARY_FLOOR, -0.5f, -1},
        {HUSK_UNARY_CEIL, 0.25f, 1},
        {HUSK_UNARY_CLAMP, NAN, NAN},
        {HUSK_UNARY_CLAMP, INFINITY, 5},
        {HUSK_UNARY_CLAMP, -INFINITY, -3},
    };
    for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (int v = 0; v < VARIANTS; v++) {
            x[0] = ends[e].x;
            if (compute(ends[e].op, 0, variants[v], 1))
                expect(isnan(ends[e].y) ? isnan(y[0]) : y[0] == ends[e].y, ends[e].op, variants[v], 0,
                       "not what it is there");
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("unary_properties");
    TCase *tests = tcase_create("unary_properties");
    tcase_add_test(tests, whole_numbers_stay_whole);
    tcase_add_test(tests, roots_and_powers_come_back);
    tcase_add_test(tests, small_numbers_are_themselves);
    tcase_add_test(tests, what_rises_rises);
    tcase_add_test(tests, the_ends_are_what_they_are);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
