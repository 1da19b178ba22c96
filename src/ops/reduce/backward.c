// SPDX-License-Identifier: MIT
// Gradients of reductions: validate -> resolve -> choose -> launch. Kernels: cl/reduce/backward_*.cl.
//
// Every element of dx needs x's and two numbers of its result. For maxima and products a reduction finds them first:
// a plan of `reduce` inside this one, of a kind of its own.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ops/reduce/problem.h"
#include "select/grid.h"

extern const husk__op husk__op_reduce;

typedef struct problem {
    husk_reduce_kind kind;
    uint32_t reduced;
    bool accumulates;
    husk_tensor x, dx; // of SUM and MEAN x is dx
    husk_tensor y, dy; // aligned to x; y is dy where it is not read
} problem;

typedef struct arguments {
    const husk_tensor *x, *y, *dy, *dx; // x and y may be NULL where they are not read
} arguments;

static void describe(const void *untyped, husk__key *key)
{
    const problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_i64(key, own->reduced);
    husk__key_i64(key, own->accumulates);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
    husk__key_tensor(key, &own->dy);
    husk__key_tensor(key, &own->dx);
}

// ---- what the variants share ----

// FORM_ of cl/lib/reduction_gradient.clh.
typedef enum form { FORM_BROADCAST, FORM_SIGN, FORM_NORM, FORM_EXP, FORM_EXTREME, FORM_PRODUCT } form;

static form form_of(husk_reduce_kind kind)
{
    switch (kind) {
    case HUSK_REDUCE_SUM_ABS:
        return FORM_SIGN;
    case HUSK_REDUCE_NORM:
        return FORM_NORM;
    case HUSK_REDUCE_LOG_SUM_EXP:
        return FORM_EXP;
    case HUSK_REDUCE_MAX:
    case HUSK_REDUCE_MIN:
        return FORM_EXTREME;
    case HUSK_REDUCE_PRODUCT:
        return FORM_PRODUCT;
    default:
        return FORM_BROADCAST;
    }
}

static bool has_pairs(const problem *own)
{
    return form_of(own->kind) == FORM_EXTREME || form_of(own->kind) == FORM_PRODUCT;
}

static bool reads_y(husk_reduce_kind kind)
{
    return kind == HUSK_REDUCE_NORM || kind == HUSK_REDUCE_LOG_SUM_EXP;
}

static bool reads_x(husk_reduce_kind kind)
{
    return kind != HUSK_REDUCE_SUM && kind != HUSK_REDUCE_MEAN;
}

// The reduction that makes pairs, packed: y's strides are the pairs'.
static husk__reduce_problem pairs_problem(const problem *own)
{
    husk__reduce_problem made = {.result = HUSK__REDUCE_PAIR, .reduced = own->reduced, .x = own->x, .y = own->x};
    made.kind = own->kind == HUSK_REDUCE_MAX   ? HUSK__REDUCE_MAX_COUNT
                : own->kind == HUSK_REDUCE_MIN ? HUSK__REDUCE_MIN_COUNT
                                               : HUSK__REDUCE_PRODUCT_ZEROS;
    made.y.dtype = own->x.dtype == HUSK_F64 ? HUSK_F64 : HUSK_F32;
    int64_t stride = 2;
    for (int32_t d = own->x.rank - 1; d >= 0; --d) {
        const bool is_kept = !(own->reduced >> d & 1);
        made.y.shape[d] = is_kept ? own->x.shape[d] : 1;
        made.y.strides[d] = is_kept ? stride : 0;
        stride *= made.y.shape[d];
    }
    return made;
}

static uint64_t pairs_size(const problem *own)
{
    uint64_t results = 1;
    for (int32_t d = 0; d < own->x.rank; ++d)
        results *= own->reduced >> d & 1 ? 1 : (uint64_t)own->x.shape[d];
    return has_pairs(own) ? 2 * husk__accumulator_size(own->x.dtype) * results : 0;
}

