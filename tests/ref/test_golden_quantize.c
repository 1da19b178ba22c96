// SPDX-License-Identifier: MIT
// ctest: timeout=60
// Integers of eight bits: the reference against golden vectors from PyTorch (support/golden.h).
#include <stdlib.h>

#include "ref/quantized/dequantize.h"
#include "ref/quantized/quantize.h"
#include "ref/quantized/conv.h"
#include "ref/quantized/gemm.h"
#include "support/golden.h"
#include "support/main.h"

struct golden_quantize {
    const char *name;
    husk_quantize_params params;
    int is_unsigned;
    golden_array x, scale, zero, y, back;
};

static golden_table golden_quantize = GOLDEN_TABLE("quantized", "quantize", struct golden_quantize, GOLDEN_QUANTIZE,
                                                   name, is_unsigned, x, scale, zero, y, back);

START_TEST(test_quantize)
{
    const struct golden_quantize *golden = golden_case(&golden_quantize, _i / 2);
    const husk_dtype dtype = golden->is_unsigned ? HUSK_U8 : HUSK_I8;
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), scale = golden_make(&golden->scale, HUSK_F32);
    husk_ref_array zero = golden_make(&golden->zero, dtype), q = golden_make(&golden->y, dtype);
    husk_ref_array y = golden_make_output(&golden->y), back = golden_make_output(&golden->back);
    husk_ref_quantize op = {.params = &golden->params, .x = &x, .scale = &scale, .zero = &zero, .dtype = dtype};
    husk_ref_function function = husk_ref_quantize_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_quantize_run(&op, &y);
    golden_expect_equal(golden->name, "y", &golden->y, &y);
    husk_ref_dequantize reverse = {.params = &golden->params, .x = &q, .scale = &scale, .zero = &zero};
    function = husk_ref_dequantize_function(&reverse);
    golden_expect_function(golden->name, &function, &golden->back);
    husk_ref_dequantize_run(&reverse, &back);
    golden_expect_equal(golden->name, "back", &golden->back, &back);
    void *const arrays[] = {x.data, scale.data, zero.data, q.data, y.data, back.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

struct golden_quantized_gemm {
    const char *name;
    husk_quantized_gemm_params params;
    husk_quantization a_quantization, c_quantization;
    husk_dtype a_dtype, c_dtype;
    golden_array a, b, scale, bias, c;
};

static golden_table golden_quantized_gemm = GOLDEN_TABLE(
    "quantized", "quantized_gemm", struct golden_quantized_gemm, GOLDEN_QUANTIZED_GEMM, name, a_quantization.scale,
    a_quantization.zero, c_quantization.scale, c_quantization.zero, a_dtype, c_dtype, a, b, scale, bias, c);

START_TEST(test_quantized_gemm)
{
    const struct golden_quantized_gemm *golden = golden_case(&golden_quantized_gemm, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array a = golden_make(&golden->a, golden->a_dtype), b = golden_make(&golden->b, HUSK_I8);
    husk_ref_array scale = golden_make_optional(&golden->scale, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32), y = golden_make_output(&golden->c), c = y;
    c.dtype = golden->c_dtype; // what the operator is to write; y holds it in double
    husk_ref_quantized_gemm op = {.params = &golden->params,
                                  .a = &a,
                                  .b = &b,
                                  .b_scale = golden_optional(&golden->scale, &scale),
                                  .bias = golden_optional(&golden->bias, &bias),
                                  .c = &c,
                                  .a_quantization = &golden->a_quantization,
                                  .c_quantization = &golden->c_quantization};
    husk_ref_function function = husk_ref_quantized_gemm_function(&op);
    golden_expect_function(golden->name, &function, &golden->c);
    husk_ref_quantized_gemm_run(&op, &y);
    golden_expect_equal(golden->name, "c", &golden->c, &y);
    void *const arrays[] = {a.data, b.data, scale.data, bias.data, y.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

struct golden_quantized_conv {
    const char *name;
    husk_quantized_conv_params params;
    husk_quantization x_quantization, y_quantization;
    husk_dtype x_dtype, y_dtype;
    golden_array x, w, scale, bias, y;
};

static golden_table golden_quantized_conv = GOLDEN_TABLE(
    "quantized", "quantized_conv", struct golden_quantized_conv, GOLDEN_CONV, name, x_quantization.scale,
    x_quantization.zero, y_quantization.scale, y_quantization.zero, x_dtype, y_dtype, x, w, scale, bias, y);

START_TEST(test_quantized_conv)
{
    const struct golden_quantized_conv *golden = golden_case(&golden_quantized_conv, _i / 2);
    golden_lay_out(_i % 2 != 0);
    husk_ref_array x = golden_make(&golden->x, golden->x_dtype), w = golden_make(&golden->w, HUSK_I8);
    husk_ref_array scale = golden_make_optional(&golden->scale, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32), out = golden_make_output(&golden->y), y = out;
    y.dtype = golden->y_dtype; // what the operator is to write; out holds it in double
    husk_ref_quantized_conv op = {.params = &golden->params,
                                  .x = &x,
                                  .w = &w,
                                  .w_scale = golden_optional(&golden->scale, &scale),
                                  .bias = golden_optional(&golden->bias, &bias),
                                  .y = &y,
                                  .x_quantization = &golden->x_quantization,
                                  .y_quantization = &golden->y_quantization};
    husk_ref_function function = husk_ref_quantized_conv_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_quantized_conv_run(&op, &out);
    golden_expect_equal(golden->name, "y", &golden->y, &out);
    void *const arrays[] = {x.data, w.data, scale.data, bias.data, out.data};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(*arrays); i++)
        free(arrays[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_quantize");
    TCase *cases = tcase_create("golden_quantize");
    tcase_add_loop_test(cases, test_quantize, 0, 2 * golden_load(&golden_quantize));
    tcase_add_loop_test(cases, test_quantized_gemm, 0, 2 * golden_load(&golden_quantized_gemm));
    tcase_add_loop_test(cases, test_quantized_conv, 0, 2 * golden_load(&golden_quantized_conv));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
