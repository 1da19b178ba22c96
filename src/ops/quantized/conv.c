// SPDX-License-Identifier: MIT
// Convolution of bytes: validate -> resolve -> choose. The variants are in ops/quantized/conv_variants.c and
// conv_depthwise.c, and what they share with multiplication in ops/quantized/products.c.
// Kernels: cl/quantized/conv_*.cl.
#include "ops/quantized/conv_problem.h"

#include <string.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"

typedef husk__quantized_conv_problem problem;
typedef husk__quantized_run arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__products_describe(&own->products, key);
    husk__key_tensor(key, &own->tensors.input);
    husk__key_tensor(key, &own->tensors.weights);
    husk__key_tensor(key, &own->tensors.output);
    husk__key_tensor(key, own->tensors.has_scale ? &own->tensors.scale : NULL);
    husk__key_tensor(key, own->tensors.has_bias ? &own->tensors.bias : NULL);
    husk__key_i64(key, own->tensors.is_packed);
    husk__key_i64(key, own->groups);
    for (int d = 0; d < 3; ++d) {
        husk__key_i64(key, own->stride[d]);
        husk__key_i64(key, own->pad[d]);
        husk__key_i64(key, own->pad_end[d]);
        husk__key_i64(key, own->dilation[d]);
    }
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s %s %s", husk_dtype_name(own->tensors.input.dtype),
                      husk_dtype_name(own->tensors.output.dtype), own->x_strides[1] == 1 ? "nhwc" : "nchw",
                      own->tensors.is_packed ? "packed" : "plain");
    husk__class_size(text, "groups", own->groups);
    husk__class_size(text, "m", own->products.m);
    husk__class_size(text, "n", own->products.n);
    husk__class_size(text, "k", own->products.k);
}

// A case has one number for both of its dimensions. A step that is never taken is 1 here.
static void write_options(const problem *own, husk__case *c)
{
    static const char *const names[] = {"depth", "height", "width"};
    const int64_t *stride = own->stride, *pad = own->pad, *dilation = own->dilation;
    const bool has_depth = own->tensors.input.rank == 5;
    int64_t most = 0;
    bool is_plain = !has_depth && pad[1] == pad[2] &&
                    (stride[1] == stride[2] || own->out[1] == 1 || own->out[2] == 1) &&
                    (dilation[1] == dilation[2] || own->filter[1] == 1 || own->filter[2] == 1);
    husk__case_integer(c, "stride", husk__max_i64(stride[1], stride[2]), 1);
    for (int d = 1; d < 3; ++d)
        most = husk__max_i64(most, husk__max_i64(pad[d], own->pad_end[d]));
    husk__case_integer(c, "pad", most, 0);
    husk__case_integer(c, "dilation", husk__max_i64(dilation[1], dilation[2]), 1);
    for (int d = 0; d < 3; ++d)
        is_plain = is_plain && pad[d] == own->pad_end[d];
    for (int d = has_depth ? 0 : 1; d < 3 && !is_plain; ++d)
        husk__case_note(c, "%s %lld: filter %lld stride %lld pad %lld:%lld dilation %lld", names[d],
                        (long long)own->in[d], (long long)own->filter[d], (long long)stride[d], (long long)pad[d],
                        (long long)own->pad_end[d], (long long)dilation[d]);
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const problem *own = untyped;
    const arguments *given = untyped_run;
    const bool is_packed = own->tensors.is_packed || (given && given->weights->packed);
    husk__case_begin(c, "quantized_conv");
    husk__case_integer(c, "n", own->batch, 1);
    husk__case_size(c, "c", own->tensors.input.shape[1]);
    husk__case_size(c, "h", own->in[1]);
    husk__case_size(c, "w", own->in[2]);
    husk__case_size(c, "k", own->tensors.weights.shape[0]);
    husk__case_size(c, "r", own->filter[1]);
    husk__case_size(c, "s", own->filter[2]);
    write_options(own, c);
    husk__case_integer(c, "groups", own->groups, 1);
    husk__case_word(c, "y", husk_dtype_name(own->tensors.output.dtype == HUSK_U8 ? HUSK_I8 : own->tensors.output.dtype),
                    "f32");
    husk__case_integer(c, "u8", own->tensors.input.dtype == HUSK_U8, 0);
    husk__case_integer(c, "bias", own->tensors.has_bias, 0);
    husk__case_act(c, (husk_act)own->products.activation, own->products.slope);
    husk__case_layout(c, "x", &own->tensors.input, "y", &own->tensors.output);
    husk__case_integer(c, "packed", is_packed, 0);
    if (!is_packed)
        husk__case_tensor(c, "w", &own->tensors.weights);
    if (own->tensors.output.dtype == HUSK_U8)
        husk__case_note(c, "y is u8");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__quantized_conv_implicit_gemm, &husk__quantized_conv_depthwise,
                                                &husk__quantized_conv_grid, NULL};

