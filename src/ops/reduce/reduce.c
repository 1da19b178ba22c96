// SPDX-License-Identifier: MIT
// Reductions: validate -> resolve -> choose. The variants are in ops/reduce/variants.c.
#include "ops/reduce/problem.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"

static void describe(const void *untyped, husk__key *key)
{
    const husk__reduce_problem *own = untyped;
    husk__key_i64(key, own->kind);
    husk__key_i64(key, own->result);
    husk__key_i64(key, own->reduced);
    husk__key_tensor(key, &own->x);
    husk__key_tensor(key, &own->y);
}

static void classify(const void *untyped, husk__text *text)
{
    const husk__reduce_problem *own = untyped;
    husk__reduce_geometry shape = husk__reduce_geometry_of(own);
    const husk__walk_dimension run = husk__walk_take_last(&shape.reduced);
    const husk__walk_dimension inner = husk__walk_take_last(&shape.kept);
    const bool is_pair = own->kind > HUSK_REDUCE_LOG_SUM_EXP;
    husk__text_format(text, " %s %s %s", husk_dtype_name(own->x.dtype),
                      is_pair ? "pair" : husk_reduce_kind_name((husk_reduce_kind)own->kind),
                      run.strides[0] == 1     ? "rows"
                      : inner.strides[0] == 1 ? "columns"
                                              : "strided");
    husk__class_size(text, "rows", shape.rows);
    husk__class_size(text, "inner", inner.extent);
    husk__class_size(text, "run", run.extent);
    husk__class_size(text, "count", shape.count);
}

// ---- what the variants share ----

bool husk__reduce_is_position(const husk__reduce_problem *problem)
{
    return problem->kind == HUSK_REDUCE_ARGMAX || problem->kind == HUSK_REDUCE_ARGMIN;
}

static bool is_reduced(const husk__reduce_problem *problem, int32_t d)
{
    return (problem->reduced >> d & 1) != 0;
}

// Positions count only where they are asked for: elsewhere dimensions merge that do not follow each other in order.
husk__reduce_geometry husk__reduce_geometry_of(const husk__reduce_problem *problem)
{
    husk__reduce_geometry made = {.rows = 1, .count = 1};
    int64_t positions[HUSK_MAX_RANK], position = 1;
    for (int32_t d = problem->x.rank - 1; d >= 0; --d) {
        positions[d] = position;
        if (is_reduced(problem, d) && problem->x.shape[d] > 0)
            position *= problem->x.shape[d];
    }
    for (int32_t d = 0; d < problem->x.rank; ++d) {
        husk__walk_dimension dimension = {problem->x.shape[d], {problem->x.strides[d]}};
        if (is_reduced(problem, d)) {
            made.count *= dimension.extent;
            dimension.strides[1] = husk__reduce_is_position(problem) ? positions[d] : 0;
            husk__walk_add(&made.reduced, dimension);
        } else {
            made.rows *= dimension.extent;
            dimension.strides[1] = problem->y.strides[d];
            husk__walk_add(&made.kept, dimension);
        }
    }
    if (made.count == 0)
        made.reduced.rank = 0;
    // Positions stay in order: the first of equal elements counts.
    if (!husk__reduce_is_position(problem))
        husk__walk_sort(&made.reduced);
    husk__walk_sort(&made.kept);
    husk__walk_merge(&made.reduced);
    husk__walk_merge(&made.kept);
    return made;
}

husk__reduce_launch *husk__reduce_make_launch(husk_plan *plan)
{
    husk__reduce_launch *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return NULL;
    husk__reduce_geometry shape = husk__reduce_geometry_of(plan->problem);
    state->rows = shape.rows;
    state->count = shape.count;
    state->segments = 1;
    state->segment = shape.count;
    state->all_kept = husk__walk_prepare(&shape.kept);
    return state;
}

husk_status husk__reduce_get_kernels(husk_plan *plan, const char *file, const char *options, const char *name,
                                     const char *combine, const husk__scope *scope)
{
    husk__reduce_launch *own = plan->state;
    husk_status status = husk__kernel_get(plan->context, file, options, name, &own->kernels[0], scope);
    if (status == HUSK_OK && own->segments > 1)
        status = husk__kernel_get(plan->context, file, options, combine, &own->kernels[1], scope);
    return status;
}

static husk_status run_combine(const husk_plan *plan, husk_queue *queue, const husk__reduce_arguments *given,
                               const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__reduce_launch *own = plan->state;
    const husk__reduce_problem *what = plan->problem;
    const husk__range range = {{(size_t)husk__min_i64(own->rows, 64), 1, 1}, {1, 1, 1}};
    const uint64_t word = husk__accumulator_size(what->x.dtype);
    husk__arg list[16], *end = list;
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, word);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__walk_write_args(&own->all_kept, 2, end);
    *end++ = HUSK__ARG_I64(own->count);
    *end++ = HUSK__ARG_I64(own->segments);
    *end++ = HUSK__ARG_I64(own->rows);
    *end++ = HUSK__ARG_I32(what->kind);
    *end++ = HUSK__ARG_I32(what->result);
    return husk__launch(queue, own->kernels[1], &range, list, (size_t)(end - list), scope);
}

