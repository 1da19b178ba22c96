// SPDX-License-Identifier: MIT
// One of two tensors, element by element: validate -> resolve -> choose -> launch. Kernels: cl/where_*.cl.
#include <husk/ops/where.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/where_problem.h"
#include "runtime/map.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem ----

typedef struct problem {
    husk_tensor condition, a, b, y;
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_tensor(key, &own->condition);
    husk__key_tensor(key, &own->a);
    husk__key_tensor(key, &own->b);
    husk__key_tensor(key, &own->y);
}

static husk__walk walk_of(const problem *own)
{
    const husk_tensor *const tensors[] = {&own->y, &own->condition, &own->a, &own->b};
    return husk__walk_make(own->y.rank, own->y.shape, tensors, HUSK__WALK_Y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->y.dtype), husk_dtype_name(own->condition.dtype),
                      walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

typedef struct arguments {
    const husk_tensor *condition, *a, *b, *y;
} arguments;

// ---- what the two variants share ----

static husk__map *make_state(husk_plan *plan, char options[128])
{
    const problem *own = plan->problem;
    husk__map *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->walk = walk_of(own);
    snprintf(options, 128, "%s %s%s", husk__dtype_option(own->y.dtype), plan->configuration->options,
             own->condition.dtype == HUSK_U8 ? " -DCONDITION_BYTES" : "");
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const arguments *given = untyped;
    const husk__map_run call = {.y = given->y, .u = given->condition, .v = given->a, .w = given->b};
    (void)scratch;
    return husk__map_launch(plan->state, queue, &call, scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { VECTOR_MINIMUM = 65536 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__map_prepare_vector(plan->context, "where_vector.cl", options, "husk_where_vector", VECTOR_MINIMUM,
                                    4 * husk_dtype_size(own->y.dtype), state, scope);
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
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__map_prepare_grid(plan->context, "where_grid.cl", options, "husk_where_grid",
                                  plan->configuration->values[0], state, scope);
}

static const husk__variant grid = {
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__grid_supports,
    .cost = husk__grid_cost,
    .prepare = prepare_grid,
    .run = run,
};

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_where = {
    .name = "where",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

static const char *const names[] = {"condition", "a", "b"};

husk_status husk__where_check_condition(const husk_tensor *condition, const husk_tensor *other,
                                        const husk__scope *scope)
{
    const bool is_number = condition && other && condition->dtype != HUSK_U8;
    return husk__tensor_check_plain(condition, is_number ? other->dtype : HUSK_U8, "condition", scope);
}

static husk_status check_tensors(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    const husk_tensor *const inputs[] = {given->condition, given->a, given->b};
    husk_tensor wanted = {0};
    char shape[HUSK__SHAPE_TEXT];
    husk_status status = husk__where_check_condition(given->condition, given->a, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, given->a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(given->b, given->a->dtype, "b", scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i) {
        const husk_tensor before = wanted;
        if (!husk__tensor_broadcast(inputs[i], &wanted))
            return husk__reject(scope, names[i], "its shape does not go with those before it, %s",
                                husk__shape_text(&before, shape));
    }
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(given->y, given->a->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(given->y, "y", wanted.rank, wanted.shape, "as the inputs broadcast", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(given->y, "y", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    const husk_tensor *const inputs[] = {given->condition, given->a, given->b};
    husk_status status = check_tensors(queue, given, scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        status = husk__tensor_bind(queue, inputs[i], names[i], scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->y, "y", scope);
    for (int i = 0; i < 3 && status == HUSK_OK; ++i)
        status = husk__refuse_partial_overlap(given->y, "y", inputs[i], names[i], scope);
    return status;
}

static problem resolve(const arguments *given)
{
    problem own = {.condition = *given->condition, .a = *given->a, .b = *given->b, .y = *given->y};
    husk__tensor_bare(&own.condition);
    husk__tensor_bare(&own.a);
    husk__tensor_bare(&own.b);
    husk__tensor_bare(&own.y);
    return own;
}

husk_status husk_where(husk_queue *queue, const husk_where_params *params, const husk_tensor *condition,
                       const husk_tensor *a, const husk_tensor *b, const husk_tensor *y)
{
    husk__scope scope;
    husk_where_params given;
    const arguments tensors = {condition, a, b, y};
    husk_status status = husk__call_begin(queue, "husk_where", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, sizeof given, params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &tensors, &scope);
    if (status != HUSK_OK)
        return status;
    const problem own = resolve(&tensors);
    const husk_tensor *const operands[] = {condition, a, b, y};
    const husk__wish wish = {given.variant, husk__workspace_limit(0, given.variant, operands, 4)};
    return husk__plan_immediate(queue, &husk__op_where, &own, &wish, &tensors, &scope);
}

// The program, on one vector of numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const arguments tensors = {&x, &x, &x, &x};
    const problem own = resolve(&tensors);
    const husk__wish wish = {0};
    status = husk__plan_immediate(queue, &husk__op_where, &own, &wish, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
