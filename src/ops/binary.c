// SPDX-License-Identifier: MIT
// Two tensors, element by element: validate -> resolve -> choose -> launch. Kernels: cl/binary_*.cl.
#include <husk/ops/binary.h>

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

// The kernels' kinds: cl/lib/binary.clh has the same numbers.
enum { LINEAR, PRODUCT, QUOTIENT, MAXIMUM, MINIMUM, COMPARE, POWER_OF };

typedef struct problem {
    husk_binary_op op;
    int32_t kind; // the kernel's, and its numbers
    float numbers[3];
    husk_tensor a, b, y;
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->op);
    for (int i = 0; i < 3; ++i)
        husk__key_f32(key, own->numbers[i]);
    husk__key_tensor(key, &own->a);
    husk__key_tensor(key, &own->b);
    husk__key_tensor(key, &own->y);
}

static husk__walk walk_of(const problem *own)
{
    const husk_tensor *const tensors[] = {&own->y, &own->a, &own->b, NULL};
    return husk__walk_make(own->y.rank, own->y.shape, tensors, HUSK__WALK_Y);
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    const husk__walk walk = walk_of(own);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->y.dtype), husk_binary_name(own->op),
                      walk.rank < 2 ? "packed" : "strided");
    husk__class_size(text, "count", husk__walk_count(&walk));
}

typedef struct arguments {
    const husk_tensor *a, *b, *y;
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
             own->kind == POWER_OF ? " -DBINARY_POWER" : "");
    return state;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const problem *own = plan->problem;
    const arguments *given = untyped;
    const husk__map_run call = {.y = given->y,
                                .u = given->a,
                                .v = given->b,
                                .kind = own->kind,
                                .numbers = {own->numbers[0], own->numbers[1], own->numbers[2]}};
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
    return husk__map_prepare_vector(plan->context, "binary_vector.cl", options, "husk_binary_vector",
                                    own->kind == POWER_OF ? VECTOR_MINIMUM_SMOOTH : VECTOR_MINIMUM,
                                    3 * husk_dtype_size(own->y.dtype), state, scope);
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
    return husk__map_prepare_grid(plan->context, "binary_grid.cl", options, "husk_binary_grid",
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

const husk__op husk__op_binary = {
    .name = "binary",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

const char *husk_binary_name(husk_binary_op op)
{
    switch (op) {
#define NAME(name, number, text) \
    case HUSK_BINARY_##name:      \
        return text;
        HUSK_BINARY_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status check_params(const husk_binary_params *params, const husk__scope *scope)
{
    if ((int)params->op < HUSK_BINARY_ADD || params->op > HUSK_BINARY_GREATER_EQUAL)
        return husk__reject(scope, "params", "op %d is none of husk_binary_op", (int)params->op);
    if (!isfinite(params->alpha) || !isfinite(params->beta))
        return husk__reject(scope, "params", "%s is not finite", isfinite(params->alpha) ? "beta" : "alpha");
    return HUSK_OK;
}

static husk_status check_tensors(husk_queue *queue, const husk_tensor *a, const husk_tensor *b,
                                 const husk_tensor *y, const husk__scope *scope)
{
    husk_tensor wanted = {0};
    char shape[HUSK__SHAPE_TEXT];
    husk_status status = husk__tensor_check_real(queue, a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(b, a->dtype, "b", scope);
    if (status == HUSK_OK && !(husk__tensor_broadcast(a, &wanted) && husk__tensor_broadcast(b, &wanted)))
        return husk__reject(scope, "b", "its shape does not go with a's, %s", husk__shape_text(a, shape));
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, a->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_shape(y, "y", wanted.rank, wanted.shape, "as a and b broadcast", scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                            const husk_tensor *b, const husk_tensor *y, const husk__scope *scope)
{
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = check_tensors(queue, a, b, y, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, a, "a", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, b, "b", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", a, "a", scope);
    if (status == HUSK_OK)
        status = husk__refuse_partial_overlap(y, "y", b, "b", scope);
    return status;
}

// What a comparison gives where a is less than b, equal, greater.
static void set_comparison(problem *own, float less, float equal, float greater)
{
    own->kind = COMPARE;
    own->numbers[0] = less;
    own->numbers[1] = equal;
    own->numbers[2] = greater;
}

static void resolve_op(problem *own, float alpha, float beta)
{
    own->numbers[0] = alpha;
    switch (own->op) {
    case HUSK_BINARY_ADD:
    case HUSK_BINARY_SUBTRACT:
        own->kind = LINEAR;
        own->numbers[1] = own->op == HUSK_BINARY_ADD ? beta : -beta;
        break;
    case HUSK_BINARY_MULTIPLY:
        own->kind = PRODUCT;
        break;
    case HUSK_BINARY_DIVIDE:
        own->kind = QUOTIENT;
        break;
    case HUSK_BINARY_MAXIMUM:
        own->kind = MAXIMUM;
        break;
    case HUSK_BINARY_MINIMUM:
        own->kind = MINIMUM;
        break;
    case HUSK_BINARY_POWER:
        own->kind = POWER_OF;
        break;
    case HUSK_BINARY_EQUAL:
        set_comparison(own, 0, 1, 0);
        break;
    case HUSK_BINARY_NOT_EQUAL:
        set_comparison(own, 1, 0, 1);
        break;
    case HUSK_BINARY_LESS:
        set_comparison(own, 1, 0, 0);
        break;
    case HUSK_BINARY_LESS_EQUAL:
        set_comparison(own, 1, 1, 0);
        break;
    case HUSK_BINARY_GREATER:
        set_comparison(own, 0, 0, 1);
        break;
    case HUSK_BINARY_GREATER_EQUAL:
        set_comparison(own, 0, 1, 1);
        break;
    }
}

static problem resolve(const husk_binary_params *params, const arguments *given)
{
    problem own = {.op = params->op, .a = *given->a, .b = *given->b, .y = *given->y};
    resolve_op(&own, params->alpha != 0.0f ? params->alpha : 1.0f, params->beta != 0.0f ? params->beta : 1.0f);
    husk__tensor_bare(&own.a);
    husk__tensor_bare(&own.b);
    husk__tensor_bare(&own.y);
    return own;
}

husk_status husk_binary(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                        const husk_tensor *b, const husk_tensor *y)
{
    husk__scope scope;
    husk_binary_params given;
    husk_status status = husk__call_begin(queue, "husk_binary", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, sizeof given, params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, a, b, y, &scope);
    if (status != HUSK_OK)
        return status;
    const arguments tensors = {a, b, y};
    const problem own = resolve(&given, &tensors);
    const husk_tensor *const operands[] = {a, b, y};
    const husk__wish wish = {given.variant, husk__workspace_limit(0, given.variant, operands, 3)};
    return husk__plan_immediate(queue, &husk__op_binary, &own, &wish, &tensors, &scope);
}

// The program of most kinds, on one vector of numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 64 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_binary_params params = HUSK_BINARY_PARAMS(.op = HUSK_BINARY_ADD);
    const arguments tensors = {&x, &x, &x};
    const problem own = resolve(&params, &tensors);
    const husk__wish wish = {0};
    status = husk__plan_immediate(queue, &husk__op_binary, &own, &wish, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
