// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// What activations keep whatever rounding does: sign, order, range, what they are at zero and far from it, and the
// identities between x and -x. Far below zero a bound that grows with |x| would hide a wrong sign.
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL, "vector", "grid:64"};
enum { VARIANTS = sizeof variants / sizeof *variants, KINDS = HUSK_ACT_TANH + 1, COUNT = 4001 };

// In order, symmetric around zero in the middle: steps of 1/64 up to 25, then by factors up to the largest f32.
static float x[COUNT], y[COUNT];
#define SLOPE 0.25f

static void setup(void)
{
    const int middle = COUNT / 2;
    float value = 0;
    for (int i = 0; i <= middle; i++) {
        x[middle + i] = value;
        x[middle - i] = -value;
        value = i < 1600 ? (float)(i + 1) / 64.0f : fminf(value * 1.3f, 3.4e38f);
    }
    x[middle] = 0;
}

static bool compute(husk_act act, const char *variant)
{
    const int64_t shape[] = {COUNT};
    const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = act, .slope = SLOPE, .variant = variant);
    test_tensor input = test_input_values(1, shape, x), output = test_output(HUSK_F32, 1, shape, TEST_PACKED);
    const bool ran =
        test_ran(husk_activation(test_queue(), &params, &input.tensor, &output.tensor), "activation", variant);
    if (ran) {
        test_get_values(&output, y);
        test_count_executed("activation", variant);
    }
    test_release(&input);
    test_release(&output);
    return ran;
}

static void expect(bool holds, husk_act act, const char *variant, int i, const char *what)
{
    ck_assert_msg(holds, "%s, %s: of %.9g comes %.9g: %s", husk_act_name(act), variant ? variant : "(chosen)",
                  (double)x[i], (double)y[i], what);
}

static bool is_positive(husk_act act) // nothing below zero
{
    return act == HUSK_ACT_RELU || act == HUSK_ACT_RELU6 || act == HUSK_ACT_SIGMOID;
}

static bool falls(husk_act act) // before it rises
{
    return act == HUSK_ACT_GELU || act == HUSK_ACT_GELU_TANH || act == HUSK_ACT_SILU;
}

static float most(husk_act act)
{
    return act == HUSK_ACT_RELU6 ? 6.0f : act == HUSK_ACT_SIGMOID || act == HUSK_ACT_TANH ? 1.0f : INFINITY;
}

START_TEST(signs_and_ranges_are_kept)
{
    const husk_act act = (husk_act)_i;
    for (int v = 0; v < VARIANTS; v++) {
        if (!compute(act, variants[v]))
            continue;
        for (int i = 0; i < COUNT; i++) {
            if (x[i] < 0)
                expect(is_positive(act) ? y[i] >= 0 : y[i] <= 0, act, variants[v], i, "the sign is lost");
            else
                expect(y[i] >= 0, act, variants[v], i, "the sign is lost");
            expect(fabsf(y[i]) <= most(act), act, variants[v], i, "beyond the range");
            if (act != HUSK_ACT_SIGMOID)
                expect(fabsf(y[i]) <= fabsf(x[i]) * (1 + 4 * (float)HUSK_REF_UNIT), act, variants[v], i,
                       "larger than x");
        }
    }
}
END_TEST

// Beyond what the exponentials reach: x itself, or the limit.
START_TEST(the_ends_are_exact)
{
    const husk_act act = (husk_act)_i;
    for (int v = 0; v < VARIANTS; v++) {
        if (!compute(act, variants[v]))
            continue;
        for (int i = 0; i < COUNT; i++) {
            const float below = act == HUSK_ACT_NONE         ? x[i]
                                : act == HUSK_ACT_LEAKY_RELU ? SLOPE * x[i]
                                : act == HUSK_ACT_TANH       ? -1.0f
                                                             : 0.0f;
            const float least = act == HUSK_ACT_TANH ? 1 - 2 * (float)HUSK_REF_UNIT : 1; // OpenCL allows tanh 5 ulp
            if (x[i] > 120.0f)
                expect(y[i] >= least * fminf(x[i], most(act)) && y[i] <= fminf(x[i], most(act)), act, variants[v], i,
                       "not the upper end");
            if (x[i] < -120.0f)
                expect(y[i] >= below && y[i] <= least * below, act, variants[v], i, "not the lower end");
        }
        expect(y[COUNT / 2] == (act == HUSK_ACT_SIGMOID ? 0.5f : 0.0f), act, variants[v], COUNT / 2, "zero");
    }
}
END_TEST

// GELU and SiLU fall below zero, and rise from there; where they do is between -2 and 0.
START_TEST(order_is_kept)
{
    const husk_act act = (husk_act)_i;
    for (int v = 0; v < VARIANTS; v++) {
        if (!compute(act, variants[v]))
            continue;
        for (int i = 1; i < COUNT; i++) {
            const double slack = 16 * HUSK_REF_UNIT * fmax(1, fabs((double)x[i]));
            if (!falls(act) || x[i] > 0)
                expect(y[i] >= y[i - 1] - (x[i] > -120.0f && x[i] < 120.0f ? slack : 0), act, variants[v], i,
                       "less than what is before it");
        }
    }
}
END_TEST

// GELU and SiLU: f(x) - f(-x) = x. Sigmoid: f(x) + f(-x) = 1. tanh: f(-x) = -f(x).
START_TEST(both_sides_agree)
{
    const husk_act act = (husk_act)_i;
    for (int v = 0; v < VARIANTS; v++) {
        if (!compute(act, variants[v]))
            continue;
        for (int i = COUNT / 2; i < COUNT; i++) {
            const double right = (double)y[i], left = (double)y[COUNT - 1 - i], at = (double)x[i];
            const double off = falls(act)                ? right - left - at
                               : act == HUSK_ACT_SIGMOID ? right + left - 1
                               : act == HUSK_ACT_TANH    ? right + left
                                                         : 0;
            expect(fabs(off) <= 32 * HUSK_REF_UNIT * fmax(1, fmin(at, 8)) + HUSK_REF_UNIT * at, act, variants[v], i,
                   "does not agree with what -x gives");
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("activation_properties");
    TCase *tests = tcase_create("activation_properties");
    tcase_add_checked_fixture(tests, setup, NULL);
    tcase_add_loop_test(tests, signs_and_ranges_are_kept, 0, KINDS);
    tcase_add_loop_test(tests, the_ends_are_exact, 0, KINDS);
    tcase_add_loop_test(tests, order_is_kept, 0, KINDS);
    tcase_add_loop_test(tests, both_sides_agree, 0, KINDS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
