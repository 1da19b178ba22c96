// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Attention and its gradients: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/attention/attention.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_attention {
    const char *name;
    husk_attention_params params;
    golden_array q, k, v;
    int is_boolean;
    golden_array mask, y, log_sum_exp, dy, dq, dk, dv;
};

static golden_table golden_attention = GOLDEN_TABLE("attention", "attention", struct golden_attention, GOLDEN_ATTENTION,
                                                    name, q, k, v, is_boolean, mask, y, log_sum_exp, dy, dq, dk, dv);

START_TEST(test_attention)
{
    const struct golden_attention *golden = golden_case(&golden_attention, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array q = golden_make(&golden->q, HUSK_F32), k = golden_make(&golden->k, HUSK_F32);
    husk_ref_array v = golden_make(&golden->v, HUSK_F32);
    husk_ref_array mask = golden_make_optional(&golden->mask, golden->is_boolean ? HUSK_U8 : HUSK_F32);
    husk_ref_array y = golden_make_output(&golden->y), sums = golden_make_output(&golden->log_sum_exp);
    husk_ref_attention op = {
        .params = &golden->params, .q = &q, .k = &k, .v = &v, .mask = golden_optional(&golden->mask, &mask)};
    ck_assert(husk_ref_attention_prepare(&op));
    husk_ref_function function = husk_ref_attention_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    function = husk_ref_attention_log_sum_exp_function(&op);
    golden_expect_function(golden->name, &function, &golden->log_sum_exp);
    ck_assert(husk_ref_attention_run(&op, &y, &sums));
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    golden_expect_equal(golden->name, "log_sum_exp", &golden->log_sum_exp, &sums);
    husk_ref_attention_release(&op);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32);
    const golden_array *const gradients[] = {&golden->dq, &golden->dk, &golden->dv};
    static const char *const names[] = {"dq", "dk", "dv"};
    for (int by = 0; by < 3; by++) {
        husk_ref_array gradient = golden_make_output(gradients[by]);
        husk_ref_attention_backward backward = {
            .forward = op, .y = &y, .log_sum_exp = &sums, .dy = &dy, .by = (husk_ref_attention_by)by};
        ck_assert(husk_ref_attention_backward_prepare(&backward));
        function = husk_ref_attention_backward_function(&backward);
        golden_expect_function(golden->name, &function, gradients[by]);
        husk_ref_attention_backward_release(&backward);
        ck_assert(husk_ref_attention_backward_run(&backward, &gradient));
        golden_expect_equal(golden->name, names[by], gradients[by], &gradient);
        free(gradient.data);
    }
    void *const arrays[] = {q.data, k.data, v.data, mask.data, y.data, sums.data, dy.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_attention");
    TCase *cases = tcase_create("golden_attention");
    tcase_add_loop_test(cases, test_attention, 0, 2 * golden_load(&golden_attention));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