const husk__op husk__op_quantized_conv = {
    .name = "quantized_conv",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
    .packed_argument = "w",
    .describe_packed = husk__quantized_conv_describe_packed,
};

// ---- validation and resolution ----

// Sizes and options are a convolution's: as its shapes alone say, whatever the elements are.
static husk_status check_shapes(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                const husk_tensor *y, const husk__scope *scope)
{
    int64_t shape[HUSK_MAX_RANK];
    husk_conv_params options = *params;
    options.variant = NULL;
    options.precision = HUSK_PRECISION_HIGHEST;
    husk_tensor image = {.rank = x->rank}, filters = {.rank = w->rank};
    memcpy(image.shape, x->shape, sizeof image.shape);
    memcpy(filters.shape, w->shape, sizeof filters.shape);
    const husk_status status = husk_conv_output_shape(&options, &image, &filters, shape, scope->error);
    if (status != HUSK_OK) {
        husk__name_outer(scope);
        return status;
    }
    return husk__tensor_check_shape(y, "y", x->rank, shape, "see husk_conv_output_shape", scope);
}

static void set_space(const husk_conv_params *params, problem *own)
{
    const int32_t space = own->tensors.input.rank - 2;
    for (int32_t i = 0; i < 3; ++i) {
        const int32_t d = i - (3 - space);
        own->in[i] = own->out[i] = own->filter[i] = own->stride[i] = own->dilation[i] = 1;
        if (d < 0)
            continue;
        own->in[i] = own->tensors.input.shape[2 + d];
        own->out[i] = own->tensors.output.shape[2 + d];
        own->filter[i] = own->tensors.weights.shape[2 + d];
        // A step that is never taken is 1: products with it stay numbers.
        own->stride[i] = params->stride[d] && own->out[i] > 1 ? params->stride[d] : 1;
        own->dilation[i] = params->dilation[d] && own->filter[i] > 1 ? params->dilation[d] : 1;
        own->pad[i] = params->pad[d];
        own->pad_end[i] = params->pad[d] + params->pad_end_extra[d]; // the shape of y was checked with it
    }
}

// What the kernels count with int, as husk_conv's do; and bytes of an image that is laid out with its padding.
static husk_status check_sizes(const problem *own, const husk__scope *scope)
{
    const int64_t most = INT32_MAX / 4;
    int64_t largest =
        husk__max_i64(own->batch, husk__max_i64(own->tensors.input.shape[1], own->tensors.weights.shape[0]));
    int64_t positions = 1, depth = own->channels, bytes = own->tensors.input.shape[1];
    bool fits = husk__mul_i64(bytes, husk__max_i64(own->batch, 1), &bytes); // a batch of 0 has images' sizes, too
    for (int d = 0; d < 3; ++d) {
        const int64_t numbers[] = {own->in[d],  own->out[d],     own->filter[d],  own->stride[d],
                                   own->pad[d], own->pad_end[d], own->dilation[d]};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i)
            largest = husk__max_i64(largest, numbers[i]);
        if (largest > most)
            return husk__fail(scope, HUSK_UNSUPPORTED, "a size or option of %lld; convolution counts up to %lld",
                              (long long)largest, (long long)most);
        fits = fits && husk__mul_i64(positions, own->out[d], &positions) && positions <= INT32_MAX &&
               husk__mul_i64(depth, own->filter[d], &depth) && depth <= INT32_MAX &&
               husk__mul_i64(bytes, own->in[d] + own->pad[d] + own->pad_end[d], &bytes) && bytes <= INT64_MAX / 4;
    }
    // Of the elements under all windows a copy is made, which neither an expanded x or w nor a small y bounds.
    const int64_t windows[] = {own->batch,     own->tensors.input.shape[1],
                               own->out[0],    own->out[1],
                               own->out[2],    own->filter[0],
                               own->filter[1], own->filter[2]};
    if (fits && !husk__product_fits(windows, 8, INT64_C(1) << 50))
        return husk__fail(scope, HUSK_UNSUPPORTED, "more than 2^50 elements of x under all windows of w");
    if (fits)
        return HUSK_OK;
    return husk__fail(scope, HUSK_UNSUPPORTED,
                      "more than 2^31 positions in an image of y or elements in a filter, or 2^61 of x with padding");
}