husk_status husk__reduce_run(const husk_plan *plan, husk_queue *queue, const husk__reduce_arguments *given,
                             const husk__scratch *scratch, const husk__arg *more, size_t more_count,
                             const husk__scope *scope)
{
    const husk__reduce_launch *own = plan->state;
    const husk__reduce_problem *what = plan->problem;
    const uint64_t word = husk__accumulator_size(what->x.dtype);
    husk__arg list[40], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = HUSK__ARG_BUFFER(own->segments > 1 ? scratch->buffer : NULL, 0, word);
    end = husk__walk_write_args(&own->kept, 2, end);
    end = husk__walk_write_args(&own->reduced, 2, end);
    for (size_t i = 0; i < more_count; ++i)
        *end++ = more[i];
    *end++ = HUSK__ARG_I32(what->kind);
    *end++ = HUSK__ARG_I32(what->result);
    husk_status status = husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
    if (status == HUSK_OK && own->segments > 1)
        status = run_combine(plan, queue, given, scratch, scope);
    return status;
}

// ---- the operator ----

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__reduce_rows, &husk__reduce_columns, &husk__reduce_workgroup,
                                                NULL};

const husk__op husk__op_reduce = {
    .name = "reduce",
    .problem_size = sizeof(husk__reduce_problem),
    .variants = variants,
    .describe = describe,
    .prewarm = prewarm,
    .classify = classify,
};

