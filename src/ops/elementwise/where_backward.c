// SPDX-License-Identifier: MIT
// Gradients of one of two tensors element by element: validate -> resolve -> choose -> launch. Kernels:
// cl/elementwise/where_backward_*.cl. Each gradient that is wanted is a launch of its own: a map where its input was
// not broadcast, a sum (runtime/sum.h) where it was.
#include <husk/ops/where.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/elementwise/where_problem.h"
#include "runtime/sum.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem ----

// The gradients by number, which is the kernel's kind.
enum { OF_A, OF_B, INPUTS };

typedef struct problem {
    bool adds;
    bool is_wanted[INPUTS];
    husk_tensor dy, condition, gradient[INPUTS];
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->dy);
    husk__key_tensor(key, &own->condition);
    for (int i = 0; i < INPUTS; ++i) {
        husk__key_i64(key, own->is_wanted[i]);
        husk__key_tensor(key, &own->gradient[i]);
    }
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->dy.dtype), husk_dtype_name(own->condition.dtype));
    for (int i = 0; i < INPUTS; ++i)
        if (own->is_wanted[i])
            husk__class_size(text, i == OF_A ? "a" : "b", husk__tensor_count(&own->gradient[i]));
    husk__class_size(text, "count", husk__tensor_count(&own->dy));
}

typedef struct arguments {
    const husk_tensor *dy, *condition, *gradient[INPUTS];
} arguments;

static bool is_broadcast(const problem *own, int by)
{
    return husk__tensor_count(&own->gradient[by]) != husk__tensor_count(&own->dy);
}

// ---- what the two variants share ----

typedef struct state {
    husk__map map[INPUTS]; // for those not broadcast
    husk__sum sum[INPUTS]; // for those that are
} state;

// y, u, v, w of the gradient by one input.
static void list_tensors(const problem *own, int by, const husk_tensor *list[HUSK__WALK_TENSORS])
{
    list[HUSK__WALK_Y] = &own->gradient[by];
    list[HUSK__WALK_U] = &own->dy;
    list[HUSK__WALK_V] = &own->condition;
    list[HUSK__WALK_W] = NULL;
}

static husk__sum make_sum(const problem *own, int by)
{
    const husk_tensor *list[HUSK__WALK_TENSORS];
    list_tensors(own, by, list);
    return husk__sum_make(own->dy.rank, own->dy.shape, list);
}

static bool is_summed(const problem *own, int by)
{
    return own->is_wanted[by] && is_broadcast(own, by) && husk__tensor_count(&own->gradient[by]) > 0;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    uint64_t bytes = 0;
    for (int i = 0; i < INPUTS; ++i)
        if (is_summed(candidate->problem, i)) {
            const husk__sum sum = make_sum(candidate->problem, i);
            bytes += husk__sum_workspace(&sum);
        }
    return bytes;
}

enum { MINIMUM = 65536 }; // elements that a work-group is worth launching for

// items: work-items a group, 1 for CPU devices.
static husk_status prepare(husk_plan *plan, const char *file, const char *kernel, int64_t items,
                           const husk__scope *scope)
{
    const problem *own = plan->problem;
    state *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = made; // freed with the plan
    char options[128];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(own->dy.dtype), plan->configuration->options,
             own->condition.dtype == HUSK_U8 ? " -DCONDITION_BYTES" : "");
    husk_status status = HUSK_OK;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (is_summed(own, i)) {
            made->sum[i] = make_sum(own, i);
            status = husk__sum_prepare(plan->context, file, options, kernel, items, &made->sum[i], scope);
        } else if (own->is_wanted[i]) {
            const husk_tensor *list[HUSK__WALK_TENSORS];
            list_tensors(own, i, list);
            made->map[i].walk = husk__walk_make(own->dy.rank, own->dy.shape, list, HUSK__WALK_Y);
            status = items == 1 ? husk__map_prepare_vector(plan->context, file, options, kernel, MINIMUM,
                                                           3 * husk_dtype_size(own->dy.dtype), &made->map[i], scope)
                                : husk__map_prepare_grid(plan->context, file, options, kernel, items, &made->map[i],
                                                         scope);
        }
    }
    return status;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const arguments *given = untyped;
    husk_status status = HUSK_OK;
    uint64_t at = 0;
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        const husk__map_run call = {
            .y = given->gradient[i], .u = given->dy, .v = given->condition, .adds = own->adds, .kind = i};
        if (is_summed(own, i)) {
            status = husk__sum_launch(&made->sum[i], queue, &call, scratch->buffer, at, scope);
            at += husk__sum_workspace(&made->sum[i]);
        } else if (own->is_wanted[i]) {
            status = husk__map_launch(&made->map[i], queue, &call, scope);
        }
    }
    return status;
}

