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

static const struct {
    const char *name;
    husk_softmax_params params;
    golden_array x, y;
} softmaxes[] = {
#include "golden/golden_onnx_softmax.inc"
};

static const struct {
    const char *name;
    husk_reduce_params params;
    golden_array x, y;
} reductions[] = {
#include "golden/golden_onnx_reduce.inc"
};

static const struct {
    const char *name;
    husk_pool_params params;
    golden_array x, y, indices;
} pools[] = {
#include "golden/golden_onnx_pool.inc"
};

static const struct {
    const char *name;
    husk_conv_params params;
    golden_array x, w, bias, y;
} transposes[] = {
#include "golden/golden_onnx_conv_transpose.inc"
};

static const struct {
    const char *name;
    husk_quantize_params params;
    golden_array x, scale, zero, y, back; // back: y dequantized
} quantizations[] = {
#include "golden/golden_onnx_quantize.inc"
};

static const struct {
    const char *name;
    husk_one_hot_params params;
    golden_array labels, y;
} one_hots[] = {
#include "golden/golden_onnx_one_hot.inc"
};

static const struct {
    const char *name;
    husk_pad_params params;
    golden_array x, y;
} pads[] = {
#include "golden/golden_onnx_pad.inc"
};

static const struct {
    const char *name;
    husk_norm_params params;
    golden_array x, scale, bias, mean, variance, y, after; // after: the running mean, of training
} norms[] = {
#include "golden/golden_onnx_norm.inc"
};

static const struct {
    const char *name;
    husk_loss_params params;
    golden_array x, labels, weight, y;
} losses[] = {
#include "golden/golden_onnx_loss.inc"
};

static const struct {
    const char *name;
    husk_optimizer_params params;
    golden_array before, gradients, after; // gradients: [steps, elements]
} optimizers[] = {
#include "golden/golden_onnx_optimizer.inc"
};

static const struct {
    const char *name;
    husk_concat_params params;
    golden_array a, b, y;
} concats[] = {
#include "golden/golden_onnx_concat.inc"
};

static const struct {
    const char *name;
    husk_unary_params params;
    golden_array x, y;
} unaries[] = {
#include "golden/golden_onnx_unary.inc"
};

START_TEST(softmax)
{
    husk_ref_array x = golden_make(&softmaxes[_i].x, HUSK_F32);
    const husk_ref_softmax op = {.params = &softmaxes[_i].params, .x = &x};
    const husk_ref_function function = husk_ref_softmax_function(&op);
    golden_expect_function(softmaxes[_i].name, &function, &softmaxes[_i].y);
    free(x.data);
}
END_TEST

START_TEST(reduce)
{
    husk_ref_array x = golden_make(&reductions[_i].x, HUSK_F32);
    const husk_ref_reduce op = {.params = &reductions[_i].params, .x = &x};
    const husk_ref_function function = husk_ref_reduce_function(&op);
    golden_expect_function(reductions[_i].name, &function, &reductions[_i].y);
    free(x.data);
}
END_TEST

START_TEST(pool)
{
    husk_ref_array x = golden_make(&pools[_i].x, HUSK_F32);
    const husk_ref_pool op = {.params = &pools[_i].params, .x = &x};
    husk_ref_function function = husk_ref_pool_function(&op);
    golden_expect_function(pools[_i].name, &function, &pools[_i].y);
    function = husk_ref_pool_index_function(&op);
    if (pools[_i].indices.values)
        golden_expect_function(pools[_i].name, &function, &pools[_i].indices);
    free(x.data);
}
END_TEST

START_TEST(transposed_convolution)
{
    husk_ref_array x = golden_make(&transposes[_i].x, HUSK_F32), w = golden_make(&transposes[_i].w, HUSK_F32);
    husk_ref_array bias = golden_make_optional(&transposes[_i].bias, HUSK_F32);
    husk_ref_conv_backward_data op = {.params = &transposes[_i].params,
                                      .w = &w,
                                      .dy = &x,
                                      .bias = golden_optional(&transposes[_i].bias, &bias)};
    memcpy(op.shape, transposes[_i].y.shape, sizeof op.shape);
    const husk_ref_function function = husk_ref_conv_backward_data_function(&op);
    golden_expect_function(transposes[_i].name, &function, &transposes[_i].y);
    free(x.data);
    free(w.data);
    free(bias.data);
}
END_TEST

