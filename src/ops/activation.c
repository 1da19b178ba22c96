// SPDX-License-Identifier: MIT
// Activations alone: validate -> resolve -> choose -> launch. Kernels: cl/activation_*.cl.
//
// This is the smallest operator of the house; docs/adding-an-operator.md walks through it.
#include <husk/ops/activation.h>

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "runtime/strided.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem: every option resolved, every shape and stride, no buffer ----

typedef struct problem {
    husk__epilogue activation;
    husk_tensor x, y;
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->activation.activation);
    husk__key_f32(key, own->activation.slope);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const husk__strided shape = husk__strided_make(&own->x, &own->y, -1);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->x.dtype), husk_act_name(own->activation.activation),
                      shape.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__strided_count(&shape));
}

// What a run is given beside the plan.
typedef struct arguments {
    const husk_tensor *x, *y;
} arguments;

// ---- what the two variants share ----

// A variant's state: everything a launch needs but the buffers.
typedef struct launch {
    const husk__kernel *kernel;
    husk__strided outer; // the dimensions above the row
    husk__strided_dimension row;
    int64_t total; // elements
    int64_t share; // vector: elements a work-group takes
    bool streams;  // vector: x and y are more than the caches hold
    husk__range range;
} launch;

// The launch without its range; the kernel's program is built here.
static husk_status prepare_launch(husk_plan *plan, const char *file, const char *kernel, bool has_index,
                                  launch **made, const husk__scope *scope)
{
    const problem *own = plan->problem;
    launch *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state; // freed with the plan
    state->outer = husk__strided_make(&own->x, &own->y, -1);
    const bool needs_index_64 =
        has_index && husk__needs_index_64(plan->context, husk__strided_reach(&state->outer));
    state->row = husk__strided_take_last(&state->outer);
    state->total = state->row.extent * husk__strided_count(&state->outer);

    char options[128];
    snprintf(options, sizeof options, "%s %s%s%s", husk__dtype_option(own->x.dtype), plan->configuration->options,
             own->activation.is_smooth ? " -DACT_SMOOTH" : "", needs_index_64 ? " -DINDEX_64" : "");
    *made = state;
    return husk__kernel_get(plan->context, file, options, kernel, &state->kernel, scope);
}

// What has just been read is in the caches anyway.
static bool is_in_place(const arguments *given)
{
    return given->x->buffer == given->y->buffer;
}

static husk_status run_launch(const husk_plan *plan, husk_queue *queue, const arguments *given,
                              bool has_share, const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    husk__arg list[2 + HUSK__STRIDED_ARGS + 10];
    husk__arg *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__strided_write_args(&own->outer, end);
    *end++ = HUSK__ARG_I64(own->row.extent);
    *end++ = HUSK__ARG_I64(own->row.x_stride);
    *end++ = HUSK__ARG_I64(own->row.y_stride);
    *end++ = HUSK__ARG_I64(own->total);
    if (has_share) {
        *end++ = HUSK__ARG_I64(own->share);
        *end++ = HUSK__ARG_I32(own->streams && !is_in_place(given));
    }
    *end++ = HUSK__ARG_I32(what->activation.activation);
    *end++ = HUSK__ARG_F32(what->activation.low);
    *end++ = HUSK__ARG_F32(what->activation.slope);
    *end++ = HUSK__ARG_F32(what->activation.high);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements (waking a thread takes as long as 100,000 that are only
// clamped), and several a core even out the cores' speeds.
enum { VECTOR_MINIMUM = 131072, VECTOR_MINIMUM_SMOOTH = 16384, VECTOR_GROUPS_PER_UNIT = 4, VECTOR_MULTIPLE = 64 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    launch *own;
    husk_status status =
        prepare_launch(plan, "activation_vector.cl", "husk_activation_vector", false, &own, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t units = husk_context_traits(plan->context)->compute_units;
    const int64_t share = husk__divide_up(own->total, VECTOR_GROUPS_PER_UNIT * units);
    const problem *what = plan->problem;
    const int64_t minimum = what->activation.is_smooth ? VECTOR_MINIMUM_SMOOTH : VECTOR_MINIMUM;
    own->share = husk__round_up(husk__max_i64(share, minimum), VECTOR_MULTIPLE);
    const size_t groups = (size_t)husk__divide_up(own->total, own->share);
    own->range = (husk__range){{groups, 1, 1}, {1, 1, 1}};
    const uint64_t bytes = 2 * husk_dtype_size(what->x.dtype) * (uint64_t)own->total;
    const uint64_t cache = husk_context_traits(plan->context)->global_cache;
    own->streams = cache > 0 && bytes > cache;
    return HUSK_OK;
}

static husk_status run_vector(const husk_plan *plan, husk_queue *queue, const void *given,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    (void)scratch;
    return run_launch(plan, queue, given, true, scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .prepare = prepare_vector,
    .run = run_vector,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    launch *own;
    husk_status status =
        prepare_launch(plan, "activation_grid.cl", "husk_activation_grid", true, &own, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t items = plan->configuration->values[0];
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    const size_t groups = (size_t)husk__min_i64(husk__divide_up(own->total, items), most);
    own->range = (husk__range){{groups, 1, 1}, {(size_t)items, 1, 1}};
    return HUSK_OK;
}

static husk_status run_grid(const husk_plan *plan, husk_queue *queue, const void *given,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    (void)scratch;
    return run_launch(plan, queue, given, false, scope);
}

static const husk__variant grid = {
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__grid_supports,
    .cost = husk__grid_cost,
    .prepare = prepare_grid,
    .run = run_grid,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_activation = {
    .name = "activation",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

const char *husk_act_name(husk_act act)
{
    switch (act) {
#define NAME(name, number, text) \
    case HUSK_ACT_##name:        \
        return text;
        HUSK_ACT_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status validate(husk_queue *queue, const husk_activation_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = husk__epilogue_check(params->activation, params->slope, "slope", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, x->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", x->rank, x->shape, "as x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", x, "x", scope);
    return status;
}

static problem resolve(const husk_activation_params *params, const husk_tensor *x, const husk_tensor *y)
{
    problem own = {.activation = husk__epilogue_resolve(params->activation, params->slope), .x = *x, .y = *y};
    husk__tensor_resolve(&own.x);
    husk__tensor_resolve(&own.y);
    own.x.buffer = own.y.buffer = NULL;
    own.x.offset = own.y.offset = 0;
    return own;
}

husk_status husk_activation(husk_queue *queue, const husk_activation_params *params, const husk_tensor *x,
                            const husk_tensor *y)
{
    husk__scope scope;
    husk_activation_params given;
    husk_status status = husk__call_begin(queue, "husk_activation", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, offsetof(husk_activation_params, accumulate), params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &scope);
    if (status != HUSK_OK)
        return status;

    const problem own = resolve(&given, x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__wish wish = {given.variant, husk__workspace_limit(0, given.variant, operands, 2)};
    const arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_activation, &own, &wish, &tensors, &scope);
}

// Both programs of the device's variant, on one vector of numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_context *context = husk_queue_context(queue);
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(context, 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_act activations[] = {HUSK_ACT_RELU, HUSK_ACT_GELU};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = activations[i]);
        const problem own = resolve(&params, &x, &x);
        const husk__wish wish = {0};
        const arguments tensors = {&x, &x};
        status = husk__plan_immediate(queue, &husk__op_activation, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
