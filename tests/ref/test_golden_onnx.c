// SPDX-License-Identifier: MIT
// ctest: timeout=60
// What the headers say to be as ONNX: the reference against golden vectors from ONNX's own (support/golden.h,
// tests/golden/make_onnx.py).
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/layout/concat.h"
#include "ref/conv/conv.h"
#include "ref/quantized/dequantize.h"
#include "ref/loss/loss.h"
#include "ref/norm/norm.h"
#include "ref/lookup/one_hot.h"
#include "ref/optimizer/optimizer.h"
#include "ref/layout/pad.h"
#include "ref/pool/pool.h"
#include "ref/quantized/quantize.h"
#include "ref/reduce/reduce.h"
#include "ref/softmax/softmax.h"
#include "ref/elementwise/unary.h"
#include "support/golden.h"
#include "support/main.h"

struct onnx_softmax {
    const char *name;
    husk_softmax_params params;
    golden_array x, y;
};

static golden_table softmaxes =
    GOLDEN_TABLE("softmax", "onnx_softmax", struct onnx_softmax, GOLDEN_SOFTMAX, name, x, y);

struct onnx_reduce {
    const char *name;
    husk_reduce_params params;
    golden_array x, y;
};

static golden_table reductions = GOLDEN_TABLE("reduce", "onnx_reduce", struct onnx_reduce, GOLDEN_REDUCE, name, x, y);

struct onnx_pool {
    const char *name;
    husk_pool_params params;
    golden_array x, y, indices;
};

static golden_table pools = GOLDEN_TABLE("pool", "onnx_pool", struct onnx_pool, GOLDEN_POOL, name, x, y, indices);

struct onnx_conv_transpose {
    const char *name;
    husk_conv_params params;
    golden_array x, w, bias, y;
};

static golden_table transposes =
    GOLDEN_TABLE("conv", "onnx_conv_transpose", struct onnx_conv_transpose, GOLDEN_CONV, name, x, w, bias, y);

struct onnx_quantize {
    const char *name;
    husk_quantize_params params;
    golden_array x, scale, zero, y, back; // back: y dequantized
};

static golden_table quantizations =
    GOLDEN_TABLE("quantized", "onnx_quantize", struct onnx_quantize, GOLDEN_QUANTIZE, name, x, scale, zero, y, back);

struct onnx_one_hot {
    const char *name;
    husk_one_hot_params params;
    golden_array labels, y;
};

static golden_table one_hots =
    GOLDEN_TABLE("lookup", "onnx_one_hot", struct onnx_one_hot, GOLDEN_ONE_HOT, name, labels, y);

struct onnx_pad {
    const char *name;
    husk_pad_params params;
    golden_array x, y;
};

static golden_table pads = GOLDEN_TABLE("layout", "onnx_pad", struct onnx_pad, GOLDEN_PAD, name, x, y);

struct onnx_norm {
    const char *name;
    husk_norm_params params;
    golden_array x, scale, bias, mean, variance, y, after; // after: the running mean, of training
};

static golden_table norms =
    GOLDEN_TABLE("norm", "onnx_norm", struct onnx_norm, GOLDEN_NORM, name, x, scale, bias, mean, variance, y, after);

struct onnx_loss {
    const char *name;
    husk_loss_params params;
    golden_array x, labels, weight, y;
};

static golden_table losses =
    GOLDEN_TABLE("loss", "onnx_loss", struct onnx_loss, GOLDEN_LOSS, name, x, labels, weight, y);

struct onnx_optimizer {
    const char *name;
    husk_optimizer_params params;
    golden_array before, gradients, after; // gradients: [steps, elements]
};

static golden_table optimizers = GOLDEN_TABLE("optimizer", "onnx_optimizer", struct onnx_optimizer, GOLDEN_OPTIMIZER,
                                              name, before, gradients, after);

struct onnx_concat {
    const char *name;
    husk_concat_params params;
    golden_array a, b, y;
};

static golden_table concats = GOLDEN_TABLE("layout", "onnx_concat", struct onnx_concat, GOLDEN_CONCAT, name, a, b, y);

struct onnx_unary {
    const char *name;
    husk_unary_params params;
    golden_array x, y;
};

