// SPDX-License-Identifier: MIT
#include "conv_refusals.h"

#include <string.h>

#include "conv_case.h"

static const conv_case good = {.space = 2,
                               .batch = 1,
                               .groups = 2,
                               .channels = 2,
                               .filters = 3,
                               .in = {6, 7},
                               .filter = {3, 3},
                               .params = {.pad = {1, 1}},
                               .has_bias = true,
                               .seed = 4};

// A good call's arguments, of which each case spoils one.
typedef struct call {
    husk_conv_params params;
    husk_tensor x, w, bias, y;
} call;

typedef struct bad {
    void (*spoil)(call *c);
    husk_status status;
    const char *argument; /* what the text must name */
} bad;

static void bad_size(call *c)
{
    c->params.size = 4096;
}
static void bad_activation(call *c)
{
    c->params.activation = (husk_act)99;
}
static void bad_slope(call *c)
{
    c->params.activation_slope = 1.0f / 0.0f;
}
static void bad_precision(call *c)
{
    c->params.precision = (husk_precision)7;
}
static void bad_groups(call *c)
{
    c->params.groups = -1;
}
static void bad_stride(call *c)
{
    c->params.stride[1] = -2;
}
static void bad_dilation(call *c)
{
    c->params.dilation[0] = -1;
}
static void bad_pad(call *c)
{
    c->params.pad[0] = -1;
}
static void bad_pad_end(call *c)
{
    c->params.pad_end_extra[1] = -5;
}
static void huge_pad(call *c)
{
    c->params.pad[0] = INT64_MAX;
}
static void huge_dilation(call *c)
{
    c->params.dilation[0] = INT64_MAX;
}
// The last window begins before 2^31 and ends behind it.
static void far_reach(call *c)
{
    c->params.stride[1] = 50000;
    c->params.dilation[1] = 60000;
    c->params.pad_end_extra[1] = 2147519993 - c->params.pad[1];
    c->y.shape[3] = 42949;
    memset(c->y.strides, 0, sizeof c->y.strides);
}
static void bad_variant(call *c)
{
    c->params.variant = "fastest";
}
static void unfit_variant(call *c)
{
    c->params.variant = "winograd_2x2";
    c->params.stride[0] = c->params.stride[1] = 2;
    c->y.shape[2] = 3;
    c->y.shape[3] = 4;
}
static void x_rank(call *c)
{
    c->x.rank = 2;
}
static void x_negative(call *c)
{
    c->x.shape[2] = -6;
}
static void x_dtype(call *c)
{
    c->x.dtype = HUSK_I64;
}
static void x_double(call *c)
{
    c->x.dtype = HUSK_F64;
}
static void y_beside_double(call *c)
{
    c->x.dtype = c->w.dtype = c->bias.dtype = HUSK_F64;
}
static void bias_beside_double(call *c)
{
    c->x.dtype = c->w.dtype = c->y.dtype = HUSK_F64;
}
static void x_narrow(call *c)
{
    c->x.dtype = HUSK_F16;
}
static void w_narrow(call *c)
{
    c->w.dtype = HUSK_BF16;
}
static void bias_narrow(call *c)
{
    c->bias.dtype = HUSK_F16;
}
static void y_other(call *c)
{
    c->x.dtype = c->w.dtype = HUSK_F16;
    c->y.dtype = HUSK_BF16;
}
static void y_narrow(call *c)
{
    c->y.dtype = HUSK_F16;
}
static void x_channels(call *c)
{
    c->x.shape[1] = 3;
}
static void x_memory(call *c)
{
    c->x.buffer = NULL;
}
static void x_reach(call *c)
{
    c->x.offset = 1 << 30;
}
static void w_rank(call *c)
{
    c->w.rank = 3;
}
static void w_channels(call *c)
{
    c->w.shape[1] = 4;
}
static void w_filters(call *c)
{
    c->w.shape[0] = 5;
}
static void w_empty(call *c)
{
    c->w.shape[2] = 0;
}
static void w_larger(call *c)
{
    c->params.dilation[0] = 4;
}
static void w_dtype(call *c)
{
    c->w.dtype = HUSK_I8;
}
static void bias_rank(call *c)
{
    c->bias.rank = 2;
}
static void bias_shape(call *c)
{
    c->bias.shape[0] = 4;
}
static void bias_apart(call *c)
{
    c->bias.strides[0] = 2;
}
static void bias_dtype(call *c)
{
    c->bias.dtype = HUSK_I64;
}
static void bias_double(call *c)
{
    c->bias.dtype = HUSK_F64;
}
static void y_shape(call *c)
{
    c->y.shape[3] = 6;
}
static void y_rank(call *c)
{
    c->y.rank = 3;
}
static void y_dtype(call *c)
{
    c->y.dtype = HUSK_I32;
}
static void y_folded(call *c)
{
    memcpy(c->y.strides, (int64_t[]){42, 7, 1, 1}, 4 * sizeof(int64_t));
}
static void y_over_x(call *c)
{
    c->y.buffer = c->x.buffer;
    c->y.offset = 0;
    c->w.shape[0] = 2; // small enough for x's buffer
    c->bias.shape[0] = 2;
    c->y.shape[1] = 2;
}
static void y_over_w(call *c)
{
    c->w.buffer = c->y.buffer;
    c->w.offset = c->y.offset;
}

