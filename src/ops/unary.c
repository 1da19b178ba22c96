// SPDX-License-Identifier: MIT
// Functions of one number: validate -> resolve -> choose -> launch. Kernels: cl/unary_*.cl.
#include <husk/ops/unary.h>

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "runtime/map.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem ----

typedef struct problem {
    husk_unary_op op;
    float low, high; // the kernel's numbers: CLAMP's bounds; POWER's exponent
    husk_tensor x, y;
} problem;

static bool is_smooth(const problem *own)
{
    return own->op >= HUSK_UNARY_EXP;
}

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->op);
    husk__key_f32(key, own->low);
    husk__key_f32(key, own->high);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

static husk__walk walk_of(const problem *own)
{
    const husk_tensor *const tensors[] = {&own->y, &own->x, NULL, NULL};
    return husk__walk_make(own->y.rank, own->y.shape, tensors, HUSK__WALK_Y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->y.dtype), husk_unary_name(own->op),
                      walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

typedef struct arguments {
    const husk_tensor *x, *y;
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
             is_smooth(own) ? " -DUNARY_SMOOTH" : "");
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const husk__map_run call = {
        .y = given->y, .u = given->x, .kind = (int32_t)own->op, .numbers = {own->low, own->high}};
    (void)scratch;
    return husk__map_launch(plan->state, queue, &call, scope);
}

// ---- vector: CPU devices ----

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { VECTOR_MINIMUM = 65536, VECTOR_MINIMUM_SMOOTH = 16384 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__map_prepare_vector(plan->context, "unary_vector.cl", options, "husk_unary_vector",
                                    is_smooth(own) ? VECTOR_MINIMUM_SMOOTH : VECTOR_MINIMUM,
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
    char options[128];
    husk__map *state = make_state(plan, options);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__map_prepare_grid(plan->context, "unary_grid.cl", options, "husk_unary_grid",
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

const husk__op husk__op_unary = {
    .name = "unary",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

const char *husk_unary_name(husk_unary_op op)
{
    switch (op) {
#define NAME(name, number, text) \
    case HUSK_UNARY_##name:      \
        return text;
        HUSK_UNARY_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status validate(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk__scope *scope)
{
    if ((int)params->op < HUSK_UNARY_NEGATE || params->op > HUSK_UNARY_POWER)
        return husk__reject(scope, "params", "op %d is none of husk_unary_op", (int)params->op);
    if (params->op == HUSK_UNARY_CLAMP && (isnan(params->low) || isnan(params->high)))
        return husk__reject(scope, "params", "%s is NaN", isnan(params->low) ? "low" : "high");
    if (params->op == HUSK_UNARY_POWER && isnan(params->exponent))
        return husk__reject(scope, "params", "exponent is NaN");
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

static problem resolve(const husk_unary_params *params, const husk_tensor *x, const husk_tensor *y)
{
    problem own = {.op = params->op, .x = *x, .y = *y};
    if (own.op == HUSK_UNARY_CLAMP) {
        own.low = params->low;
        own.high = params->high;
    } else if (own.op == HUSK_UNARY_POWER) {
        own.low = params->exponent;
    }
    husk__tensor_bare(&own.x);
    husk__tensor_bare(&own.y);
    return own;
}

husk_status husk_unary(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x, const husk_tensor *y)
{
    husk__scope scope;
    husk_unary_params given;
    husk_status status = husk__call_begin(queue, "husk_unary", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, sizeof given, params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &scope);
    if (status != HUSK_OK)
        return status;
    const problem own = resolve(&given, x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__wish wish = {given.variant, husk__workspace_limit(0, given.variant, operands, 2)};
    const arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_unary, &own, &wish, &tensors, &scope);
}

// Both programs of the device's variant, on one vector of numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_unary_op ops[] = {HUSK_UNARY_NEGATE, HUSK_UNARY_EXP};
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_unary_params params = HUSK_UNARY_PARAMS(.op = ops[i]);
        const problem own = resolve(&params, &x, &x);
        const husk__wish wish = {0};
        const arguments tensors = {&x, &x};
        status = husk__plan_immediate(queue, &husk__op_unary, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
