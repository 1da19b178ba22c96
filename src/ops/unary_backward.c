// SPDX-License-Identifier: MIT
// Gradients of functions of one number: validate -> resolve -> choose -> launch. Kernels: cl/unary_backward_*.cl.
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
    int32_t kind;    // the kernel's
    float low, high; // the kernel's numbers: CLAMP's bounds; POWER's exponent
    bool is_smooth, adds;
    husk_tensor dx, dy, from; // from: x or y
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_f32(key, own->low);
    husk__key_f32(key, own->high);
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->dx);
    husk__key_tensor(key, &own->dy);
    husk__key_tensor(key, &own->from);
}

static husk__walk walk_of(const problem *own)
{
    const husk_tensor *const tensors[] = {&own->dx, &own->dy, &own->from, NULL};
    return husk__walk_make(own->dx.rank, own->dx.shape, tensors, HUSK__WALK_Y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %d %s", husk_dtype_name(own->dy.dtype), (int)own->kind,
                      walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

typedef struct arguments {
    const husk_tensor *dx, *dy, *from;
} arguments;

// ---- what the two variants share ----

static husk__map *make_state(husk_plan *plan, char options[128])
{
    const problem *own = plan->problem;
    husk__map *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (state)
        state->walk = walk_of(own);
    snprintf(options, 128, "%s %s%s", husk__dtype_option(own->dy.dtype), plan->configuration->options,
             own->is_smooth ? " -DUNARY_SMOOTH" : "");
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const husk__map_run call = {.y = given->dx,
                                .u = given->dy,
                                .v = given->from,
                                .adds = own->adds,
                                .kind = own->kind,
                                .numbers = {own->low, own->high}};
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
    return husk__map_prepare_vector(plan->context, "unary_backward_vector.cl", options, "husk_unary_backward_vector",
                                    own->is_smooth ? VECTOR_MINIMUM_SMOOTH : VECTOR_MINIMUM,
                                    3 * husk_dtype_size(own->dy.dtype), state, scope);
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
    return husk__map_prepare_grid(plan->context, "unary_backward_grid.cl", options, "husk_unary_backward_grid",
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

const husk__op husk__op_unary_backward = {
    .name = "unary_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

// The kernels' kinds that take the gradient from y, beside husk_unary_op's numbers: UNARY_..._Y in cl/lib/unary.clh.
enum { RECIPROCAL_Y = HUSK_UNARY_POWER + 1, SQRT_Y, RSQRT_Y, EXP_Y, EXPM1_Y };

// Which of them, or the operator's own where both are the same; -1: none.
static int32_t kind_of_y(husk_unary_op op)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
        return (int32_t)op;
    case HUSK_UNARY_RECIPROCAL:
        return RECIPROCAL_Y;
    case HUSK_UNARY_SQRT:
        return SQRT_Y;
    case HUSK_UNARY_RSQRT:
        return RSQRT_Y;
    case HUSK_UNARY_EXP:
        return EXP_Y;
    case HUSK_UNARY_EXPM1:
        return EXPM1_Y;
    default:
        return -1;
    }
}

static husk_status check_tensor(const husk_tensor *tensor, const char *name, const husk_tensor *dy,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, dy->dtype, name, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(tensor, name, dy->rank, dy->shape, "as dy", scope);
    return status;
}

// One input: the memory behind it, and dx is it or has nothing of it.
static husk_status bind_input(husk_queue *queue, const husk_tensor *tensor, const char *name, const husk_tensor *dx,
                              const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, tensor, name, scope);
    return status == HUSK_OK ? husk__refuse_partial_overlap(dx, "dx", tensor, name, scope) : status;
}

static husk_status check_params(const husk_unary_params *params, const husk_tensor *x, const husk_tensor *y,
                                const husk__scope *scope)
{
    if ((int)params->op < HUSK_UNARY_NEGATE || params->op > HUSK_UNARY_POWER)
        return husk__reject(scope, "params", "op %d is none of husk_unary_op", (int)params->op);
    if (params->op == HUSK_UNARY_CLAMP && (isnan(params->low) || isnan(params->high)))
        return husk__reject(scope, "params", "%s is NaN", isnan(params->low) ? "low" : "high");
    if (params->op == HUSK_UNARY_POWER && isnan(params->exponent))
        return husk__reject(scope, "params", "exponent is NaN");
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (!x && !y)
        return husk__reject(scope, "x", "is NULL, and so is y");
    if (!x && kind_of_y(params->op) < 0)
        return husk__reject(scope, "x", "is NULL, but the gradient of %s does not follow from y",
                            husk_unary_name(params->op));
    return HUSK_OK;
}

static husk_status validate(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                            const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx,
                            const husk__scope *scope)
{
    husk_status status = check_params(params, x, y, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, dy, "dy", scope);
    if (status == HUSK_OK && x)
        status = check_tensor(x, "x", dy, scope);
    if (status == HUSK_OK && y)
        status = check_tensor(y, "y", dy, scope);
    if (status == HUSK_OK)
        status = check_tensor(dx, "dx", dy, scope);
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

static problem resolve(const husk_unary_params *params, const arguments *given, bool is_from_y)
{
    problem own = {.kind = is_from_y ? kind_of_y(params->op) : (int32_t)params->op,
                   .is_smooth = !is_from_y && params->op >= HUSK_UNARY_EXP,
                   .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0,
                   .dx = *given->dx,
                   .dy = *given->dy,
                   .from = *given->from};
    if (params->op == HUSK_UNARY_CLAMP) {
        own.low = params->low;
        own.high = params->high;
    } else if (params->op == HUSK_UNARY_POWER) {
        own.low = params->exponent;
    }
    husk__tensor_bare(&own.dx);
    husk__tensor_bare(&own.dy);
    husk__tensor_bare(&own.from);
    return own;
}

husk_status husk_unary_backward(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_unary_params given;
    husk_status status = husk__call_begin(queue, "husk_unary_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, sizeof given, params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, dy, dx, &scope);
    if (status != HUSK_OK)
        return status;
    const bool is_from_y = y && kind_of_y(given.op) >= 0;
    const arguments tensors = {dx, dy, is_from_y ? y : x};
    const problem own = resolve(&given, &tensors, is_from_y);
    const husk_tensor *const operands[] = {dx, dy, tensors.from};
    const husk__wish wish = {given.variant, husk__workspace_limit(0, given.variant, operands, 3)};
    return husk__plan_immediate(queue, &husk__op_unary_backward, &own, &wish, &tensors, &scope);
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
        const arguments tensors = {&x, &x, &x};
        const problem own = resolve(&params, &tensors, false);
        const husk__wish wish = {0};
        status = husk__plan_immediate(queue, &husk__op_unary_backward, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
