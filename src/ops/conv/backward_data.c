// SPDX-License-Identifier: MIT
// The gradient of convolution by its data, and the transposed convolution, which is the same: the public calls. Each
// validates, resolves the problem of the forward convolution (problem.c), and lets the library choose a variant
// (backward_data_<variant>.c).
#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/backward_problem.h"

static const husk__variant *const VARIANTS[] = {
    &husk__conv_backward_data_phases, &husk__conv_backward_data_depthwise, &husk__conv_backward_data_columns,
    &husk__conv_backward_data_tiled,  &husk__conv_backward_data_matrix,    NULL,
};

static void write_case(const void *problem, const void *given, husk__case *c)
{
    (void)given;
    husk__conv_write_case(problem, "bwd_data", false, c);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

const husk__op husk__op_conv_backward_data = {
    .name = "conv_backward_data",
    .problem_size = sizeof(husk__conv_problem),
    .variants = VARIANTS,
    .describe = husk__conv_describe,
    .prewarm = prewarm,
    .classify = husk__conv_classify,
    .write_case = write_case,
};

// The names under which a call's tensors go: forward's input x is the output of both.
static const husk__conv_names GRADIENT_NAMES = {"dx", "w", NULL, "dy", false, HUSK__CONV_X, false, NULL};
static const husk__conv_names TRANSPOSE_NAMES = {"y", "w", NULL, "x", false, HUSK__CONV_X, true, NULL};

static husk_status resolve(const husk_conv_params *params, const husk__conv_backward_data_arguments *arguments,
                           const husk__conv_names *names, husk__conv_problem *problem, const husk__scope *scope)
{
    // In the order of the arguments, as far as their numbers alone are wrong.
    husk_status status = husk__tensor_check(arguments->w, "w", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check(arguments->dy, names->y, scope);
    if (status == HUSK_OK)
        status = husk__conv_resolve(params, arguments->dx, arguments->w, NULL, arguments->dy, names, problem, scope);
    if (status == HUSK_OK && arguments->bias)
        status = husk__conv_check_bias(arguments->bias, "bias", arguments->dx->shape[1], true, scope);
    if (status == HUSK_OK && arguments->bias)
        status = husk__conv_check_bias_dtype(arguments->bias, "bias", problem->dtype, names->y, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(arguments->dx, names->x, scope);
    if (status == HUSK_OK && arguments->bias) {
        problem->has_bias = true;
        problem->bias = *arguments->bias;
        husk__tensor_bare(&problem->bias);
    }
    return status;
}

static husk_status bind(husk_queue *queue, const husk__conv_backward_data_arguments *arguments,
                        const husk__conv_names *names, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, arguments->w, "w", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, arguments->dy, names->y, scope);
    if (status == HUSK_OK && arguments->bias)
        status = husk__tensor_bind(queue, arguments->bias, "bias", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, arguments->dx, names->x, scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(arguments->dx, names->x, arguments->w, "w", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(arguments->dx, names->x, arguments->dy, names->y, scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(arguments->dx, names->x, arguments->bias, "bias", scope);
    return status;
}

static husk__preference make_preference(const husk_conv_params *params,
                                        const husk__conv_backward_data_arguments *arguments)
{
    const husk_tensor *const tensors[] = {arguments->w, arguments->dy, arguments->bias, arguments->dx};
    return husk__preference_of(params->variant, params->workspace_limit, tensors, 4);
}

static husk_status call(husk_queue *queue, const husk_conv_params *params,
                        const husk__conv_backward_data_arguments *arguments, const husk__conv_names *names,
                        const husk__scope *scope)
{
    husk__conv_problem problem;
    husk_status status = resolve(params, arguments, names, &problem, scope);
    if (status == HUSK_OK)
        status = husk__conv_check_device(husk_queue_context(queue), &problem, names->y, scope);
    if (status == HUSK_OK)
        status = bind(queue, arguments, names, scope);
    if (status != HUSK_OK || husk__tensor_count(arguments->dx) == 0)
        return status;
    problem.accumulates = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    problem.packs_every_call = true;
    const husk__preference preference = make_preference(params, arguments);
    return husk__plan_immediate(queue, &husk__op_conv_backward_data, &problem, &preference, arguments, scope);
}

husk_status husk_conv_backward_data(husk_queue *queue, const husk_conv_params *params, const husk_tensor *w,
                                    const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_conv_params whole;
    husk_status status = husk__call_begin(queue, "husk_conv_backward_data", &scope);
    if (status == HUSK_OK)
        status = husk__conv_read_params(params, &whole, &scope);
    if (status == HUSK_OK)
        status = husk__conv_check_gradient(&whole, &scope);
    if (status == HUSK_OK && !dx)
        status = husk__reject(&scope, "dx", "is NULL, and there is no other gradient");
    const husk__conv_backward_data_arguments arguments = {w, dy, NULL, dx};
    return status == HUSK_OK ? call(queue, &whole, &arguments, &GRADIENT_NAMES, &scope) : status;
}

husk_status husk_conv_transpose(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y)
{
    husk__scope scope;
    husk_conv_params whole;
    husk_status status = husk__call_begin(queue, "husk_conv_transpose", &scope);
    if (status == HUSK_OK)
        status = husk__conv_read_params(params, &whole, &scope);
    if (status != HUSK_OK)
        return status;
    whole.accumulate = 0;
    const husk__conv_backward_data_arguments arguments = {w, x, bias, y};
    return call(queue, &whole, &arguments, &TRANSPOSE_NAMES, &scope);
}

// ---- prewarming ----

// One small call with a stride, whose phases need every kernel.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { X = 16 * 8 * 8, Y = 16 * 4 * 4, W = 16 * 16 * 9 };
    husk_buffer *buffer;
    husk_error error = {0};
    husk_status status = husk_buffer_create(husk_queue_context(queue), sizeof(float) * (X + Y + W), &buffer, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "%s", error.text);
    const float one = 1.0f;
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1}, .stride = {2, 2});
    const husk_tensor dx = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){1, 16, 8, 8});
    husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){1, 16, 4, 4});
    husk_tensor w = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){16, 16, 3, 3});
    dy.offset = X;
    w.offset = X + Y;
    const husk__conv_backward_data_arguments arguments = {&w, &dy, NULL, &dx};
    status = husk_buffer_fill(queue, buffer, 0, sizeof one * (X + Y + W), &one, sizeof one);
    if (status == HUSK_OK)
        status = call(queue, &params, &arguments, &GRADIENT_NAMES, scope);
    husk_buffer_release(buffer);
    return status;
}