START_TEST(quantize)
{
    husk_ref_array x = golden_make(&quantizations[_i].x, HUSK_F32);
    husk_ref_array scale = golden_make(&quantizations[_i].scale, HUSK_F32);
    husk_ref_array zero = golden_make(&quantizations[_i].zero, HUSK_I8),
                   y = golden_make(&quantizations[_i].y, HUSK_I8);
    const husk_ref_quantize op = {.params = &quantizations[_i].params,
                                  .x = &x,
                                  .scale = &scale,
                                  .zero = &zero,
                                  .dtype = HUSK_I8};
    husk_ref_function function = husk_ref_quantize_function(&op);
    golden_expect_function(quantizations[_i].name, &function, &quantizations[_i].y);
    const husk_ref_dequantize back = {.params = &quantizations[_i].params,
                                      .x = &y,
                                      .scale = &scale,
                                      .zero = &zero};
    function = husk_ref_dequantize_function(&back);
    golden_expect_function(quantizations[_i].name, &function, &quantizations[_i].back);
    free(x.data);
    free(y.data);
    free(scale.data);
    free(zero.data);
}
END_TEST

START_TEST(one_hot)
{
    husk_ref_array labels = golden_make(&one_hots[_i].labels, HUSK_I64);
    const husk_ref_one_hot op = {.params = &one_hots[_i].params,
                                 .labels = &labels,
                                 .classes = one_hots[_i].y.shape[one_hots[_i].y.rank - 1]};
    const husk_ref_function function = husk_ref_one_hot_function(&op);
    golden_expect_function(one_hots[_i].name, &function, &one_hots[_i].y);
    free(labels.data);
}
END_TEST

START_TEST(pad)
{
    husk_ref_array x = golden_make(&pads[_i].x, HUSK_F32);
    const husk_ref_pad op = {.params = &pads[_i].params, .x = &x};
    const husk_ref_function function = husk_ref_pad_function(&op);
    golden_expect_function(pads[_i].name, &function, &pads[_i].y);
    free(x.data);
}
END_TEST

START_TEST(norm)
{
    husk_ref_array x = golden_make(&norms[_i].x, HUSK_F32), scale = golden_make(&norms[_i].scale, HUSK_F32);
    husk_ref_array bias = golden_make(&norms[_i].bias, HUSK_F32);
    husk_ref_array mean = golden_make_optional(&norms[_i].mean, HUSK_F32);
    husk_ref_array variance = golden_make_optional(&norms[_i].variance, HUSK_F32);
    husk_ref_norm op = {.params = &norms[_i].params,
                        .x = &x,
                        .scale = &scale,
                        .bias = &bias,
                        .running_mean = golden_optional(&norms[_i].mean, &mean),
                        .running_variance = golden_optional(&norms[_i].variance, &variance)};
    ck_assert(husk_ref_norm_prepare(&op));
    husk_ref_norm_question question = {&op, HUSK_REF_NORM_Y};
    husk_ref_function function = husk_ref_norm_function(&question);
    golden_expect_function(norms[_i].name, &function, &norms[_i].y);
    question.output = HUSK_REF_NORM_RUNNING_MEAN;
    function = husk_ref_norm_function(&question);
    if (norms[_i].after.values)
        golden_expect_function(norms[_i].name, &function, &norms[_i].after);
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
    husk_ref_array x = golden_make(&losses[_i].x, HUSK_F32),
                   labels = golden_make(&losses[_i].labels, HUSK_I64);
    husk_ref_array weight = golden_make(&losses[_i].weight, HUSK_F32);
    husk_ref_loss op = {.params = &losses[_i].params, .x = &x, .target = &labels, .weight = &weight};
    ck_assert(husk_ref_loss_prepare(&op));
    const husk_ref_function function = husk_ref_loss_function(&op);
    golden_expect_function(losses[_i].name, &function, &losses[_i].y);
    husk_ref_loss_release(&op);
    free(x.data);
    free(labels.data);
    free(weight.data);
}
END_TEST

