// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Convolution: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>
#include <string.h>

#include "ref/conv/conv.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_conv {
    const char *name;
    husk_conv_params params;
    golden_array x, w, bias, y;
};

static golden_table golden_conv = GOLDEN_TABLE("conv", "conv", struct golden_conv, GOLDEN_CONV, name, x, w, bias, y);

struct golden_conv_backward {
    const char *name;
    husk_conv_params params;
    golden_array x, w, dy, dx, dw, dbias;
};

static golden_table golden_conv_backward =
    GOLDEN_TABLE("conv", "conv_backward", struct golden_conv_backward, GOLDEN_CONV, name, x, w, dy, dx, dw, dbias);

static golden_table golden_conv_transpose =
    GOLDEN_TABLE("conv", "conv_transpose", struct golden_conv, GOLDEN_CONV, name, x, w, bias, y);

START_TEST(test_conv)
{
    const struct golden_conv *golden = golden_case(&golden_conv, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), w = golden_make(&golden->w, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_conv op = {.params = &golden->params, .x = &x, .w = &w, .bias = golden_optional(&golden->bias, &bias)};
    husk_ref_function function = husk_ref_conv_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_conv_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(w.data);
    free(bias.data);
    free(y.data);
}
END_TEST

START_TEST(test_conv_backward)
{
    const struct golden_conv_backward *golden = golden_case(&golden_conv_backward, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), w = golden_make(&golden->w, HUSK_F32);
    husk_ref_array dy = golden_make(&golden->dy, HUSK_F32);
    husk_ref_array dx = golden_make_output(&golden->dx), dw = golden_make_output(&golden->dw);
    husk_ref_array dbias = golden_make_output(&golden->dbias);
    husk_ref_conv_backward_data data = {.params = &golden->params, .w = &w, .dy = &dy};
    memcpy(data.shape, x.shape, sizeof(data.shape));
    husk_ref_function function = husk_ref_conv_backward_data_function(&data);
    golden_expect_function(golden->name, &function, &golden->dx);
    husk_ref_conv_backward_data_run(&data, &dx);
    golden_expect_equal(golden->name, "dx", &golden->dx, &dx);
    husk_ref_conv_backward_weights weights = {.params = &golden->params, .x = &x, .dy = &dy};
    memcpy(weights.shape, w.shape, sizeof(weights.shape));
    function = husk_ref_conv_backward_weights_function(&weights);
    golden_expect_function(golden->name, &function, &golden->dw);
    husk_ref_conv_backward_weights_run(&weights, &dw);
    golden_expect_equal(golden->name, "dw", &golden->dw, &dw);
    function = husk_ref_conv_backward_bias_function(&weights);
    golden_expect_function(golden->name, &function, &golden->dbias);
    husk_ref_conv_backward_bias_run(&weights, &dbias);
    golden_expect_equal(golden->name, "dbias", &golden->dbias, &dbias);
    void *const arrays[] = {x.data, w.data, dy.data, dx.data, dw.data, dbias.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

START_TEST(test_conv_transpose)
{
    const struct golden_conv *golden = golden_case(&golden_conv_transpose, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), w = golden_make(&golden->w, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32), y = golden_make_output(&golden->y);
    husk_ref_conv_backward_data op = {
        .params = &golden->params, .w = &w, .dy = &x, .bias = golden_optional(&golden->bias, &bias)};
    memcpy(op.shape, y.shape, sizeof(op.shape));
    husk_ref_function function = husk_ref_conv_backward_data_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_conv_backward_data_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    free(x.data);
    free(w.data);
    free(bias.data);
    free(y.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_conv");
    TCase *cases = tcase_create("golden_conv");
    tcase_add_loop_test(cases, test_conv, 0, 2 * golden_load(&golden_conv));
    tcase_add_loop_test(cases, test_conv_backward, 0, 2 * golden_load(&golden_conv_backward));
    tcase_add_loop_test(cases, test_conv_transpose, 0, 2 * golden_load(&golden_conv_transpose));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
