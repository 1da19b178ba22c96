// SPDX-License-Identifier: MIT
// The variants of dropout and of its gradient. Kernels: cl/elementwise/dropout_*.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/tensor.h"
#include "ops/elementwise/dropout_problem.h"
#include "runtime/map.h"
#include "select/grid.h"

enum { ADDS = 1, STREAMS = 2 }; // MAP_ADDS and MAP_STREAMS in cl/lib/map.clh

// The third tensor is the elements' numbers: packed, whatever the others are.
static husk__walk walk_of(const husk__dropout_problem *own)
{
    husk_tensor positions = {.rank = own->y.rank};
    for (int32_t d = 0; d < own->y.rank; ++d)
        positions.shape[d] = own->y.shape[d];
    husk__tensor_resolve(&positions);
    const husk_tensor *const tensors[] = {&own->y, &own->x, &positions, NULL};
    return husk__walk_make(own->y.rank, own->y.shape, tensors, HUSK__WALK_Y);
}

void husk__dropout_describe(const void *untyped, husk__key *key)
{
    const husk__dropout_problem *own = untyped;
    husk__key_i64(key, own->is_gradient);
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

void husk__dropout_classify(const void *untyped, husk__text *text)
{
    const husk__dropout_problem *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %s", husk_dtype_name(own->y.dtype), walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

void husk__dropout_write_case(const void *untyped, const void *arguments, husk__case *c)
{
    const husk__dropout_problem *own = untyped;
    const husk__dropout_arguments *given = arguments;
    int64_t count = 1;
    for (int32_t i = 0; i < own->y.rank; ++i)
        count *= own->y.shape[i];
    husk__case_begin(c, "dropout");
    husk__case_size(c, "count", count);
    if (given)
        husk__case_integer(c, "percent", (int64_t)(100.0 * (double)given->p + 0.5), 10);
    husk__case_dtype(c, own->y.dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, own->is_gradient ? "dy" : "x", &own->x);
    husk__case_tensor(c, own->is_gradient ? "dx" : "y", &own->y);
    if (own->adds)
        husk__case_note(c, "accumulates");
}

// ---- what the two variants share ----

static husk__map *make_state(husk_plan *plan, char options[128])
{
    const husk__dropout_problem *own = plan->problem;
    husk__map *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->walk = walk_of(own);
    snprintf(options, 128, "%s %s", husk__dtype_option(own->y.dtype), plan->configuration->options);
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__dropout_problem *own = plan->problem;
    const husk__dropout_arguments *given = untyped;
    const husk__map *state = plan->state;
    const bool is_all = given->p >= 1.0f; // 2^32 is no uint; a scale of zero drops what the threshold leaves
    const bool streams = state->streams && !own->adds && given->x->buffer != given->y->buffer;
    const uint32_t threshold = is_all ? UINT32_MAX : (uint32_t)rint(given->p * 4294967296.0);
    const husk__walk_values values = husk__walk_prepare(&state->walk);
    husk__arg list[2 + HUSK__WALK_ARGS + 8];
    husk__arg *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_TENSOR(given->x);
    end = husk__walk_write_args(&values, HUSK__WALK_TENSORS, end);
    *end++ = HUSK__ARG_I32(HUSK_MAX_RANK - state->walk.rank);
    *end++ = HUSK__ARG_I64(state->total);
    *end++ = HUSK__ARG_I64(state->share);
    *end++ = HUSK__ARG_I32((own->adds ? ADDS : 0) | (streams ? STREAMS : 0));
    *end++ = HUSK__ARG_I64(given->seed);
    *end++ = HUSK__ARG_I64(given->offset);
    *end++ = HUSK__ARG_I32(threshold);
    *end++ = HUSK__ARG_ACC(own->x.dtype, is_all ? 0.0 : 1.0 / (1.0 - given->p));
    return husk__launch(queue, state->kernel, &state->range, list, (size_t)(end - list), scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { VECTOR_MINIMUM = 16384 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const husk__dropout_problem *own = plan->problem;
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const char *file = own->is_gradient ? "elementwise/dropout_backward_vector.cl" : "elementwise/dropout_vector.cl";
    const char *kernel = own->is_gradient ? "husk_dropout_backward_vector" : "husk_dropout_vector";
    return husk__map_prepare_vector(plan->context, file, options, kernel, VECTOR_MINIMUM,
                                    2 * husk_dtype_size(own->y.dtype), state, scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .prepare = prepare_vector,
    .run = run,
};

// ---- grid: GPUs ----

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    const husk__dropout_problem *own = plan->problem;
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const char *file = own->is_gradient ? "elementwise/dropout_backward_grid.cl" : "elementwise/dropout_grid.cl";
    const char *kernel = own->is_gradient ? "husk_dropout_backward_grid" : "husk_dropout_grid";
    return husk__map_prepare_grid(plan->context, file, options, kernel, husk__grid_items(plan->configuration), state,
                                  scope);
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare_grid,
    .run = run,
};

const husk__variant *const husk__dropout_variants[] = {&vector, &grid, NULL};

// ---- calls ----

husk_status husk__dropout_validate(husk_queue *queue, const husk_dropout_params *params, const husk_tensor *x,
                                   const char *x_name, const husk_tensor *y, const char *y_name,
                                   const husk__scope *scope)
{
    if (!(params->p >= 0.0f && params->p <= 1.0f))
        return husk__reject(scope, "params", "p is %g, which is not from 0 to 1", (double)params->p);
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    husk_status status = husk__tensor_check_real(queue, x, x_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, x->dtype, y_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, y_name, x->rank, x->shape, x_name[0] == 'x' ? "as x" : "as dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, y_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, x_name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, y_name, scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, y_name, x, x_name, scope);
    return status;
}

husk_status husk__dropout_enqueue(husk_queue *queue, const husk__op *op, bool is_gradient,
                                  const husk_dropout_params *params, const husk_tensor *x, const husk_tensor *y,
                                  const husk__scope *scope)
{
    husk__dropout_problem own = {.is_gradient = is_gradient,
                                 .adds = is_gradient && (params->accumulate & HUSK_ACCUMULATE_INPUTS),
                                 .x = *x,
                                 .y = *y};
    husk__tensor_bare(&own.x);
    husk__tensor_bare(&own.y);
    const husk_tensor *const operands[] = {x, y};
    const husk__preference preference = husk__preference_of(params->variant, 0, operands, 2);
    const husk__dropout_arguments arguments = {x, y, params->seed, params->offset, params->p};
    return husk__plan_immediate(queue, op, &own, &preference, &arguments, scope);
}

husk_status husk__dropout_prewarm(husk_queue *queue, const husk__op *op, bool is_gradient, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    const husk_dropout_params params = HUSK_DROPOUT_PARAMS(.p = 0.5f);
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    status = husk__dropout_enqueue(queue, op, is_gradient, &params, &x, &x, scope);
    husk_buffer_release(buffer);
    return status;
}