// Rows are outputs' positions; k counts the filter's depth, height, width and, fastest, channels.
static void set_products(problem *own)
{
    husk__products *p = &own->products;
    const int64_t all = own->groups * own->channels;
    own->is_direct = own->x_strides[1] == 1 || own->channels * own->groups == 1;
    int64_t step[4] = {own->x_strides[0], own->x_strides[2], own->x_strides[3], own->x_strides[4]};
    for (int d = 0; d < 3; ++d)
        own->is_direct = own->is_direct && own->pad[d] == 0 && own->pad_end[d] == 0;
    if (!own->is_direct)
        husk__quantized_conv_laid_out_steps(own, step);
    p->groups = own->groups;
    p->b_groups = own->groups;
    p->m = own->batch * own->out[0] * own->out[1] * own->out[2];
    p->n = own->filters;
    p->k = own->channels * own->filter[0] * own->filter[1] * own->filter[2];
    p->a[0] = step[0];
    p->a_group = own->channels;
    for (int d = 0; d < 3; ++d) {
        p->rows[d] = husk__max_i64(own->out[d], 1);
        p->a[1 + d] = own->stride[d] * step[1 + d];
        p->steps[d] = p->b_steps[d] = own->filter[d];
        p->strides[d] = own->dilation[d] * step[1 + d];
    }
    p->run = p->b_steps[3] = own->channels;
    if (own->groups == 1 && own->dilation[2] == 1 && step[3] == all) { // elements side by side are one run
        p->run *= own->filter[2];
        p->steps[2] = 1;
    }
    husk__quantized_conv_set_weights(p, own->w_strides, own->filters);
    const int64_t *y = own->y_strides;
    p->c[0] = y[0];
    p->c[1] = y[2];
    p->c[2] = y[3];
    p->c[3] = y[4];
    p->c_column = own->groups * own->filters > 1 ? y[1] : 1;
    p->c_group = own->filters * y[1];
    p->column_step = own->filters;
    p->a_dtype = own->tensors.input.dtype;
    p->c_dtype = own->tensors.output.dtype;
}

static bool is_empty(const void *untyped)
{
    const problem *own = untyped;
    return own->products.m == 0 || own->products.n == 0;
}

static husk_status pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w, husk_packed **packed,
                        const husk__scope *scope)
{
    if (plan->variant == &husk__quantized_conv_implicit_gemm)
        return husk__quantized_conv_pack(plan, queue, w, packed, scope);
    if (plan->variant == &husk__quantized_conv_depthwise)
        return husk__quantized_conv_depthwise_pack(plan, queue, w, packed, scope);
    return husk__fail(scope, HUSK_UNSUPPORTED, "w: variant %s takes it as it is", plan->variant->name);
}

static const husk__quantized_calls calls = {.op = &husk__op_quantized_conv,
                                            .input = "x",
                                            .weights = "w",
                                            .scale = "w_scale",
                                            .output = "y",
                                            .input_quantization = "x_quantization",
                                            .output_quantization = "y_quantization",
                                            .is_empty = is_empty,
                                            .pack = pack};

