// SPDX-License-Identifier: MIT
// Reductions and their gradients: the axes and what is left of a shape, and the problem as kernels see it.
#include "ops/reduce/problem.h"

#include "base/axis.h"
#include "base/tensor.h"

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

// Neighbouring dimensions of which all or none are reduced are one: their extents; those of one element do not count.
// Returns how many there are, and whether the first is reduced.
static int32_t make_runs(const husk_tensor *x, uint32_t reduced, int64_t extents[HUSK_MAX_RANK], bool *first)
{
    int32_t count = 0;
    bool was_reduced = false;
    *first = false;
    for (int32_t d = 0; d < x->rank; ++d) {
        const bool is_reduced = (reduced >> d & 1) != 0;
        if (x->shape[d] == 1)
            continue;
        if (count == 0)
            *first = is_reduced;
        if (count == 0 || is_reduced != was_reduced)
            extents[count++] = 1;
        extents[count - 1] *= x->shape[d];
        was_reduced = is_reduced;
    }
    return count;
}

void husk__reduce_begin_case(husk_reduce_kind kind, const husk_tensor *x, uint32_t reduced, husk__case *c)
{
    int64_t runs[HUSK_MAX_RANK], kept = 1, all = 1;
    bool first;
    char shape[HUSK__SHAPE_TEXT];
    const int32_t count = make_runs(x, reduced, runs, &first), before = first ? 0 : 1; // runs before the axis
    const bool has_ends = first && count == 3, is_simple = count - before <= 2 || has_ends;
    for (int32_t i = 0; i < count; ++i)
        *((i + first) % 2 ? &all : &kept) *= runs[i];
    husk__case_begin(c, "reduce");
    husk__case_size(c, "outer", has_ends ? runs[0] : !is_simple ? kept : before && count > 0 ? runs[0] : 1);
    husk__case_size(c, "axis", has_ends ? runs[1] : !is_simple ? all : before < count ? runs[before] : 1);
    husk__case_integer(c, "inner", has_ends ? runs[2] : is_simple && before + 1 < count ? runs[before + 1] : 1, 1);
    husk__case_word(c, "kind", husk_reduce_kind_name(kind), husk_reduce_kind_name(HUSK_REDUCE_SUM));
    husk__case_integer(c, "ends", has_ends, 0);
    husk__case_dtype(c, x->dtype);
    for (int32_t d = 0; d < x->rank && !is_simple; ++d)
        if (reduced >> d & 1)
            husk__case_note(c, "reduces dimension %d of %s", (int)d, husk__shape_text(x, shape));
}

static bool is_position(const husk__reduce_problem *problem)
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
            dimension.strides[1] = is_position(problem) ? positions[d] : 0;
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
    if (!is_position(problem))
        husk__walk_sort(&made.reduced);
    husk__walk_sort(&made.kept);
    husk__walk_merge(&made.reduced);
    husk__walk_merge(&made.kept);
    return made;
}