static const bad bad_calls[] = {
    {bad_size, HUSK_INVALID_ARGUMENT, "size"},
    {bad_activation, HUSK_INVALID_ARGUMENT, "activation"},
    {bad_slope, HUSK_INVALID_ARGUMENT, "activation_slope"},
    {bad_precision, HUSK_INVALID_ARGUMENT, "precision"},
    {bad_groups, HUSK_INVALID_ARGUMENT, "groups"},
    {bad_stride, HUSK_INVALID_ARGUMENT, "stride[1]"},
    {bad_dilation, HUSK_INVALID_ARGUMENT, "dilation[0]"},
    {bad_pad, HUSK_INVALID_ARGUMENT, "pad[0]"},
    {bad_pad_end, HUSK_INVALID_ARGUMENT, "pad_end_extra[1]"},
    {huge_pad, HUSK_INVALID_ARGUMENT, "pad"},
    {huge_dilation, HUSK_INVALID_ARGUMENT, "dilation"},
    {far_reach, HUSK_UNSUPPORTED, "windows reach"},
    {bad_variant, HUSK_INVALID_ARGUMENT, "variant"},
    {unfit_variant, HUSK_UNSUPPORTED, "winograd_2x2"},
    {x_rank, HUSK_INVALID_ARGUMENT, "x:"},
    {x_negative, HUSK_INVALID_ARGUMENT, "x:"},
    {x_dtype, HUSK_UNSUPPORTED, "x:"},
    {x_double, HUSK_INVALID_ARGUMENT, "y:"},
    {y_beside_double, HUSK_INVALID_ARGUMENT, "y:"},
    {bias_beside_double, HUSK_INVALID_ARGUMENT, "bias:"},
    {x_narrow, HUSK_INVALID_ARGUMENT, "w:"},
    {w_narrow, HUSK_INVALID_ARGUMENT, "w:"},
    {bias_narrow, HUSK_INVALID_ARGUMENT, "bias:"},
    {y_other, HUSK_INVALID_ARGUMENT, "y:"},
    {y_narrow, HUSK_INVALID_ARGUMENT, "y:"},
    {x_channels, HUSK_INVALID_ARGUMENT, "x:"},
    {x_memory, HUSK_INVALID_ARGUMENT, "x:"},
    {x_reach, HUSK_INVALID_ARGUMENT, "x:"},
    {w_rank, HUSK_INVALID_ARGUMENT, "w:"},
    {w_channels, HUSK_INVALID_ARGUMENT, "w:"},
    {w_filters, HUSK_INVALID_ARGUMENT, "w:"},
    {w_empty, HUSK_INVALID_ARGUMENT, "w:"},
    {w_larger, HUSK_INVALID_ARGUMENT, "w:"},
    {w_dtype, HUSK_UNSUPPORTED, "w:"},
    {bias_rank, HUSK_INVALID_ARGUMENT, "bias:"},
    {bias_shape, HUSK_INVALID_ARGUMENT, "bias:"},
    {bias_apart, HUSK_INVALID_ARGUMENT, "bias: has a stride of 2"},
    {bias_dtype, HUSK_UNSUPPORTED, "bias:"},
    {bias_double, HUSK_INVALID_ARGUMENT, "bias:"},
    {y_shape, HUSK_INVALID_ARGUMENT, "y:"},
    {y_rank, HUSK_INVALID_ARGUMENT, "y:"},
    {y_dtype, HUSK_UNSUPPORTED, "y:"},
    {y_folded, HUSK_INVALID_ARGUMENT, "y:"},
    {y_over_x, HUSK_INVALID_ARGUMENT, "y"},
    {y_over_w, HUSK_INVALID_ARGUMENT, "y"},
};

