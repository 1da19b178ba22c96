// SPDX-License-Identifier: MIT
// Gradients of two tensors element by element: validate -> resolve -> choose -> launch. Kernels:
// cl/elementwise/binary_backward_*.cl. Each gradient that is wanted is a launch of its own: a map where its input was
// not broadcast, a sum (runtime/sum.h) where it was.
#include <husk/ops/binary.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "runtime/sum.h"
#include "select/grid.h"
#include "select/plan.h"

// ---- the problem ----

// The kernels' kinds: cl/lib/binary_gradient.clh has the same numbers.
enum { SCALE, PRODUCT, QUOTIENT, DIVISOR, LARGER, SMALLER, BASE, EXPONENT };
// Tensors by number.
enum { OF_A, OF_B, INPUTS };

typedef struct problem {
    husk_binary_op op;
    float alpha, beta;
    bool adds;
    bool is_wanted[INPUTS];
    husk_tensor dy, input[INPUTS], gradient[INPUTS]; // inputs: dy's dimensions and strides of 0 where they are not read
} problem;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->op);
    husk__key_f32(key, own->alpha);
    husk__key_f32(key, own->beta);
    husk__key_i64(key, own->adds);
    husk__key_tensor(key, &own->dy);
    for (int i = 0; i < INPUTS; ++i) {
        husk__key_i64(key, own->is_wanted[i]);
        husk__key_tensor(key, &own->input[i]);
        husk__key_tensor(key, &own->gradient[i]);
    }
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__text_format(text, " %s %s", husk_dtype_name(own->dy.dtype), husk_binary_name(own->op));
    for (int i = 0; i < INPUTS; ++i)
        if (own->is_wanted[i])
            husk__class_size(text, i == OF_A ? "a" : "b", husk__tensor_count(&own->gradient[i]));
    husk__class_size(text, "count", husk__tensor_count(&own->dy));
}

typedef struct arguments {
    const husk_tensor *dy, *input[INPUTS], *gradient[INPUTS];
} arguments;

static bool reads_inputs(husk_binary_op op)
{
    return op != HUSK_BINARY_ADD && op != HUSK_BINARY_SUBTRACT;
}

// What computes the gradient by one input: the kind, its number, and which inputs are v and w (-1: none).
typedef struct recipe {
    int32_t kind;
    float number;
    int v, w;
} recipe;