// Tensors: dx, x, dy, and y or the pairs.
static husk__walk walk_of(const problem *own)
{
    const husk__reduce_problem pairs = pairs_problem(own);
    husk__walk walk = {0};
    for (int32_t d = 0; d < own->x.rank; ++d) {
        husk__walk_dimension dimension = {own->x.shape[d], {own->dx.strides[d], 0, own->dy.strides[d], 0}};
        dimension.strides[1] = reads_x(own->kind) ? own->x.strides[d] : 0;
        dimension.strides[3] = reads_y(own->kind) ? own->y.strides[d] : has_pairs(own) ? pairs.y.strides[d] : 0;
        husk__walk_add(&walk, dimension);
    }
    husk__walk_sort(&walk);
    husk__walk_merge(&walk);
    return walk;
}

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__walk walk = walk_of(own);
    const husk__walk_dimension row = husk__walk_take_last(&walk);
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->x.dtype), husk_reduce_kind_name(own->kind),
                      row.strides[2] == 0 ? "rows" : "columns");
    husk__class_size(text, "row", row.extent);
    husk__class_size(text, "rows", husk__walk_count(&walk));
}

// A variant's state.
typedef struct launch {
    const husk__kernel *kernel;
    husk_plan *pairs; // NULL: there are none
    husk__reduce_problem pairs_problem;
    husk__walk_values outer;
    husk__walk_dimension row;
    int64_t total, share;
    double scale;
    husk__range range;
} launch;

static uint64_t workspace(const husk__candidate *candidate)
{
    return pairs_size(candidate->problem);
}

static void unprepare(husk_plan *plan)
{
    launch *own = plan->state;
    if (own)
        husk_plan_release(own->pairs);
    free(own);
}

