// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Matrix multiplication: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/gemm/gemm.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_gemm {
    const char *name;
    husk_gemm_params params;
    float alpha, beta;
    golden_array a, b, bias, c, out;
};

static golden_table golden_gemm =
    GOLDEN_TABLE("gemm", "gemm", struct golden_gemm, GOLDEN_GEMM, name, alpha, beta, a, b, bias, c, out);

struct golden_gemm_backward {
    const char *name;
    husk_gemm_params params;
    float alpha, beta;
    golden_array a, b, bias, c, dy, da, db, dbias, dc; // what the activation reads and writes is the reference's
};

static golden_table golden_gemm_backward =
    GOLDEN_TABLE("gemm", "gemm_backward", struct golden_gemm_backward, GOLDEN_GEMM, name, alpha, beta, a, b, bias, c,
                 dy, da, db, dbias, dc);

START_TEST(test_gemm)
{
    const struct golden_gemm *golden = golden_case(&golden_gemm, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array a = golden_make(&golden->a, HUSK_F32), b = golden_make(&golden->b, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32);
    husk_ref_array c = golden_make(&golden->c, HUSK_F32);
    husk_ref_array out = golden_make_output(&golden->out);
    husk_ref_gemm op = {.params = &golden->params, .alpha = golden->alpha, .beta = golden->beta, .a = &a, .b = &b};
    op.bias = golden_optional(&golden->bias, &bias);
    op.c = &c;
    husk_ref_function function = husk_ref_gemm_function(&op);
    golden_expect_function(golden->name, &function, &golden->out);
    husk_ref_gemm_run(&op, &out);
    golden_expect_equal(golden->name, "C", &golden->out, &out);
    free(a.data);
    free(b.data);
    free(bias.data);
    free(c.data);
    free(out.data);
}
END_TEST

static void expect_gemm_gradient(const struct golden_gemm_backward *golden, husk_ref_gemm_backward op,
                                 husk_ref_gemm_gradient wanted, const golden_array *gradient)
{
    if (gradient->values == NULL)
        return;
    husk_ref_array out = golden_make_output(gradient);
    op.wanted = wanted;
    op.before = &out;
    husk_ref_function function = husk_ref_gemm_backward_function(&op);
    golden_expect_function(golden->name, &function, gradient);
    husk_ref_gemm_backward_run(&op, &out);
    golden_expect_equal(golden->name, "gradient", gradient, &out);
    free(out.data);
}

START_TEST(test_gemm_backward)
{
    const struct golden_gemm_backward *golden = golden_case(&golden_gemm_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array a = golden_make(&golden->a, HUSK_F32), b = golden_make(&golden->b, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32);
    husk_ref_array c = golden_make_optional(&golden->c, HUSK_F32);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32), x = golden_make_output(&golden->dy);
    husk_ref_array y = golden_make_output(&golden->dy);
    husk_gemm_params params = golden->params;
    husk_ref_gemm forward = {.params = &params, .alpha = golden->alpha, .beta = golden->beta, .a = &a, .b = &b};
    forward.bias = golden_optional(&golden->bias, &bias);
    forward.c = golden->c.values != NULL ? &c : &dy; // its shape alone
    husk_ref_gemm_run(&forward, &y);
    params.activation = HUSK_ACT_NONE;
    husk_ref_gemm_run(&forward, &x);
    const bool follows = golden->params.activation <= HUSK_ACT_RELU6 || golden->params.activation >= HUSK_ACT_SIGMOID;
    for (int from_y = 0; from_y <= (int)follows; from_y++) {
        const husk_ref_gemm_backward op = {.params = &golden->params,
                                           .alpha = golden->alpha,
                                           .beta = golden->beta,
                                           .a = &a,
                                           .b = &b,
                                           .x = from_y ? NULL : &x,
                                           .y = from_y ? &y : NULL,
                                           .dy = &dy};
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DA, &golden->da);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DB, &golden->db);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DBIAS, &golden->dbias);
        expect_gemm_gradient(golden, op, HUSK_REF_GEMM_DC, &golden->dc);
    }
    free(a.data);
    free(b.data);
    free(bias.data);
    free(c.data);
    free(dy.data);
    free(x.data);
    free(y.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_gemm");
    TCase *cases = tcase_create("golden_gemm");
    tcase_add_loop_test(cases, test_gemm, 0, 2 * golden_load(&golden_gemm));
    tcase_add_loop_test(cases, test_gemm_backward, 0, 2 * golden_load(&golden_gemm_backward));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
