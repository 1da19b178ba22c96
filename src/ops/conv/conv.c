// SPDX-License-Identifier: MIT
// Convolution: the public calls. Each validates, resolves the problem (problem.c), lets the library choose a
// variant (<variant>.c), and enqueues.
#include <husk/ops/conv.h>

#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/problem.h"

static const husk__conv_names NAMES = {"x", "w", "bias", "y", true, HUSK__CONV_Y, false, &husk__op_conv};

// The user's word; packed weights ask for the variant that they were packed for.
static husk__preference make_preference(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                        const husk_tensor *bias, const husk_tensor *y)
{
    const husk_tensor *const tensors[] = {x, w, bias, y};
    husk__preference preference = husk__preference_of(params->variant, params->workspace_limit, tensors, 4);
    husk__preference_of_packed(&preference, w->packed);
    return preference;
}

static bool is_empty(const husk_tensor *y)
{
    return husk__tensor_count(y) == 0;
}

// Memory behind the tensors of a run, and no output in the way of an input.
static husk_status bind(husk_queue *queue, const husk__conv_arguments *arguments, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, arguments->x, "x", scope);
    if (status == HUSK_OK && !arguments->w->packed)
        status = husk__tensor_bind(queue, arguments->w, "w", scope);
    if (status == HUSK_OK && arguments->bias)
        status = husk__tensor_bind(queue, arguments->bias, "bias", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, arguments->y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(arguments->y, "y", arguments->x, "x", scope);
    if (status == HUSK_OK && !arguments->w->packed)
        status = husk__refuse_overlap(arguments->y, "y", arguments->w, "w", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(arguments->y, "y", arguments->bias, "bias", scope);
    return status;
}

husk_status husk_conv(husk_queue *queue, const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                      const husk_tensor *bias, const husk_tensor *y)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_conv", &scope);
    if (status != HUSK_OK)
        return status;
    husk_conv_params whole;
    husk__conv_problem problem;
    status = husk__conv_read_params(params, &whole, &scope);
    if (status == HUSK_OK)
        status = husk__conv_resolve(&whole, x, w, bias, y, &NAMES, &problem, &scope);
    if (status == HUSK_OK)
        status = husk__conv_check_device(husk_queue_context(queue), &problem, "x", &scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_arguments arguments = {x, w, bias, y};
    status = bind(queue, &arguments, &scope);
    if (status != HUSK_OK || is_empty(y))
        return status;
    problem.packs_every_call = !w->packed;
    const husk__preference preference = make_preference(&whole, x, w, bias, y);
    return husk__plan_immediate(queue, &husk__op_conv, &problem, &preference, &arguments, &scope);
}

husk_status husk_conv_output_shape(const husk_conv_params *params, const husk_tensor *x, const husk_tensor *w,
                                   int64_t shape[HUSK_MAX_RANK], husk_error *error)
{
    const husk__scope scope = {"husk_conv_output_shape", error};
    husk_conv_params whole;
    husk__conv_problem problem;
    int64_t found[HUSK_MAX_RANK];
    if (!shape)
        return husk__reject(&scope, "shape", "is NULL");
    husk_status status = husk__conv_read_params(params, &whole, &scope);
    if (status == HUSK_OK)
        status = husk__conv_resolve_shape(&whole, x, w, &NAMES, &problem, found, &scope);
    if (status == HUSK_OK)
        memcpy(shape, found, (size_t)x->rank * sizeof *shape);
    return status;
}

husk_status husk_conv_plan_create(husk_context *context, const husk_conv_params *params, const husk_tensor *x,
                                  const husk_tensor *w, const husk_tensor *bias, const husk_tensor *y, husk_plan **plan,
                                  husk_error *error)
{
    husk__scope scope;
    if (plan)
        *plan = NULL;
    husk_status status = husk__context_call_begin(context, "husk_conv_plan_create", error, &scope);
    if (status != HUSK_OK)
        return status;
    if (!plan)
        return husk__reject(&scope, "plan", "is NULL");
    husk_conv_params whole;
    husk__conv_problem problem;
    status = husk__conv_read_params(params, &whole, &scope);
    if (status == HUSK_OK)
        status = husk__conv_resolve(&whole, x, w, bias, y, &NAMES, &problem, &scope);
    if (status == HUSK_OK)
        status = husk__conv_check_device(context, &problem, "x", &scope);
    if (status != HUSK_OK)
        return status;
    const husk__preference preference = make_preference(&whole, x, w, bias, y);
    // Whether weights come packed is every run's own affair: room for packing them stays.
    problem.has_packed_weights = false;
    return husk__packed_plan_create(context, &husk__op_conv, &problem, &preference, w->packed, plan, &scope);
}

husk_status husk_conv_plan_run(husk_plan *plan, husk_queue *queue, const husk_tensor *x, const husk_tensor *w,
                               const husk_tensor *bias, const husk_tensor *y)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_conv_plan_run", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_conv, queue, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_problem *problem = plan->problem;
    status = husk__packed_check_other(plan, &problem->x, true, x, "x", &scope);
    if (status == HUSK_OK)
        status = husk__packed_check_weights(plan, &problem->w, false, w, &scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &problem->bias, problem->has_bias, bias, "bias", &scope);
    if (status == HUSK_OK)
        status = husk__packed_check_other(plan, &problem->y, true, y, "y", &scope);
    const husk__conv_arguments arguments = {x, w, bias, y};
    if (status == HUSK_OK)
        status = bind(queue, &arguments, &scope);
    if (status != HUSK_OK || is_empty(y))
        return status;
    return husk__plan_execute(plan, queue, &arguments, &scope);
}

