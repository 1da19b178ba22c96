// SPDX-License-Identifier: MIT
// The gradients of convolution by its weights and bias: the public call. It validates, resolves the problem of the
// forward convolution (problem.c), and lets the library choose a variant (backward_weights_<variant>.c).
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/backward_problem.h"

static const husk__variant *const VARIANTS[] = {
    &husk__conv_backward_weights_panels, &husk__conv_backward_weights_depthwise, &husk__conv_backward_weights_winograd,
    &husk__conv_backward_weights_tiled,  &husk__conv_backward_weights_matrix,    NULL,
};

static void write_case(const void *problem, const void *given, husk__case *c)
{
    (void)given;
    husk__conv_write_case(problem, "bwd_weight", false, c);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

const husk__op husk__op_conv_backward_weights = {
    .name = "conv_backward_weights",
    .problem_size = sizeof(husk__conv_problem),
    .variants = VARIANTS,
    .describe = husk__conv_describe,
    .prewarm = prewarm,
    .classify = husk__conv_classify,
    .write_case = write_case,
};

static const husk__conv_names NAMES = {"x", "dw", "dbias", "dy", false, HUSK__CONV_W, false, NULL};

// The shape of weights of which only the filters count, for a call that wants dbias alone.
static husk_tensor no_weights(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *dy)
{
    husk_tensor w = {.dtype = dy->dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32, .rank = x->rank};
    const int64_t groups = params->groups > 0 ? params->groups : 1;
    w.shape[0] = dy->shape[1];
    w.shape[1] = x->shape[1] / groups;
    for (int32_t d = 2; d < x->rank; ++d)
        w.shape[d] = 1;
    return w;
}

// Without dw the filter is not known, and dy's shape only as far as forward's x and dy agree in.
static husk_status resolve_bias_alone(const husk_conv_params *params,
                                      const husk__conv_backward_weights_arguments *arguments,
                                      husk__conv_problem *problem, const husk__scope *scope)
{
    const husk_tensor *x = arguments->x, *dy = arguments->dy;
    if (x->rank < 3 || x->rank > 2 + HUSK_MAX_SPACE)
        return husk__reject(scope, "x", "has rank %d; it must be 3, 4 or 5", x->rank);
    if (dy->rank != x->rank || dy->shape[0] != x->shape[0])
        return husk__reject(scope, "dy", "must have x's rank and as many images");
    // A convolution of 1x1 filters with dy's space stands for it.
    husk_conv_params plain = {.size = sizeof plain, .groups = params->groups};
    husk_tensor like_x = *dy;
    like_x.shape[1] = x->shape[1];
    memset(like_x.strides, 0, sizeof like_x.strides);
    const husk_tensor w = no_weights(params, &like_x, dy);
    return husk__conv_resolve(&plain, &like_x, &w, arguments->dbias, dy, &NAMES, problem, scope);
}

static husk_status resolve(const husk_conv_params *params, const husk__conv_backward_weights_arguments *arguments,
                           husk__conv_problem *problem, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_number(arguments->x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_number(arguments->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_dtype(arguments->x, "x", arguments->dy->dtype, "as dy", scope);
    if (status == HUSK_OK && !arguments->dw && !arguments->dbias)
        status = husk__reject(scope, "dw", "and dbias are NULL: no gradient is wanted");
    if (status == HUSK_OK && arguments->dw)
        status = husk__conv_resolve(params, arguments->x, arguments->dw, arguments->dbias, arguments->dy, &NAMES,
                                    problem, scope);
    else if (status == HUSK_OK)
        status = resolve_bias_alone(params, arguments, problem, scope);
    if (status == HUSK_OK && arguments->dw)
        status = husk__tensor_check_distinct(arguments->dw, "dw", scope);
    if (status == HUSK_OK && arguments->dbias)
        status = husk__tensor_check_distinct(arguments->dbias, "dbias", scope);
    return status;
}

static husk_status bind(husk_queue *queue, const husk__conv_backward_weights_arguments *arguments,
                        const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, arguments->x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, arguments->dy, "dy", scope);
    if (status == HUSK_OK && arguments->dw)
        status = husk__tensor_bind(queue, arguments->dw, "dw", scope);
    if (status == HUSK_OK && arguments->dbias)
        status = husk__tensor_bind(queue, arguments->dbias, "dbias", scope);
    const husk_tensor *const outputs[] = {arguments->dw, arguments->dbias};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i)
        if (outputs[i]) {
            status = husk__refuse_overlap(outputs[i], i ? "dbias" : "dw", arguments->x, "x", scope);
            if (status == HUSK_OK)
                status = husk__refuse_overlap(outputs[i], i ? "dbias" : "dw", arguments->dy, "dy", scope);
        }
    if (status == HUSK_OK && arguments->dw)
        status = husk__refuse_overlap(arguments->dw, "dw", arguments->dbias, "dbias", scope);
    return status;
}

static husk_status call(husk_queue *queue, const husk_conv_params *params,
                        const husk__conv_backward_weights_arguments *given, const husk__scope *scope)
{
    husk__conv_backward_weights_arguments arguments = *given;
    husk__conv_problem problem;
    husk_status status = resolve(params, &arguments, &problem, scope);
    if (status == HUSK_OK)
        status = husk__conv_check_device(husk_queue_context(queue), &problem, "x", scope);
    if (status == HUSK_OK)
        status = bind(queue, &arguments, scope);
    if (status != HUSK_OK)
        return status;
    if (arguments.dw && husk__tensor_count(arguments.dw) == 0)
        arguments.dw = NULL;
    if (arguments.dbias && husk__tensor_count(arguments.dbias) == 0)
        arguments.dbias = NULL;
    if (!arguments.dw && !arguments.dbias)
        return HUSK_OK;
    problem.accumulates = (params->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0;
    problem.is_bias_alone = !arguments.dw;
    const husk_tensor *const tensors[] = {arguments.x, arguments.dy, arguments.dw, arguments.dbias};
    const husk__preference preference = husk__preference_of(params->variant, params->workspace_limit, tensors, 4);
    return husk__plan_immediate(queue, &husk__op_conv_backward_weights, &problem, &preference, &arguments, scope);
}

husk_status husk_conv_backward_weights(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x,
                                       const husk_tensor *dy, const husk_tensor *dw, const husk_tensor *dbias)
{
    husk__scope scope;
    husk_conv_params whole;
    husk_status status = husk__call_begin(queue, "husk_conv_backward_weights", &scope);
    if (status == HUSK_OK)
        status = husk__conv_read_params(params, &whole, &scope);
    if (status == HUSK_OK)
        status = husk__conv_check_gradient(&whole, &scope);
    const husk__conv_backward_weights_arguments arguments = {x, dy, dw, dbias};
    return status == HUSK_OK ? call(queue, &whole, &arguments, &scope) : status;
}

// ---- prewarming ----

// A small call with bias: full, and depthwise.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { X = 16 * 8 * 8, W = 16 * 16 * 9, B = 16 };
    husk_buffer *buffer;
    husk_error error = {0};
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), sizeof(float) * (2 * X + W + B), &buffer, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "%s", error.text);
    const float one = 1.0f;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){1, 16, 8, 8});
    husk_tensor dy = x, dbias = husk_tensor_make(buffer, HUSK_F32, 1, (int64_t[]){16});
    dy.offset = X;
    dbias.offset = 2 * X;
    status = husk_buffer_fill(queue, buffer, 0, sizeof one * (2 * X + W + B), &one, sizeof one);
    for (int64_t groups = 1; groups <= 16 && status == HUSK_OK; groups += 15) {
        const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1}, .groups = groups);
        husk_tensor dw = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){16, 16 / groups, 3, 3});
        dw.offset = 2 * X + B;
        const husk__conv_backward_weights_arguments arguments = {&x, &dy, &dw, &dbias};
        status = call(queue, &params, &arguments, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