START_TEST(bad_calls_are_refused)
{
    conv_tensors t;
    conv_make(&good, NULL, &t);
    call c = {t.params, t.x.tensor, t.w.tensor, t.bias.tensor, t.y.tensor};
    bad_calls[_i].spoil(&c);
    test_refused(husk_conv(test_silent_queue(), &c.params, &c.x, &c.w, &c.bias, &c.y), bad_calls[_i].status,
                 bad_calls[_i].argument);
    test_untouched(&t.y);
    conv_release(&t);
}
END_TEST

START_TEST(missing_arguments_are_refused)
{
    conv_tensors t;
    conv_make(&good, NULL, &t);
    husk_queue *queue = test_silent_queue();
    const husk_tensor *x = &t.x.tensor, *w = &t.w.tensor, *y = &t.y.tensor;
    ck_assert_int_eq(husk_conv(NULL, &t.params, x, w, NULL, y), HUSK_INVALID_ARGUMENT);
    test_refused(husk_conv(queue, &t.params, NULL, w, NULL, y), HUSK_INVALID_ARGUMENT, "x:");
    test_refused(husk_conv(queue, &t.params, x, NULL, NULL, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv(queue, &t.params, x, w, NULL, NULL), HUSK_INVALID_ARGUMENT, "y:");
    husk_error error = {0};
    ck_assert_int_eq(husk_conv_output_shape(&t.params, x, w, NULL, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "shape"));
    ck_assert_int_eq(husk_conv_plan_create(test_context(), &t.params, x, w, NULL, y, NULL, &error),
                     HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(error.text, "plan"));
    conv_release(&t);
}
END_TEST

START_TEST(plans_refuse_what_they_were_not_made_for)
{
    conv_tensors t;
    conv_make(&good, NULL, &t);
    husk_plan *plan = conv_plan(&good, &t, NULL);
    husk_queue *queue = test_silent_queue();
    const husk_tensor *x = &t.x.tensor, *w = &t.w.tensor, *bias = &t.bias.tensor, *y = &t.y.tensor;
    husk_tensor other = *x;
    other.shape[2] = 5;
    test_refused(husk_conv_plan_run(NULL, queue, x, w, bias, y), HUSK_INVALID_ARGUMENT, "plan");
    test_refused(husk_conv_plan_run(plan, queue, &other, w, bias, y), HUSK_INVALID_ARGUMENT, "x:");
    test_refused(husk_conv_plan_run(plan, queue, x, x, bias, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_run(plan, queue, x, NULL, bias, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_run(plan, queue, x, w, NULL, y), HUSK_INVALID_ARGUMENT, "bias:");
    test_refused(husk_conv_plan_run(plan, queue, x, w, bias, NULL), HUSK_INVALID_ARGUMENT, "y:");
    other = *y;
    other.strides[3] = 2;
    other.strides[2] = 20;
    test_refused(husk_conv_plan_run(plan, queue, x, w, bias, &other), HUSK_INVALID_ARGUMENT, "y:");
    husk_packed *packed = NULL;
    test_refused(husk_conv_plan_pack(plan, queue, x, &packed), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_pack(plan, queue, w, NULL), HUSK_INVALID_ARGUMENT, "packed");
    ck_assert_ptr_null(packed);
    test_untouched(&t.y);
    husk_plan_release(plan);
    conv_release(&t);
}
END_TEST

START_TEST(packed_weights_of_something_else_are_refused)
{
    conv_tensors t, wide;
    conv_case two = good;
    two.filters = 4;
    conv_make(&good, "implicit_gemm", &t);
    conv_make(&two, "implicit_gemm", &wide);
    husk_plan *plan = conv_plan(&good, &t, "implicit_gemm"), *wide_plan = conv_plan(&two, &wide, "implicit_gemm");
    t.params.variant = "tiled";
    husk_plan *tiled = conv_plan(&good, &t, "tiled");
    husk_packed *packed = conv_pack(plan, &t), *wide_packed = conv_pack(wide_plan, &wide);
    const husk_tensor w = husk_packed_tensor(packed), wide_w = husk_packed_tensor(wide_packed);
    const husk_tensor *x = &t.x.tensor, *bias = &t.bias.tensor, *y = &t.y.tensor;
    husk_queue *queue = test_silent_queue();
    test_refused(husk_conv_plan_run(tiled, queue, x, &w, bias, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_run(plan, queue, x, &wide_w, bias, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv(queue, &t.params, x, &w, bias, y), HUSK_INVALID_ARGUMENT, "w:"); // asks for tiled
    // Another dtype: of the weights, and of everything beside them.
    conv_tensors half;
    conv_case narrow = good;
    narrow.dtype = HUSK_F16;
    conv_make(&narrow, "implicit_gemm", &half);
    husk_plan *half_plan = conv_plan(&narrow, &half, "implicit_gemm");
    husk_packed *half_packed = conv_pack(half_plan, &half);
    const husk_tensor half_w = husk_packed_tensor(half_packed);
    test_ok(husk_queue_finish(test_queue()));
    test_refused(husk_conv_plan_run(plan, queue, x, &half_w, bias, y), HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_run(half_plan, queue, &half.x.tensor, &w, &half.bias.tensor, &half.y.tensor),
                 HUSK_INVALID_ARGUMENT, "w:");
    test_refused(husk_conv_plan_run(half_plan, queue, x, &half.w.tensor, &half.bias.tensor, &half.y.tensor),
                 HUSK_INVALID_ARGUMENT, "x:");
    test_refused(husk_conv_plan_run(half_plan, queue, &half.x.tensor, &half.w.tensor, &half.bias.tensor, y),
                 HUSK_INVALID_ARGUMENT, "y:");
    husk_packed_release(half_packed);
    husk_plan_release(half_plan);
    conv_release(&half);
    test_untouched(&t.y);

    husk_context *elsewhere = NULL;
    husk_queue *far = NULL;
    husk_plan *far_plan = NULL;
    husk_error error = {0};
    test_ok_error(husk_context_create(NULL, NULL, &elsewhere, &error), &error);
    test_ok_error(husk_queue_create(elsewhere, NULL, &far, &error), &error);
    t.params.variant = "implicit_gemm";
    test_ok_error(husk_conv_plan_create(elsewhere, &t.params, x, &t.w.tensor, bias, y, &far_plan, &error), &error);
    ck_assert_int_eq(husk_conv_plan_run(far_plan, far, x, &w, bias, y), HUSK_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(husk_queue_error(far)->text, "w:"));
    husk_plan_release(far_plan);
    husk_queue_release(far);
    husk_context_release(elsewhere);

    husk_packed_release(packed);
    husk_packed_release(wide_packed);
    husk_plan_release(plan);
    husk_plan_release(wide_plan);
    husk_plan_release(tiled);
    conv_release(&t);
    conv_release(&wide);
}
END_TEST

void conv_add_refusals(TCase *tcase)
{
    tcase_add_loop_test(tcase, bad_calls_are_refused, 0, (int)(sizeof bad_calls / sizeof *bad_calls));
    tcase_add_test(tcase, missing_arguments_are_refused);
    tcase_add_test(tcase, plans_refuse_what_they_were_not_made_for);
    tcase_add_test(tcase, packed_weights_of_something_else_are_refused);
}