const char *husk_reduce_kind_name(husk_reduce_kind kind)
{
    switch (kind) {
#define NAME(name, number, text) \
    case HUSK_REDUCE_##name:     \
        return text;
        HUSK_REDUCE_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

husk_status husk__reduce_axes(const husk_reduce_params *params, const husk_tensor *x, const char *argument,
                              uint32_t *reduced, const husk__scope *scope)
{
    *reduced = params->axis_count == 0 ? (1u << x->rank) - 1 : 0;
    if (params->axis_count < 0 || params->axis_count > HUSK_MAX_RANK)
        return husk__reject(scope, "params", "axis_count is %d, must be 0 to %d", (int)params->axis_count,
                            HUSK_MAX_RANK);
    for (int32_t i = 0; i < HUSK_MAX_RANK; ++i) {
        if (i >= params->axis_count) {
            if (params->axes[i] != 0)
                return husk__reject(scope, "params", "axes[%d] is %d, but axis_count is %d", (int)i,
                                    (int)params->axes[i], (int)params->axis_count);
            continue;
        }
        const int32_t dimension = husk__axis_dimension(params->axes[i], x->rank);
        if (dimension < 0)
            return husk__reject(scope, "params", "axes[%d] " HUSK__AXIS_TEXT, (int)i,
                                HUSK__AXIS_VALUES(params->axes[i], x->rank, argument));
        if (*reduced >> dimension & 1)
            return husk__reject(scope, "params", "axes[%d] is %d, a dimension that is named already", (int)i,
                                (int)params->axes[i]);
        *reduced |= 1u << dimension;
    }
    return HUSK_OK;
}

husk_status husk__reduce_check_shape(const husk_tensor *y, const char *argument, const husk_tensor *x, uint32_t reduced,
                                     const husk__scope *scope)
{
    husk_tensor kept = {.rank = x->rank}, dropped = {0};
    for (int32_t d = 0; d < x->rank; ++d) {
        kept.shape[d] = reduced >> d & 1 ? 1 : x->shape[d];
        if (!(reduced >> d & 1))
            dropped.shape[dropped.rank++] = x->shape[d];
    }
    bool is_kept = y->rank == kept.rank, is_dropped = y->rank == dropped.rank;
    for (int32_t d = 0; d < y->rank; ++d) {
        is_kept = is_kept && y->shape[d] == kept.shape[d];
        is_dropped = is_dropped && y->shape[d] == dropped.shape[d];
    }
    if (is_kept || is_dropped)
        return HUSK_OK;
    char is[HUSK__SHAPE_TEXT], one[HUSK__SHAPE_TEXT], other[HUSK__SHAPE_TEXT];
    return husk__reject(scope, argument, "shape is %s, must be %s or %s, x's without what is reduced",
                        husk__shape_text(y, is), husk__shape_text(&dropped, one), husk__shape_text(&kept, other));
}

husk_tensor husk__reduce_align(const husk_tensor *y, const husk_tensor *x, uint32_t reduced)
{
    husk_tensor own = *y, made = *y;
    husk__tensor_resolve(&own);
    made.rank = x->rank;
    for (int32_t d = 0, at = 0; d < x->rank; ++d) {
        const bool is_kept = !(reduced >> d & 1);
        made.shape[d] = is_kept ? x->shape[d] : 1;
        made.strides[d] = is_kept ? own.strides[at] : 0;
        at += is_kept || own.rank == x->rank;
    }
    made.buffer = NULL;
    made.offset = 0;
    return made;
}

static husk_status check_kind(const husk_reduce_params *params, const husk_tensor *x, const husk_tensor *y,
                              uint32_t reduced, const husk__scope *scope)
{
    const bool is_position = params->kind == HUSK_REDUCE_ARGMAX || params->kind == HUSK_REDUCE_ARGMIN;
    int64_t count = 1;
    for (int32_t d = 0; d < x->rank; ++d)
        count *= reduced >> d & 1 ? x->shape[d] : 1;
    if (is_position && y->dtype != HUSK_I32 && y->dtype != HUSK_I64)
        return husk__fail(scope, HUSK_UNSUPPORTED, "y: is %s; %s gives i32 or i64", husk_dtype_name(y->dtype),
                          husk_reduce_kind_name(params->kind));
    if (is_position && y->dtype == HUSK_I32 && count > INT32_MAX)
        return husk__reject(scope, "y", "is i32, which cannot count %lld elements", (long long)count);
    if (count == 0 && husk__tensor_count(y) > 0 &&
        (is_position || params->kind == HUSK_REDUCE_MAX || params->kind == HUSK_REDUCE_MIN))
        return husk__reject(scope, "x", "has no elements to take the %s of", husk_reduce_kind_name(params->kind));
    return HUSK_OK;
}

static husk_status validate(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                            const husk_tensor *y, uint32_t *reduced, const husk__scope *scope)
{
    if ((uint32_t)params->kind > HUSK_REDUCE_LOG_SUM_EXP)
        return husk__reject(scope, "params", "kind %d is unknown", (int)params->kind);
    const bool is_position = params->kind == HUSK_REDUCE_ARGMAX || params->kind == HUSK_REDUCE_ARGMIN;
    husk_status status = husk__tensor_check_real(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__reduce_axes(params, x, "x", reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_plain(y, is_position && y ? y->dtype : x->dtype, "y", scope);
    if (status == HUSK_OK)
        status = husk__reduce_check_shape(y, "y", x, *reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_check_distinct(y, "y", scope);
    if (status == HUSK_OK)
        status = check_kind(params, x, y, *reduced, scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, x, "x", scope);
    if (status == HUSK_OK)
        status = husk__tensor_bind(queue, y, "y", scope);
    if (status == HUSK_OK)
        status = husk__refuse_overlap(y, "y", x, "x", scope);
    return status;
}

static husk__reduce_problem resolve(husk_reduce_kind kind, uint32_t reduced, const husk_tensor *x,
                                    const husk_tensor *y)
{
    husk__reduce_problem own = {.kind = (int32_t)kind, .reduced = reduced, .x = *x};
    husk__tensor_resolve(&own.x);
    own.x.buffer = NULL;
    own.x.offset = 0;
    own.y = husk__reduce_align(y, x, own.reduced);
    own.result = y->dtype == HUSK_I32 ? HUSK__REDUCE_I32 : y->dtype == HUSK_I64 ? HUSK__REDUCE_I64 : HUSK__REDUCE_DATA;
    return own;
}

husk_status husk_reduce(husk_queue *queue, const husk_reduce_params *params, const husk_tensor *x,
                        const husk_tensor *y)
{
    husk__scope scope;
    husk_reduce_params given;
    uint32_t reduced;
    husk_status status = husk__call_begin(queue, "husk_reduce", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_REDUCE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = validate(queue, &given, x, y, &reduced, &scope);
    if (status != HUSK_OK || husk__tensor_count(y) == 0)
        return status;

    const husk__reduce_problem own = resolve(given.kind, reduced, x, y);
    const husk_tensor *const operands[] = {x, y};
    const husk__wish wish = husk__wish_of(given.variant, 0, operands, 2);
    const husk__reduce_arguments tensors = {x, y};
    return husk__plan_immediate(queue, &husk__op_reduce, &own, &wish, &tensors, &scope);
}

// Rows and columns, on a few numbers.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const int64_t shape[] = {32, 32};
    husk_buffer *buffer;
    husk_status status =
        husk_buffer_create(husk_queue_context(queue), 33 * 32 * sizeof(float), &buffer, scope->error);
    if (status != HUSK_OK)
        return status;
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 2, shape);
    husk_tensor y = husk_tensor_make(buffer, HUSK_F32, 1, shape);
    y.offset = 32 * 32;
    for (uint32_t reduced = 1; reduced <= 2 && status == HUSK_OK; ++reduced) {
        const husk__reduce_problem own = resolve(HUSK_REDUCE_SUM, reduced, &x, &y);
        const husk__wish wish = {0};
        const husk__reduce_arguments tensors = {&x, &y};
        status = husk__plan_immediate(queue, &husk__op_reduce, &own, &wish, &tensors, scope);
    }
    husk_buffer_release(buffer);
    return status;
}