static golden_table unaries = GOLDEN_TABLE("elementwise", "onnx_unary", struct onnx_unary, GOLDEN_UNARY, name, x, y);

START_TEST(softmax)
{
    const struct onnx_softmax *golden = golden_case(&softmaxes, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    const husk_ref_softmax op = {.params = &golden->params, .x = &x};
    const husk_ref_function function = husk_ref_softmax_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(x.data);
}
END_TEST

START_TEST(reduce)
{
    const struct onnx_reduce *golden = golden_case(&reductions, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    const husk_ref_reduce op = {.params = &golden->params, .x = &x};
    const husk_ref_function function = husk_ref_reduce_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(x.data);
}
END_TEST

START_TEST(pool)
{
    const struct onnx_pool *golden = golden_case(&pools, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    const husk_ref_pool op = {.params = &golden->params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    function = husk_ref_pool_index_function(&op);
    if (golden->indices.values)
        golden_expect_function(golden->name, &function, &golden->indices);
    free(x.data);
}
END_TEST

START_TEST(transposed_convolution)
{
    const struct onnx_conv_transpose *golden = golden_case(&transposes, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), w = golden_make(&golden->w, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&golden->bias, HUSK_F32);
    husk_ref_conv_backward_data op = {
        .params = &golden->params, .w = &w, .dy = &x, .bias = golden_optional(&golden->bias, &bias)};
    memcpy(op.shape, golden->y.shape, sizeof op.shape);
    const husk_ref_function function = husk_ref_conv_backward_data_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(x.data);
    free(w.data);
    free(bias.data);
}
END_TEST

START_TEST(quantize)
{
    const struct onnx_quantize *golden = golden_case(&quantizations, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    husk_ref_array scale = golden_make(&golden->scale, HUSK_F32);
    husk_ref_array zero = golden_make(&golden->zero, HUSK_I8), y = golden_make(&golden->y, HUSK_I8);
    const husk_ref_quantize op = {.params = &golden->params, .x = &x, .scale = &scale, .zero = &zero, .dtype = HUSK_I8};
    husk_ref_function function = husk_ref_quantize_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    const husk_ref_dequantize back = {.params = &golden->params, .x = &y, .scale = &scale, .zero = &zero};
    function = husk_ref_dequantize_function(&back);
    golden_expect_function(golden->name, &function, &golden->back);
    free(x.data);
    free(y.data);
    free(scale.data);
    free(zero.data);
}
END_TEST

START_TEST(one_hot)
{
    const struct onnx_one_hot *golden = golden_case(&one_hots, _i);
    husk_ref_array labels = golden_make(&golden->labels, HUSK_I64);
    const husk_ref_one_hot op = {
        .params = &golden->params, .labels = &labels, .classes = golden->y.shape[golden->y.rank - 1]};
    const husk_ref_function function = husk_ref_one_hot_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(labels.data);
}
END_TEST

START_TEST(pad)
{
    const struct onnx_pad *golden = golden_case(&pads, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    const husk_ref_pad op = {.params = &golden->params, .x = &x};
    const husk_ref_function function = husk_ref_pad_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(x.data);
}
END_TEST

START_TEST(norm)
{
    const struct onnx_norm *golden = golden_case(&norms, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), scale = golden_make(&golden->scale, HUSK_F32);
    husk_ref_array bias = golden_make(&golden->bias, HUSK_F32);
    husk_ref_array mean = golden_make_optional(&golden->mean, HUSK_F32);
    husk_ref_array variance = golden_make_optional(&golden->variance, HUSK_F32);
    husk_ref_norm op = {.params = &golden->params,
                        .x = &x,
                        .scale = &scale,
                        .bias = &bias,
                        .running_mean = golden_optional(&golden->mean, &mean),
                        .running_variance = golden_optional(&golden->variance, &variance)};
    ck_assert(husk_ref_norm_prepare(&op));
    husk_ref_norm_question question = {&op, HUSK_REF_NORM_Y};
    husk_ref_function function = husk_ref_norm_function(&question);
    golden_expect_function(golden->name, &function, &golden->y);
    question.output = HUSK_REF_NORM_RUNNING_MEAN;
    function = husk_ref_norm_function(&question);
    if (golden->after.values)
        golden_expect_function(golden->name, &function, &golden->after);
    husk_ref_norm_release(&op);
    free(x.data);
    free(scale.data);
    free(bias.data);
    free(mean.data);
    free(variance.data);
}
END_TEST

START_TEST(loss)
{
    const struct onnx_loss *golden = golden_case(&losses, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32), labels = golden_make(&golden->labels, HUSK_I64);
    husk_ref_array weight = golden_make(&golden->weight, HUSK_F32);
    husk_ref_loss op = {.params = &golden->params, .x = &x, .target = &labels, .weight = &weight};
    ck_assert(husk_ref_loss_prepare(&op));
    const husk_ref_function function = husk_ref_loss_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    husk_ref_loss_release(&op);
    free(x.data);
    free(labels.data);
    free(weight.data);
}
END_TEST

// Momentum's T counts from 0, Adam's from 1; Adam's epsilon is added before the root is corrected.
START_TEST(optimizer)
{
    const struct onnx_optimizer *golden = golden_case(&optimizers, _i);
    const int64_t count = golden->before.shape[0];
    husk_optimizer_params params = golden->params;
    const double epsilon = params.epsilon;
    husk_ref_array gradients = golden_make(&golden->gradients, HUSK_F64);
    husk_ref_array w = golden_make(&golden->before, HUSK_F64), kept[3];
    double states[3][16] = {{0}};
    for (int i = 0; i < 3; i++)
        kept[i] = husk_ref_array_make(states[i], HUSK_F64, 1, &count);
    husk_ref_array g = husk_ref_array_make(NULL, HUSK_F64, 1, &count);
    const husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, &kept[0], &kept[1], &kept[2]}};
    double power = 1;
    for (int64_t step = 0; step < golden->gradients.shape[0]; step++) {
        params.step = (uint64_t)step + 1;
        power *= params.beta2;
        params.epsilon = epsilon / sqrt(1 - power);
        g.data = (double *)gradients.data + step * count;
        husk_ref_optimizer_run(&op);
    }
    golden_expect_equal(golden->name, "w", &golden->after, &w);
    free(gradients.data);
    free(w.data);
}
END_TEST

START_TEST(concat)
{
    const struct onnx_concat *golden = golden_case(&concats, _i);
    husk_ref_array inputs[] = {golden_make(&golden->a, HUSK_F32), golden_make(&golden->b, HUSK_F32)};
    const husk_ref_concat op = {.params = &golden->params, .inputs = inputs, .count = 2};
    const husk_ref_function function = husk_ref_concat_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(inputs[0].data);
    free(inputs[1].data);
}
END_TEST

START_TEST(unary)
{
    const struct onnx_unary *golden = golden_case(&unaries, _i);
    husk_ref_array x = golden_make(&golden->x, HUSK_F32);
    const husk_ref_unary op = {.params = &golden->params, .x = &x};
    const husk_ref_function function = husk_ref_unary_function(&op);
    golden_expect_function(golden->name, &function, &golden->y);
    free(x.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_onnx");
    TCase *cases = tcase_create("golden_onnx");
    tcase_add_loop_test(cases, softmax, 0, golden_load(&softmaxes));
    tcase_add_loop_test(cases, reduce, 0, golden_load(&reductions));
    tcase_add_loop_test(cases, pool, 0, golden_load(&pools));
    tcase_add_loop_test(cases, transposed_convolution, 0, golden_load(&transposes));
    tcase_add_loop_test(cases, quantize, 0, golden_load(&quantizations));
    tcase_add_loop_test(cases, one_hot, 0, golden_load(&one_hots));
    tcase_add_loop_test(cases, pad, 0, golden_load(&pads));
    tcase_add_loop_test(cases, norm, 0, golden_load(&norms));
    tcase_add_loop_test(cases, loss, 0, golden_load(&losses));
    tcase_add_loop_test(cases, optimizer, 0, golden_load(&optimizers));
    tcase_add_loop_test(cases, concat, 0, golden_load(&concats));
    tcase_add_loop_test(cases, unary, 0, golden_load(&unaries));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