static husk_status prepare(husk_plan *plan, const char *file, const char *kernel, const husk__scope *scope)
{
    const problem *what = plan->problem;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk__walk walk = walk_of(what);
    own->total = husk__walk_count(&walk);
    own->row = husk__walk_take_last(&walk);
    own->outer = husk__walk_prepare(&walk);
    int64_t reduced = 1;
    for (int32_t d = 0; d < what->x.rank; ++d)
        reduced *= what->reduced >> d & 1 ? what->x.shape[d] : 1;
    own->scale = what->kind == HUSK_REDUCE_MEAN ? 1.0 / (double)reduced : 1.0;
    if (has_pairs(what)) {
        const husk_tensor *const operands[] = {&what->x};
        const husk__preference preference = {.limit = husk__default_limit(operands, 1)};
        own->pairs_problem = pairs_problem(what);
        husk_status status =
            husk__plan_create(plan->context, &husk__op_reduce, &own->pairs_problem, &preference, &own->pairs, scope);
        if (status != HUSK_OK)
            return status;
        husk__plan_adopt(plan, own->pairs);
    }
    char options[128];
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(what->dx.dtype), plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

static husk_status run_pairs(const launch *own, husk_queue *queue, const arguments *given, const husk__scratch *scratch,
                             const husk__scope *scope)
{
    husk_tensor pairs = own->pairs_problem.y;
    pairs.buffer = scratch->buffer;
    const husk__reduce_arguments tensors = {given->x, &pairs};
    return husk__plan_execute(own->pairs, queue, &tensors, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    if (own->pairs) {
        husk_status status = run_pairs(own, queue, given, scratch, scope);
        if (status != HUSK_OK)
            return status;
    }
    husk__arg list[40], *end = list;
    *end++ = HUSK__ARG_TENSOR(reads_x(what->kind) ? given->x : NULL);
    *end++ = HUSK__ARG_TENSOR(reads_y(what->kind) ? given->y : NULL);
    *end++ = HUSK__ARG_BUFFER(own->pairs ? scratch->buffer : NULL, 0, husk__accumulator_size(what->dx.dtype));
    *end++ = HUSK__ARG_TENSOR(given->dy);
    *end++ = HUSK__ARG_TENSOR(given->dx);
    end = husk__walk_write_args(&own->outer, 4, end);
    *end++ = HUSK__ARG_I64(own->row.extent);
    for (int t = 0; t < 4; ++t)
        *end++ = HUSK__ARG_I64(own->row.strides[t]);
    *end++ = HUSK__ARG_I64(own->total);
    if (own->share)
        *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(form_of(what->kind));
    *end++ = HUSK__ARG_ACC(what->dx.dtype, own->scale);
    *end++ = HUSK__ARG_I32(what->accumulates);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

// ---- vector: CPU devices ----

enum { VECTOR_MINIMUM = 65536, VECTOR_GROUPS_PER_UNIT = 4, VECTOR_MULTIPLE = 64 };

static husk_status prepare_vector(husk_plan *plan, const husk__scope *scope)
{
    husk_status status = prepare(plan, "reduce/backward_vector.cl", "husk_reduce_backward_vector", scope);
    if (status != HUSK_OK)
        return status;
    launch *own = plan->state;
    const int64_t units = husk_context_traits(plan->context)->compute_units;
    const int64_t share = husk__divide_up(own->total, VECTOR_GROUPS_PER_UNIT * units);
    own->share = husk__round_up(husk__max_i64(share, VECTOR_MINIMUM), VECTOR_MULTIPLE);
    own->range = (husk__range){{(size_t)husk__divide_up(own->total, own->share), 1, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static const husk__configuration vector_menu[] = {{.name = "1", .options = ""}};

static const husk__variant vector = {
    .name = "vector",
    .family = HUSK__FAMILY_CPU,
    .configurations = vector_menu,
    .configuration_count = 1,
    .workspace = workspace,
    .prepare = prepare_vector,
    .unprepare = unprepare,
    .run = run,
};

// ---- grid: GPUs ----

enum { GRID_GROUPS_PER_UNIT = 16 };

static husk_status prepare_grid(husk_plan *plan, const husk__scope *scope)
{
    husk_status status = prepare(plan, "reduce/backward_grid.cl", "husk_reduce_backward_grid", scope);
    if (status != HUSK_OK)
        return status;
    launch *own = plan->state;
    const int64_t items = husk__grid_items(plan->configuration);
    const int64_t most = GRID_GROUPS_PER_UNIT * (int64_t)husk_context_traits(plan->context)->compute_units;
    own->range =
        (husk__range){{(size_t)husk__min_i64(husk__divide_up(own->total, items), most), 1, 1}, {(size_t)items, 1, 1}};
    return HUSK_OK;
}

static const husk__variant grid = {
    HUSK__GRID_VARIANT, .workspace = workspace, .prepare = prepare_grid, .unprepare = unprepare, .run = run,
};

// ---- the operator ----

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    (void)given;
    husk__reduce_begin_case(own->kind, &own->dx, own->reduced, c);
    husk__case_word(c, "dir", "bwd", NULL);
    husk__case_tensor(c, "x", &own->x);
    husk__case_tensor(c, "dy", &own->dy);
    husk__case_tensor(c, "dx", &own->dx);
    if (own->accumulates)
        husk__case_note(c, "accumulates");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&vector, &grid, NULL};

const husk__op husk__op_reduce_backward = {
    .name = "reduce_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

static husk_status check_params(const husk_reduce_params *params, const husk__scope *scope)
{
    if ((uint32_t)params->kind > HUSK_REDUCE_LOG_SUM_EXP)
        return husk__reject(scope, "params", "kind %d is unknown", (int)params->kind);
    if (params->kind == HUSK_REDUCE_ARGMAX || params->kind == HUSK_REDUCE_ARGMIN)
        return husk__reject(scope, "params", "kind is %s, which has no gradient", husk_reduce_kind_name(params->kind));
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate is %u, must be bits of husk_accumulate",
                            (unsigned)params->accumulate);
    return HUSK_OK;
}

// An operand of y's shape.
static husk_status check_result(uint32_t reduced, const husk_tensor *y, const char *argument, const husk_tensor *dx,
                                const husk__scope *scope)
{
    husk_status status = husk__tensor_check_plain(y, dx->dtype, argument, scope);
    if (status == HUSK_OK)
        status = husk__reduce_check_shape(y, argument, dx, reduced, scope);
    return status;
}

static husk_status validate_numbers(husk_queue *queue, const husk_reduce_params *params, const arguments *given,
                                    uint32_t *reduced, const husk__scope *scope)
{
    const husk_tensor *dx = given->dx;
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK && reads_x(params->kind) && !given->x)
        return husk__reject(scope, "x", "is NULL");
    if (status == HUSK_OK)
        status = husk__tensor_check_real(queue, dx, "dx", scope);
    if (status == HUSK_OK)
        status = husk__reduce_axes(params, dx, "dx", reduced, scope);
    if (status == HUSK_OK && reads_x(params->kind))
        status = husk__tensor_check_plain(given->x, dx->dtype, "x", scope);
    if (status == HUSK_OK && reads_x(params->kind))
        status = husk__tensor_check_shape(given->x, "x", dx->rank, dx->shape, "as dx", scope);
    if (status == HUSK_OK && reads_y(params->kind))
        status = check_result(*reduced, given->y, "y", dx, scope);
    if (status == HUSK_OK)
        status = check_result(*reduced, given->dy, "dy", dx, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(dx, "dx", scope);
    return status;
}

static husk_status validate(husk_queue *queue, const husk_reduce_params *params, const arguments *given,
                            uint32_t *reduced, const husk__scope *scope)
{
    husk_status status = validate_numbers(queue, params, given, reduced, scope);
    if (status == HUSK_OK && reads_x(params->kind))
        status = husk__tensor_bind(queue, given->x, "x", scope);
    if (status == HUSK_OK && reads_y(params->kind))
        status = husk__tensor_bind(queue, given->y, "y", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->dy, "dy", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, given->dx, "dx", scope);
    if (status == HUSK_OK && reads_x(params->kind))
        status = husk__refuse_partial_overlap(given->dx, "dx", given->x, "x", scope);
    if (status == HUSK_OK && reads_y(params->kind))
        status = husk__refuse_overlap(given->dx, "dx", given->y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(given->dx, "dx", given->dy, "dy", scope);
    return status;
}

static problem resolve(const husk_reduce_params *params, uint32_t reduced, const arguments *given)
{
    problem own = {.kind = params->kind, .dx = husk__tensor_bare_copy(given->dx)};
    own.accumulates = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    own.reduced = reduced;
    own.x = reads_x(own.kind) ? husk__tensor_bare_copy(given->x) : own.dx;
    own.dy = husk__reduce_align(given->dy, &own.dx, own.reduced);
    own.y = reads_y(own.kind) ? husk__reduce_align(given->y, &own.dx, own.reduced) : own.dy;
    return own;
}

husk_status husk_reduce_backward(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                                 const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_reduce_params own_params;
    uint32_t reduced;
    const arguments given = {x, y, dy, dx};
    husk_status status = husk__call_begin(queue, "husk_reduce_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&own_params, sizeof own_params, "HUSK_REDUCE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &own_params, &given, &reduced, &scope);
    if (status != HUSK_OK || husk__tensor_count(dx) == 0)
        return status;

    const problem own = resolve(&own_params, reduced, &given);
    const husk_tensor *const operands[] = {reads_x(own.kind) ? x : NULL, dy, dx};
    const husk__preference preference = husk__preference_of(own_params.variant, 0, operands, 3);
    return husk__plan_immediate(queue, &husk__op_reduce_backward, &own, &preference, &given, &scope);
}

// A sum's gradient, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {32, 32};
    husk_buffer *buffer;
    husk_status status = husk_buffer_create(husk_queue_context(queue), 33 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor dx = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor dy = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    dy.offset = 32 * 32;
    const husk_reduce_params params = {0};
    const arguments given = {NULL, NULL, &dy, &dx};
    const problem own = resolve(&params, 1u << 1, &given);
    const husk__preference preference = {0};
    status = husk__plan_immediate(queue, &husk__op_reduce_backward, &own, &preference, &given, scope);
    husk_buffer_release(buffer);
    return status;
}