// Momentum's T counts from 0, Adam's from 1; Adam's epsilon is added before the root is corrected.
START_TEST(optimizer)
{
    const int64_t count = optimizers[_i].before.shape[0];
    husk_optimizer_params params = optimizers[_i].params;
    const double epsilon = params.epsilon;
    husk_ref_array gradients = golden_make(&optimizers[_i].gradients, HUSK_F64);
    husk_ref_array w = golden_make(&optimizers[_i].before, HUSK_F64), kept[3];
    double states[3][16] = {{0}};
    for (int i = 0; i < 3; i++)
        kept[i] = husk_ref_array_make(states[i], HUSK_F64, 1, &count);
    husk_ref_array g = husk_ref_array_make(NULL, HUSK_F64, 1, &count);
    const husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, &kept[0], &kept[1], &kept[2]}};
    double power = 1;
    for (int64_t step = 0; step < optimizers[_i].gradients.shape[0]; step++) {
        params.step = (uint64_t)step + 1;
        power *= params.beta2;
        params.epsilon = epsilon / sqrt(1 - power);
        g.data = (double *)gradients.data + step * count;
        husk_ref_optimizer_run(&op);
    }
    golden_expect_equal(optimizers[_i].name, "w", &optimizers[_i].after, &w);
    free(gradients.data);
    free(w.data);
}
END_TEST

START_TEST(concat)
{
    husk_ref_array inputs[] = {golden_make(&concats[_i].a, HUSK_F32), golden_make(&concats[_i].b, HUSK_F32)};
    const husk_ref_concat op = {.params = &concats[_i].params, .inputs = inputs, .count = 2};
    const husk_ref_function function = husk_ref_concat_function(&op);
    golden_expect_function(concats[_i].name, &function, &concats[_i].y);
    free(inputs[0].data);
    free(inputs[1].data);
}
END_TEST

START_TEST(unary)
{
    husk_ref_array x = golden_make(&unaries[_i].x, HUSK_F32);
    const husk_ref_unary op = {.params = &unaries[_i].params, .x = &x};
    const husk_ref_function function = husk_ref_unary_function(&op);
    golden_expect_function(unaries[_i].name, &function, &unaries[_i].y);
    free(x.data);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("golden_onnx");
    TCase *cases = tcase_create("golden_onnx");
    tcase_add_loop_test(cases, softmax, 0, GOLDEN_COUNT(softmaxes));
    tcase_add_loop_test(cases, reduce, 0, GOLDEN_COUNT(reductions));
    tcase_add_loop_test(cases, pool, 0, GOLDEN_COUNT(pools));
    tcase_add_loop_test(cases, transposed_convolution, 0, GOLDEN_COUNT(transposes));
    tcase_add_loop_test(cases, quantize, 0, GOLDEN_COUNT(quantizations));
    tcase_add_loop_test(cases, one_hot, 0, GOLDEN_COUNT(one_hots));
    tcase_add_loop_test(cases, pad, 0, GOLDEN_COUNT(pads));
    tcase_add_loop_test(cases, norm, 0, GOLDEN_COUNT(norms));
    tcase_add_loop_test(cases, loss, 0, GOLDEN_COUNT(losses));
    tcase_add_loop_test(cases, optimizer, 0, GOLDEN_COUNT(optimizers));
    tcase_add_loop_test(cases, concat, 0, GOLDEN_COUNT(concats));
    tcase_add_loop_test(cases, unary, 0, GOLDEN_COUNT(unaries));
    suite_add_tcase(suite, cases);
    return test_main(suite);
}