static recipe recipe_of(const problem *own, int by)
{
    const bool is_a = by == OF_A;
    const int other = is_a ? OF_B : OF_A;
    switch (own->op) {
    case HUSK_BINARY_ADD:
        return (recipe){SCALE, is_a ? own->alpha : own->beta, -1, -1};
    case HUSK_BINARY_SUBTRACT:
        return (recipe){SCALE, is_a ? own->alpha : -own->beta, -1, -1};
    case HUSK_BINARY_MULTIPLY:
        return (recipe){PRODUCT, own->alpha, other, -1};
    case HUSK_BINARY_DIVIDE:
        return is_a ? (recipe){QUOTIENT, own->alpha, OF_B, -1} : (recipe){DIVISOR, -own->alpha, OF_A, OF_B};
    case HUSK_BINARY_MAXIMUM:
        return (recipe){LARGER, 0, by, other};
    case HUSK_BINARY_MINIMUM:
        return (recipe){SMALLER, 0, by, other};
    default:
        return (recipe){is_a ? BASE : EXPONENT, 0, OF_A, OF_B};
    }
}

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
    const recipe how = recipe_of(own, by);
    list[HUSK__WALK_Y] = &own->gradient[by];
    list[HUSK__WALK_U] = &own->dy;
    list[HUSK__WALK_V] = how.v >= 0 ? &own->input[how.v] : NULL;
    list[HUSK__WALK_W] = how.w >= 0 ? &own->input[how.w] : NULL;
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
             own->op == HUSK_BINARY_POWER ? " -DBINARY_POWER" : "");
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
        const recipe how = recipe_of(own, i);
        const husk__map_run call = {.y = given->gradient[i],
                                    .u = given->dy,
                                    .v = how.v >= 0 ? given->input[how.v] : NULL,
                                    .w = how.w >= 0 ? given->input[how.w] : NULL,
                                    .adds = own->adds,
                                    .kind = how.kind,
                                    .numbers = {how.number}};
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
    return prepare(plan, "elementwise/binary_backward_vector.cl", "husk_binary_backward_vector", 1, scope);
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
    return prepare(plan, "elementwise/binary_backward_grid.cl", "husk_binary_backward_grid",
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

const husk__op husk__op_binary_backward = {
    .name = "binary_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

static const char *const input_names[INPUTS] = {"a", "b"};
static const char *const gradient_names[INPUTS] = {"da", "db"};

static husk_status check_params(const husk_binary_params *params, const husk__scope *scope)
{
    if ((int)params->op < HUSK_BINARY_ADD || params->op > HUSK_BINARY_GREATER_EQUAL)
        return husk__reject(scope, "params", "op %d is none of husk_binary_op", (int)params->op);
    if (params->op >= HUSK_BINARY_EQUAL)
        return husk__reject(scope, "params", "op %s has no gradient", husk_binary_name(params->op));
    if (!isfinite(params->alpha) || !isfinite(params->beta))
        return husk__reject(scope, "params", "%s is not finite", isfinite(params->alpha) ? "beta" : "alpha");
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    return HUSK_OK;
}

// An input or its gradient.
static husk_status check_tensor(const husk_tensor *tensor, const char *name, const husk_tensor *dy,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(tensor, dy->dtype, name, scope);
    return status == HUSK_OK ? husk__tensor_check_broadcast(tensor, name, dy, "dy", scope) : status;
}

static husk_status check_tensors(husk_queue *queue, const husk_binary_params *params, const arguments *given,
                                 const husk__scope *scope)
{
    husk_status status = husk__tensor_check_real(queue, given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (given->input[i])
            status = check_tensor(given->input[i], input_names[i], given->dy, scope);
        else if (reads_inputs(params->op))
            status = husk__reject(scope, input_names[i], "is NULL");
    }
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        const husk_tensor *gradient = given->gradient[i], *input = given->input[i];
        if (!gradient)
            continue;
        status = check_tensor(gradient, gradient_names[i], given->dy, scope);
        if (status == HUSK_OK && input)
            status = husk__tensor_check_shape(gradient, gradient_names[i], input->rank, input->shape,
                                              i == OF_A ? "as a" : "as b", scope);
        if (status == HUSK_OK)
            status = husk__tensor_check_distinct(gradient, gradient_names[i], scope);
    }
    if (status == HUSK_OK && !given->gradient[OF_A] && !given->gradient[OF_B])
        return husk__reject(scope, "da", "is NULL, and so is db: there is nothing to compute");
    return status;
}

static husk_status bind(husk_queue *queue, const arguments *given, const husk__scope *scope)
{
    husk_status status = husk__tensor_bind(queue, given->dy, "dy", scope);
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (given->input[i])
            status = husk__tensor_bind(queue, given->input[i], input_names[i], scope);
        if (status == HUSK_OK && given->gradient[i])
            status = husk__tensor_bind(queue, given->gradient[i], gradient_names[i], scope);
    }
    for (int i = 0; i < INPUTS && status == HUSK_OK; ++i) {
        if (!given->gradient[i])
            continue;
        status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->dy, "dy", scope);
        for (int k = 0; k < INPUTS && status == HUSK_OK; ++k) {
            status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->input[k], input_names[k],
                                          scope);
            if (status == HUSK_OK && k > i)
                status = husk__refuse_overlap(given->gradient[i], gradient_names[i], given->gradient[k],
                                              gradient_names[k], scope);
        }
    }
    return status;
}

static problem resolve(const husk_binary_params *params, const arguments *given)
{
    problem own = {.op = params->op,
                   .alpha = params->alpha,
                   .beta = params->beta,
                   .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0,
                   .dy = *given->dy};
    husk__tensor_bare(&own.dy);
    for (int i = 0; i < INPUTS; ++i) {
        own.is_wanted[i] = given->gradient[i] != NULL;
        if (given->input[i] && reads_inputs(own.op)) {
            own.input[i] = *given->input[i];
            husk__tensor_bare(&own.input[i]);
        }
        if (given->gradient[i]) {
            own.gradient[i] = *given->gradient[i];
            husk__tensor_bare(&own.gradient[i]);
        }
    }
    return own;
}

husk_status husk_binary_backward(husk_queue *queue, const husk_binary_params *params, const husk_tensor *a,
                                 const husk_tensor *b, const husk_tensor *dy, const husk_tensor *da,
                                 const husk_tensor *db)
{
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD);
    husk__scope scope;
    husk_binary_params options;
    const arguments given = {dy, {a, b}, {da, db}};
    husk_status status = husk__call_begin(queue, "husk_binary_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&options, sizeof options, "husk_binary_defaults",
                                   params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = check_params(&options, &scope);
    if (status == HUSK_OK)
        status = check_tensors(queue, &options, &given, &scope);
    if (status == HUSK_OK)
        status = bind(queue, &given, &scope);
    if (status != HUSK_OK)
        return status;
    const problem own = resolve(&options, &given);
    const husk_tensor *const operands[] = {a, b, dy, da, db};
    const husk__wish wish = husk__wish_of(options.variant, 0, operands, 5);
    return husk__plan_immediate(queue, &husk__op_binary_backward, &own, &wish, &given, &scope);
}

// The program of most kinds, on one vector of numbers and their sum.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {64};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 128 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    const husk_tensor one = {.buffer = buffer, .offset = 64};
    const husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    const arguments tensors = {&dy, {NULL, NULL}, {&dy, &one}};
    const problem own = resolve(&params, &tensors);
    const husk__wish wish = {0};
    status = husk__plan_immediate(queue, &husk__op_binary_backward, &own, &wish, &tensors, scope);
    husk_buffer_release(buffer);
    return status;
}