husk_status husk_conv_plan_pack(husk_plan *plan, husk_queue *queue, const husk_tensor *w, husk_packed **packed)
{
    husk__scope scope;
    if (packed)
        *packed = NULL;
    husk_status status = husk__call_begin(queue, "husk_conv_plan_pack", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_conv, queue, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_problem *problem = plan->problem;
    status = husk__packed_begin(plan, queue, &problem->w, false, w, packed, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_state *state = plan->state;
    husk_packed *made;
    const uint64_t bytes = husk__accumulator_size(problem->dtype) * (uint64_t)husk__max_i64(1, state->packed_count);
    status = husk__packed_create(plan, bytes, &problem->w, &made, &scope);
    if (status == HUSK_OK && state->packed_count > 0) {
        status = husk__conv_pack(plan, queue, w, made->buffer, &scope);
        if (status != HUSK_OK)
            husk_packed_release(made);
    }
    if (status == HUSK_OK)
        *packed = made;
    return status;
}

// ---- prewarming ----

// One small call of a variant: the drivers that compile at the first launch compile now.
static husk_status warm(husk_queue *queue, husk_buffer *buffer, const char *variant, int64_t groups,
                        const husk__scope *scope)
{
    const husk_conv_params params = HUSK_CONV_PARAMS(.pad = {1, 1}, .groups = groups, .variant = variant);
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){1, 16, 8, 8});
    husk_tensor w = husk_tensor_make(buffer, HUSK_F32, 4, (int64_t[]){16, 16 / groups, 3, 3});
    husk_tensor y = x;
    w.offset = 16 * 8 * 8;
    y.offset = w.offset + 16 * 16 * 9;
    husk__conv_problem problem;
    husk_status status = husk__conv_resolve(&params, &x, &w, NULL, &y, &NAMES, &problem, scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_arguments arguments = {&x, &w, NULL, &y};
    const husk__preference preference = make_preference(&params, &x, &w, NULL, &y);
    return husk__plan_immediate(queue, &husk__op_conv, &problem, &preference, &arguments, scope);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    static const struct {
        husk__family family;
        const husk__variant *variant;
        int64_t groups;
    } usual[] = {
        {HUSK__FAMILY_CPU, &husk__conv_implicit_gemm, 1},
        {HUSK__FAMILY_CPU, &husk__conv_winograd_4x4, 1},
        {HUSK__FAMILY_CPU, &husk__conv_direct_filters, 1},
        {HUSK__FAMILY_CPU, &husk__conv_direct_patches, 1},
        {HUSK__FAMILY_CPU, &husk__conv_direct_positions, 1},
        {HUSK__FAMILY_CPU, &husk__conv_depthwise, 16},
        {HUSK__FAMILY_GPU, &husk__conv_tiled, 1},
        {HUSK__FAMILY_GPU, &husk__conv_tiled_depthwise, 16},
    };
    const husk_device_class class = husk_context_traits(husk_queue_context(queue))->device_class;
    const husk__family own =
        class == HUSK_DEVICE_CPU || class == HUSK_DEVICE_SIMULATOR ? HUSK__FAMILY_CPU : HUSK__FAMILY_GPU;
    husk_buffer *buffer;
    husk_error error = {0};
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 4 * (2 * 16 * 64 + 16 * 16 * 9), &buffer, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "%s", error.text);
    const float one = 1.0f;
    status = husk_buffer_fill(queue, buffer, 0, husk_buffer_size(buffer) / sizeof one * sizeof one, &one, sizeof one);
    for (size_t i = 0; i < sizeof usual / sizeof *usual && status == HUSK_OK; ++i)
        if (usual[i].family == own)
            status = warm(queue, buffer, usual[i].variant->name, usual[i].groups, scope);
    husk_buffer_release(buffer);
    return status;
}

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const husk__conv_problem *problem = untyped;
    const husk__conv_arguments *given = untyped_run;
    husk__conv_write_case(problem, "fwd", problem->has_packed_weights || (given && given->w->packed), c);
}

static const husk__variant *const VARIANTS[] = {
    &husk__conv_cpu_matrix,     &husk__conv_implicit_gemm,  &husk__conv_winograd_2x2,     &husk__conv_winograd_4x4,
    &husk__conv_depthwise,      &husk__conv_tiled,          &husk__conv_matrix,           &husk__conv_tiled_depthwise,
    &husk__conv_direct_filters, &husk__conv_direct_patches, &husk__conv_direct_positions, NULL,
};

const husk__op husk__op_conv = {
    .name = "conv",
    .problem_size = sizeof(husk__conv_problem),
    .variants = VARIANTS,
    .describe = husk__conv_describe,
    .prewarm = prewarm,
    .classify = husk__conv_classify,
    .write_case = write_case,
    .packed_argument = "w",
    .describe_packed = husk__conv_describe_packed,
};
