// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60
// What the cross entropy keeps whatever rounding does: all logits of a row may grow by the same, equal ones have the
// loss log C, no loss is negative, and a row's gradient sums to zero.
#include <math.h>
#include <stdlib.h>

#include "support/support.h"
#include "support/values.h"

static const char *const variants[] = {NULL, "vector", "workgroup:64"};
enum { VARIANTS = sizeof variants / sizeof *variants, ROWS = 6, MOST = 6 * 3000 };
static const int64_t class_counts[] = {2, 7, 64, 1000, 3000};
enum { COUNTS = sizeof class_counts / sizeof *class_counts };

static float x[MOST], dx[MOST], losses[ROWS];
static int32_t labels[ROWS];
static int64_t classes;

static bool compute(const char *variant, float label_smoothing, const float *logits)
{
    const int64_t shape[] = {ROWS, classes}, rows[] = {ROWS};
    const float ones[ROWS] = {1, 1, 1, 1, 1, 1};
    const husk_loss_params params =
        HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .label_smoothing = label_smoothing, .variant = variant,
                  .ignore_index = -100);
    test_tensor in = test_input_values(2, shape, logits), target = test_input_i32(ROWS, labels),
                out = test_output(HUSK_F32, 1, rows, TEST_PACKED), dloss = test_input_values(1, rows, ones),
                gradient = test_output(HUSK_F32, 2, shape, TEST_PACKED);
    const bool ran = test_ran(husk_loss(test_queue(), &params, &in.tensor, &target.tensor, NULL, NULL, &out.tensor),
                              "loss", variant) &&
                     test_ran(husk_loss_backward(test_queue(), &params, &in.tensor, &target.tensor, NULL, NULL,
                                                 &dloss.tensor, &gradient.tensor),
                              "loss_backward", variant);
    if (ran) {
        test_get_values(&out, losses);
        test_get_values(&gradient, dx);
        test_count_executed("loss", variant);
        test_count_executed("loss_backward", variant);
    }
    test_release(&in);
    test_release(&target);
    test_release(&out);
    test_release(&dloss);
    test_release(&gradient);
    return ran;
}

static void begin(int64_t count)
{
    classes = count;
    for (int i = 0; i < ROWS; i++)
        labels[i] = (int32_t)(i * (count - 1) / (ROWS - 1));
}

START_TEST(equal_logits_cost_log_of_the_classes)
{
    static const float logits[] = {0, 1e4f, -1e4f, 1e8f, -1e8f, 3e38f};
    begin(class_counts[_i]);
    const double right = log((double)classes);
    for (size_t e = 0; e < sizeof logits / sizeof *logits; e++) {
        for (int64_t i = 0; i < ROWS * classes; i++)
            x[i] = logits[e];
        for (int v = 0; v < VARIANTS; v++) {
            const bool ran = compute(variants[v], 0, x);
            for (int i = 0; ran && i < ROWS; i++)
                ck_assert_msg(fabs((double)losses[i] - right) <= 16 * HUSK_REF_UNIT * fmax(1, right),
                              "logits %g, %lld classes: %.9g, %.9g is right", (double)logits[e], (long long)classes,
                              (double)losses[i], right);
        }
    }
}
END_TEST

START_TEST(a_constant_changes_nothing)
{
    static const float constants[] = {1024.0f, -65536.0f, 1048576.0f};
    static float moved[MOST], first[MOST], first_losses[ROWS];
    begin(class_counts[_i]);
    husk_ref_random random = {.seed = 3};
    for (int64_t i = 0; i < ROWS * classes; i++)
        x[i] = (float)husk_ref_random_below(&random, 21);
    for (int v = 0; v < 2 * VARIANTS; v++) {
        const float smoothing = v % 2 ? 0.125f : 0;
        if (!compute(variants[v / 2], smoothing, x))
            continue;
        for (int64_t i = 0; i < ROWS * classes; i++)
            first[i] = dx[i];
        for (int i = 0; i < ROWS; i++)
            first_losses[i] = losses[i];
        for (size_t c = 0; c < sizeof constants / sizeof *constants; c++) {
            for (int64_t i = 0; i < ROWS * classes; i++)
                moved[i] = x[i] + constants[c];
            ck_assert(compute(variants[v / 2], smoothing, moved));
            for (int i = 0; i < ROWS; i++)
                ck_assert_msg(test_same_value(losses[i], first_losses[i]), "%.9g, and with %g more %.9g",
                              (double)first_losses[i], (double)constants[c], (double)losses[i]);
            for (int64_t i = 0; i < ROWS * classes; i++)
                ck_assert_msg(test_same_value(dx[i], first[i]), "a gradient %.9g, and with %g more %.9g",
                              (double)first[i], (double)constants[c], (double)dx[i]);
        }
    }
}
END_TEST

START_TEST(losses_are_positive_and_gradients_sum_to_zero)
{
    begin(class_counts[_i]);
    husk_ref_random random = {.seed = 7};
    for (int64_t i = 0; i < ROWS * classes; i++)
        x[i] = 5000.0f + (float)husk_ref_random_below(&random, 40000) / 1000.0f;
    for (int i = 0; i < ROWS; i += 2)
        x[i * classes + labels[i]] = 6000.0f; // certain of what is right
    for (int v = 0; v < VARIANTS; v++) {
        if (!compute(variants[v], 0, x))
            continue;
        for (int row = 0; row < ROWS; row++) {
            double sum = 0, size = 0;
            for (int64_t c = 0; c < classes; c++) {
                const double g = (double)dx[row * classes + c];
                ck_assert_msg(c == labels[row] ? g <= 0 && g >= -1 : g >= 0 && g <= 1, "a gradient of %.9g", g);
                sum += g;
                size += fabs(g);
            }
            ck_assert_msg(losses[row] >= 0, "a loss of %.9g", (double)losses[row]);
            ck_assert_msg(fabs(sum) <= (32 + 4 * sqrt((double)classes)) * HUSK_REF_UNIT * fmax(size, 1),
                          "a gradient sums to %.3g", sum);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("loss_properties");
    TCase *tests = tcase_create("loss_properties");
    tcase_add_loop_test(tests, equal_logits_cost_log_of_the_classes, 0, COUNTS);
    tcase_add_loop_test(tests, a_constant_changes_nothing, 0, COUNTS);
    tcase_add_loop_test(tests, losses_are_positive_and_gradients_sum_to_zero, 0, COUNTS);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
