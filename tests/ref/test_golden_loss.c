// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Losses: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/loss/loss.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_loss {
    const char *name;
    husk_loss_params params;
    husk_dtype target_dtype;
    golden_array x, target, weight, positive_weight, loss, dloss, dx;
};

static golden_table golden_loss = GOLDEN_TABLE("loss", "loss", struct golden_loss, GOLDEN_LOSS, name, target_dtype, x,
                                               target, weight, positive_weight, loss, dloss, dx);

START_TEST(test_loss)
{
    const struct golden_loss *golden = golden_case(&golden_loss, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    husk_ref_array target = golden_make(&golden->target, golden->target_dtype);
    husk_ref_array weight = golden_make_optional(&golden->weight, HUSK_F32);
    husk_ref_array positive = golden_make_optional(&golden->positive_weight, HUSK_F32);
    husk_ref_array dloss = golden_make(&golden->dloss, HUSK_F32);
    husk_ref_array loss = golden_make_output(&golden->loss), dx = golden_make_output(&golden->dx);
    husk_ref_loss op = {.params = &golden->params, .x = &x, .target = &target, .dloss = &dloss};
    op.weight = golden_optional(&golden->weight, &weight);
    op.positive_weight = golden_optional(&golden->positive_weight, &positive);
    ck_assert(husk_ref_loss_run(&op, &loss));
    golden_expect_equal(golden->name, "loss", &golden->loss, &loss);
    ck_assert(husk_ref_loss_backward_run(&op, &dx));
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    ck_assert(husk_ref_loss_prepare(&op));
    husk_ref_function function = husk_ref_loss_function(&op);
    golden_expect_function(golden->name, &function, &golden->loss);
    function = husk_ref_loss_backward_function(&op);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_loss_release(&op);
    husk_ref_array *arrays[] = {&x, &target, &weight, &positive, &dloss, &loss, &dx};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]->data);
}
END_TEST

// Labels that double does not tell apart.
START_TEST(test_long_labels)
{
    float numbers[] = {0.5f, 2.0f};
    int64_t labels[] = {(INT64_C(1) << 53) + 1};
    const int64_t row[] = {1, 2}, index[] = {0};
    const husk_ref_array x = husk_ref_array_make(numbers, HUSK_F32, 2, row);
    const husk_ref_array target = husk_ref_array_make(labels, HUSK_I64, 1, row);
    husk_loss_params params = HUSK_MAKE(husk_loss_params, .reduction = HUSK_LOSS_NONE, .ignore_index = labels[0]);
    const husk_ref_loss op = {.params = &params, .x = &x, .target = &target};
    ck_assert_double_eq(husk_ref_loss_at(&op, index).value, 0.0);
    params.ignore_index--;
    ck_assert_double_nan(husk_ref_loss_at(&op, index).value);
    labels[0] = INT64_MAX;
    ck_assert_double_nan(husk_ref_loss_at(&op, index).value);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_loss");
    TCase *cases = tcase_create("golden_loss");
    tcase_add_loop_test(cases, test_loss, 0, 2 * golden_load(&golden_loss));
    tcase_add_test(cases, test_long_labels);
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