// ---- vector: CPU devices ----

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    return prepare(plan, "elementwise/where_backward_vector.cl", "husk_where_backward_vector", 1, scope);
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .workspace = workspace,
    .prepare = prepare_vector,
    .run = run,
};

// ---- grid: GPUs ----

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    return prepare(plan, "elementwise/where_backward_grid.cl", "husk_where_backward_grid",
                   plan->configuration->values[0], scope);
}

static const husk__variant grid = {
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__grid_supports,
    .cost = husk__grid_cost,
    .workspace = workspace,
    .prepare = prepare_grid,
    .run = run,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_where_backward = {
    .name = "where_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

static const char *const gradient_names[INPUTS] = {"da", "db"};

static husk_status check(husk_queue *queue, const husk_where_params *params, const arguments *given,
                         const husk__scope *scope)
{
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    husk_status status = husk__tensor_check_real(queue, given->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__where_check_condition(given->condition, given->dy, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_broadcast(given->condition, "condition", given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__tensor_check_plain(given->gradient[i], given->dy->dtype, gradient_names[i], scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_broadcast(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(given->gradient[i], gradient_names[i], scope);
    }
    if (status == HUSK_OK && !given->gradient[OF_A] && !given->gradient[OF_B])
        return husk__reject(scope, "da", "is NULL, and so is db: there is nothing to compute");
    return status;
}

static husk_status bind(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, given->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->condition, "condition", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__tensor_bind(queue, given->gradient[i], gradient_names[i], scope);
        if (status == HUSK_OK)
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        if (status == HUSK_OK)
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->condition, "condition", scope);
    }
    if (status == HUSK_OK && given->gradient[OF_A])
        status = husk__refuse_overlap(given->gradient[OF_A], "da", given->gradient[OF_B], "db", scope);
    return status;
}

static problem resolve(const husk_where_params *params, const arguments *given)
{
    problem own = {.adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0,
                   .dy = *given->dy,
                   .condition = *given->condition};
    husk__tensor_bare(&own.dy);
    husk__tensor_bare(&own.condition);
    for (int i = 0; i < INPUTS; ++i) {
        own.is_wanted[i] = given->gradient[i] != NULL;
        if (given->gradient[i]) {
            own.gradient[i] = *given->gradient[i];
            husk__tensor_bare(&own.gradient[i]);
        }
    }
    return own;
}

husk_status husk_where_backward(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                                const husk_tensor *dy, const husk_tensor *da, const husk_tensor *db)
{
    husk__scope scope;
    husk_where_params options;
    const arguments given = {dy, condition, {da, db}};
    husk_status status = husk__call_begin(queue, "husk_where_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "HUSK_WHERE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check(queue, &options, &given, &scope);
    if (status == HUSK_OK)
        status = bind(queue, &given, &scope);
    if (status != HUSK_OK)
        return status;
    const problem own = resolve(&options, &given);
    const husk_tensor *const operands[] = {condition, dy, da, db};
    const husk__wish wish = husk__wish_of(options.variant, 0, operands, 4);
    return husk__plan_immediate(queue, &husk__op_where_backward, &own, &wish, &given, &scope);
}

// The program, on one vector of numbers and their sum.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 192 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_tensor one = {.buffer = buffer, .offset = 64};
    husk_tensor other = dy;
    other.offset = 128;
    const husk_where_params params = HUSK_WHERE_PARAMS(0);
    const arguments tensors = {&dy, &dy, {&other, &one}};
    const problem own = resolve(&params, &tensors);
    const husk__wish wish = {0};
    status = husk__plan_immediate(queue, &husk__op_where_backward, &own, &wish, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
