// SPDX-License-Identifier: MIT
// Operators that compute every element by itself: problem, variants, call. Kernels: cl/NAME_vector.cl, cl/NAME_grid.cl.
#include "ops/elementwise/elementwise.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "runtime/map.h"
#include "select/grid.h"

// ---- the problem ----

void husk__elementwise_describe(const void *untyped, husk__key *key)
{
    const husk__elementwise *own = untyped;
    husk__key_i64(key, own->kind);
    for (int i = 0; i < 3; ++i)
        husk__key_f32(key, own->numbers[i]);
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->y);
    for (int32_t i = 0; i < own->inputs; ++i)
        husk__key_tensor(key, &own->x[i]);
}

static husk__walk walk_of(const husk__elementwise *own)
{
    const husk_tensor *tensors[HUSK__WALK_TENSORS] = {&own->y};
    for (int32_t i = 0; i < own->inputs; ++i)
        tensors[HUSK__WALK_U + i] = &own->x[i];
    return husk__walk_make(own->y.rank, own->y.shape, tensors, HUSK__WALK_Y);
}

void husk__elementwise_classify(const void *untyped, husk__text *text)
{
    const husk__elementwise *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->y.dtype), own->function,
                      walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

void husk__elementwise_end_case(const husk__elementwise *own, bool is_gradient, husk__case *c)
{
    static const char *const names[HUSK__ELEMENTWISE_INPUTS] = {"the first input", "the second", "the third"};
    husk__case_dtype(c, own->y.dtype);
    if (is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, "the output", &own->y);
    for (int32_t i = 0; i < own->inputs; ++i)
        husk__case_tensor(c, names[i], &own->x[i]);
    if (own->adds)
        husk__case_note(c, "accumulates");
}

void husk__elementwise_write_case(const husk__elementwise *own, const char *op, const char *key, const char *usual,
                                  bool is_gradient, husk__case *c)
{
    int64_t count = 1;
    for (int32_t i = 0; i < own->y.rank; ++i)
        count *= own->y.shape[i];
    husk__case_begin(c, op);
    husk__case_size(c, "count", count);
    husk__case_word(c, key, own->function, usual);
    husk__elementwise_end_case(own, is_gradient, c);
}

// ---- what the two variants share ----

// Names of an operator's file and kernel, and the options of its program.
typedef struct names {
    char file[64], kernel[64], options[128];
} names;

static husk__map *make_state(husk_plan *plan, const char *variant, names *made)
{
    const husk__elementwise *own = plan->problem;
    husk__map *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->walk = walk_of(own);
    snprintf(made->file, sizeof made->file, "elementwise/%s_%s.cl", plan->op->name, variant);
    snprintf(made->kernel, sizeof made->kernel, "husk_%s_%s", plan->op->name, variant);
    snprintf(made->options, sizeof made->options, "%s %s%s", husk__dtype_option(own->y.dtype),
             plan->configuration->options, own->options);
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__elementwise *own = plan->problem;
    const husk__elementwise_arguments *given = untyped;
    const husk__map_run call = {.y = given->y,
                                .u = given->x[0],
                                .v = own->inputs > 1 ? given->x[1] : NULL,
                                .w = own->inputs > 2 ? given->x[2] : NULL,
                                .adds = own->adds,
                                .kind = own->kind,
                                .numbers = {own->numbers[0], own->numbers[1], own->numbers[2]}};
    (void)scratch;
    return husk__map_launch(plan->state, queue, &call, scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements, of all tensors together where memory bounds it: waking a thread
// takes as long.
enum { VECTOR_MINIMUM = 262144, VECTOR_MINIMUM_SMOOTH = 16384 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const husk__elementwise *own = plan->problem;
    names made;
    husk__map *state = make_state(plan, "vector", &made);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const int32_t tensors = 1 + own->inputs;
    return husk__map_prepare_vector(plan->context, made.file, made.options, made.kernel,
                                    own->is_smooth ? VECTOR_MINIMUM_SMOOTH : VECTOR_MINIMUM / tensors,
                                    (uint64_t)tensors * husk_dtype_size(own->y.dtype), state, scope);
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
    names made;
    husk__map *state = make_state(plan, "grid", &made);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__map_prepare_grid(plan->context, made.file, made.options, made.kernel,
                                  husk__grid_items(plan->configuration), state, scope);
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare_grid,
    .run = run,
};

const husk__variant *const husk__elementwise_variants[] = {&vector, &grid, NULL};

// ---- the call ----

static husk_status call(husk_queue *queue, const husk__op *op, const husk__preference *preference,
                        husk__elementwise *problem, const husk__elementwise_arguments *given, const husk__scope *scope)
{
    problem->y = *given->y;
    husk__tensor_bare(&problem->y);
    for (int32_t i = 0; i < problem->inputs; ++i) {
        problem->x[i] = *given->x[i];
        husk__tensor_bare(&problem->x[i]);
    }
    return husk__plan_immediate(queue, op, problem, preference, given, scope);
}

husk_status husk__elementwise_call(husk_queue *queue, const husk__op *op, const char *variant,
                                   husk__elementwise problem, const husk__elementwise_arguments *given,
                                   const husk__scope *scope)
{
    const husk_tensor *const operands[] = {given->y, given->x[0], given->x[1], given->x[2]};
    const husk__preference preference = husk__preference_of(variant, 0, operands, 1 + problem.inputs);
    return call(queue, op, &preference, &problem, given, scope);
}

husk_status husk__elementwise_prewarm(husk_queue *queue, const husk__op *op, husk__elementwise problem,
                                      const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk__elementwise_arguments given = {&x, {&x, &x, &x}};
    const husk__preference preference = {0};
    status = call(queue, op, &preference, &problem, &given, scope);
    husk_buffer_release(buffer);
    return status;
}

// ---- checks ----

husk_status husk__elementwise_check(husk_queue *queue, const husk_tensor *x, const husk_tensor *y,
                                    const husk__scope *scope)
{
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
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

static husk_status check_as_dy(const husk_tensor *tensor, const char *name, const husk_tensor *dy,
                               const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, dy->dtype, name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(tensor, name, dy->rank, dy->shape, "as dy", scope);
    return status;
}

static husk_status bind_input(husk_queue *queue, const husk_tensor *tensor, const char *name, const husk_tensor *dx,
                              const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, tensor, name, scope);
    return status == HUSK_OK ? husk__refuse_partial_overlap(dx, "dx", tensor, name, scope) : status;
}

husk_status husk__elementwise_check_backward(husk_queue *queue, const husk_tensor *x, const husk_tensor *y,
                                             const husk_tensor *dy, const husk_tensor *dx, const husk__scope *scope)
{
    husk_status status = husk__tensor_check_real(queue, dy, "dy", scope);
    if (status == HUSK_OK && x)
        status = check_as_dy(x, "x", dy, scope);
    if (status == HUSK_OK && y)
        status = check_as_dy(y, "y", dy, scope);
    if (status == HUSK_OK)
        status = check_as_dy(dx, "dx", dy, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(dx, "dx", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, dx, "dx", scope);
    if (status == HUSK_OK && x)
        status = bind_input(queue, x, "x", dx, scope);
    if (status == HUSK_OK && y)
        status = bind_input(queue, y, "y", dx, scope);
    if (status == HUSK_OK)
        status = bind_input(queue, dy, "dy", dx, scope);
    return status;
}