// Every argument but memory and the values of a run.
static husk_status resolve(const husk_quantized_conv_params *params, const husk__quantized_arguments *call,
                           problem *own, husk__preference *preference, const husk__scope *scope)
{
    const husk_tensor *x = call->input, *w = call->weights, *y = call->output;
    husk_conv_params given;
    memset(own, 0, sizeof *own);
    husk_status status = husk__params_read(&given, sizeof given, "HUSK_QUANTIZED_CONV_PARAMS", params, scope);
    if (status == HUSK_OK)
        status = husk__products_check_byte(x, "x", scope);
    if (status == HUSK_OK)
        status = husk__quantized_check_weights(&calls, w, scope);
    if (status == HUSK_OK)
        status = husk__products_check_output(y, "y", scope);
    if (status == HUSK_OK)
        status = check_shapes(&given, x, w, y, scope);
    if (status == HUSK_OK)
        status =
            husk__products_check_activation(given.activation, given.activation_slope, y->dtype, &own->products, scope);
    if (status == HUSK_OK)
        status = husk__products_check_channels(call->scale, "w_scale", call->bias, y, "y", w->shape[0], &own->products,
                                               scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status != HUSK_OK)
        return status;
    husk__quantized_keep(call, &own->tensors);
    own->batch = x->shape[0];
    own->groups = given.groups ? given.groups : 1;
    own->channels = w->shape[1];
    own->filters = w->shape[0] / own->groups;
    set_space(&given, own);
    status = check_sizes(own, scope);
    if (status != HUSK_OK)
        return status;
    husk__quantized_conv_strides(x, own->x_strides);
    husk__quantized_conv_strides(w, own->w_strides);
    husk__quantized_conv_strides(y, own->y_strides);
    set_products(own);
    *preference = husk__quantized_preference(given.variant, given.workspace_limit, call, &own->tensors);
    return HUSK_OK;
}

// ---- the calls ----

husk_status husk_quantized_conv(husk_queue *queue, const husk_quantized_conv_params *params, const husk_tensor *x,
                                const husk_quantization *x_quantization, const husk_tensor *w,
                                const husk_tensor *w_scale, const husk_tensor *bias, const husk_tensor *y,
                                const husk_quantization *y_quantization)
{
    const husk__quantized_arguments given = {x, w, w_scale, bias, y, x_quantization, y_quantization};
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk_status status = husk__call_begin(queue, "husk_quantized_conv", &scope);
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    return status == HUSK_OK ? husk__quantized_call(queue, &calls, &own, &preference, &given, &scope) : status;
}

husk_status husk_quantized_conv_plan_create(husk_context *context, const husk_quantized_conv_params *params,
                                            const husk_tensor *x, const husk_tensor *w, const husk_tensor *w_scale,
                                            const husk_tensor *bias, const husk_tensor *y, husk_plan **plan,
                                            husk_error *error)
{
    const husk__quantized_arguments given = {x, w, w_scale, bias, y, NULL, NULL};
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk_status status = husk__context_call_begin(context, "husk_quantized_conv_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (plan)
        *plan = NULL;
    if (status == HUSK_OK)
        status = resolve(params, &given, &own, &preference, &scope);
    if (status != HUSK_OK)
        return status;
    return husk__packed_plan_create(context, calls.op, &own, &preference, w->packed, plan, &scope);
}

husk_status husk_quantized_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x,
                                         const husk_quantization *x_quantization, const husk_tensor *w,
                                         const husk_tensor *w_scale, const husk_tensor *bias, const husk_tensor *y,
                                         const husk_quantization *y_quantization)
{
    const husk__quantized_arguments given = {x, w, w_scale, bias, y, x_quantization, y_quantization};
    husk__scope scope;
    const husk_status status = husk__call_begin(queue, "husk_quantized_conv_plan_run", &scope);
    return status == HUSK_OK ? husk__quantized_plan_run(plan, queue, &calls, &given, &scope) : status;
}

husk_status husk_quantized_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                          husk_packed **packed)
{
    husk__scope scope;
    if (packed)
        *packed = NULL;
    const husk_status status = husk__call_begin(queue, "husk_quantized_conv_plan_pack", &scope);
    return status == HUSK_OK ? husk__quantized_plan_pack(plan, queue, &calls, w, packed, &scope) : status;
}

// A small image with channels last, by a filter of 3 x 3, to floats.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t x_shape[] = {1, 16, 8, 8}, w_shape[] = {16, 16, 3, 3}, one[] = {1};
    husk_buffer *buffer = NULL;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 16384, &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1});
    const husk_tensor x = husk_tensor_make_channels_last(buffer, HUSK_I8, 4, x_shape);
    husk_tensor w = husk_tensor_make(buffer, HUSK_I8, 4, w_shape), scale = husk_tensor_make(buffer, HUSK_F32, 1, one);
    husk_tensor y = husk_tensor_make_channels_last(buffer, HUSK_F32, 4, x_shape);
    w.offset = 1024;
    scale.offset = 1024;
    y.offset = 2048;
    status = husk_quantized_conv(queue, &params, &x, NULL, &w, &scale, NULL, &y, NULL);
    if (status != HUSK_OK && scope->error->status == HUSK_OK)
        *scope->error = *husk_queue_error(queue);
    husk_buffer_release(buffer);
    return status;
}
