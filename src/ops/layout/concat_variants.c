// SPDX-License-Identifier: MIT
// The variants of concat and of its gradient. Kernels: cl/layout/concat_*.cl.
#include <stdio.h>
#include <stdlib.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/layout/concat_problem.h"
#include "select/grid.h"

void husk__concat_describe(const void *untyped, husk__key *key)
{
    const husk__concat_problem *own = untyped;
    const int64_t fields[] = {own->is_gradient, own->adds,      own->dtype, own->count,     own->wanted,
                              own->whole_step,  own->part_step, own->total, own->outer.rank};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; ++i)
        husk__key_i64(key, fields[i]);
    for (int32_t d = 0; d < own->outer.rank; ++d) {
        husk__key_i64(key, own->outer.dimensions[d].extent);
        husk__key_i64(key, own->outer.dimensions[d].strides[0]);
        husk__key_i64(key, own->outer.dimensions[d].strides[1]);
    }
    for (int32_t k = 0; k < own->count; ++k) {
        husk__key_i64(key, own->ends[k]);
        husk__key_i64(key, own->strides[k]);
    }
}

void husk__concat_classify(const void *untyped, husk__text *text)
{
    const husk__concat_problem *own = untyped;
    husk__text_format(text, " %s parts=%d%s", husk_dtype_name(own->dtype), (int)own->count,
                      own->whole_step == 1 && own->part_step == 1 ? "" : " strided");
    husk__class_size(text, "row", own->total);
    husk__class_size(text, "rows", husk__walk_count(&own->outer));
}

// Extents as the tensors of a run have them; false where one part stands alone, whose axis they do not show.
static bool extents_of(const husk__concat_problem *own, const husk__concat_arguments *given, int64_t extents[3])
{
    const husk_tensor *part = NULL;
    int32_t axis = 0;
    for (int32_t k = 0; given && k < own->count && !part; ++k)
        part = given->parts[k];
    if (!part || own->count < 2)
        return false;
    while (axis + 1 < part->rank && part->shape[axis] == given->whole->shape[axis])
        ++axis;
    extents[0] = extents[2] = 1;
    extents[1] = given->whole->shape[axis];
    for (int32_t d = 0; d < part->rank; ++d)
        if (d != axis)
            extents[d < axis ? 0 : 2] *= part->shape[d];
    return true;
}

static bool has_strides(const husk__concat_problem *own)
{
    const husk__walk_dimension *rows = own->outer.rank == 1 ? &own->outer.dimensions[0] : NULL;
    bool has = own->whole_step != 1 || own->part_step != 1 || own->outer.rank > 1;
    for (int32_t k = 0; rows && rows->extent > 1 && own->count > 1 && k < own->count; ++k)
        has = has || rows->strides[0] != own->total ||
              ((own->wanted >> k & 1) && own->strides[k] != own->ends[k] - (k ? own->ends[k - 1] : 0));
    return has;
}

// The problem has the axis and what lies inside as one row, and so has the case where there is no run.
void husk__concat_write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const husk__concat_problem *own = untyped;
    int64_t extents[3] = {husk__walk_count(&own->outer), own->total, 1};
    const bool is_whole = extents_of(own, untyped_run, extents);
    const int64_t unit = own->total / husk__max_i64(extents[1], 1), first = own->ends[0] / husk__max_i64(unit, 1);
    husk__case_begin(c, "concat");
    husk__case_size(c, "a", first);
    husk__case_size(c, "b", husk__max_i64(extents[1] - first, 1));
    husk__case_integer(c, "outer", extents[0], 1);
    husk__case_integer(c, "inner", is_whole ? extents[2] : 1, 1);
    husk__case_dtype(c, own->dtype);
    if (own->is_gradient)
        husk__case_word(c, "dir", "bwd", NULL);
    if (own->count == 1)
        husk__case_note(c, "a alone");
    for (int32_t k = 1; k < own->count && own->count > 2; ++k)
        husk__case_note(c, "%lld", (long long)((own->ends[k] - own->ends[k - 1]) / husk__max_i64(unit, 1)));
    for (int32_t k = 0; k < own->count; ++k)
        if (!(own->wanted >> k & 1))
            husk__case_note(c, "without part %d", (int)k);
    if (has_strides(own) || (is_whole && extents[2] != unit))
        husk__case_note(c, "strides");
    if (own->adds)
        husk__case_note(c, "accumulates");
}

typedef struct launch {
    const husk__kernel *kernel;
    husk__walk_values outer;
    int64_t elements, share;
    husk__range range;
} launch;

// A work-group is worth launching for so many elements: waking a thread takes as long.
enum { ROWS_MINIMUM = 65536, ROWS_GROUPS = 4, GRID_GROUPS = 16, SHARE_MULTIPLE = 64 };

// values[0]: work-items a group, 1 for CPU devices.
static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__concat_problem *what = plan->problem;
    const int64_t items = plan->configuration->values[0];
    const int64_t units = (int64_t)husk_context_traits(plan->context)->compute_units;
    launch *own = calloc(1, sizeof *own);
    plan->state = own; // freed with the plan
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    own->outer = husk__walk_prepare(&what->outer);
    own->elements = husk__walk_count(&what->outer) * what->total;
    const int64_t share = husk__divide_up(own->elements, ROWS_GROUPS * units);
    own->share = husk__round_up(husk__max_i64(share, ROWS_MINIMUM), SHARE_MULTIPLE);
    const int64_t groups = items == 1 ? husk__divide_up(own->elements, own->share)
                                      : husk__min_i64(husk__divide_up(own->elements, items), GRID_GROUPS * units);
    own->range = (husk__range){{(size_t)groups, 1, 1}, {(size_t)items, 1, 1}};
    char file[64], kernel[64], options[96];
    const char *row = what->is_gradient ? "concat_backward" : "concat", *variant = items == 1 ? "rows" : "grid";
    snprintf(file, sizeof file, "layout/%s_%s.cl", row, variant);
    snprintf(kernel, sizeof kernel, "husk_%s_%s", row, variant);
    if (what->adds)
        snprintf(options, sizeof options, "-DADDS %s %s", husk__dtype_option(what->dtype),
                 plan->configuration->options);
    else
        snprintf(options, sizeof options, "-DELEMENT_BYTES=%d %s", (int)husk_dtype_size(what->dtype),
                 plan->configuration->options);
    return husk__kernel_get(plan->context, file, options, kernel, &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__concat_problem *what = plan->problem;
    const launch *own = plan->state;
    const husk__concat_arguments *given = untyped;
    husk__arg list[32], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->whole);
    for (int k = 0; k < HUSK__CONCAT_PARTS; ++k)
        *end++ = HUSK__ARG_TENSOR(given->parts[k]);
    end = husk__walk_write_args(&own->outer, 2, end);
    *end++ = HUSK__ARG_I64X8(what->ends);
    *end++ = HUSK__ARG_I64X8(what->strides);
    *end++ = HUSK__ARG_I32(what->count);
    *end++ = HUSK__ARG_I32(what->wanted);
    *end++ = HUSK__ARG_I64(what->whole_step);
    *end++ = HUSK__ARG_I64(what->part_step);
    *end++ = HUSK__ARG_I64(what->total);
    *end++ = HUSK__ARG_I64(own->elements);
    *end++ = HUSK__ARG_I64(own->share);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static const husk__configuration rows_menu[] = {{.name = "1", .options = "", .values = {1}}};

static const husk__variant rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = rows_menu,
    .configuration_count = 1,
    .prepare = prepare,
    .run = run,
};

static const husk__variant grid = {
    HUSK__GRID_VARIANT,
    .prepare = prepare,
    .run = run,
};

const husk__variant *const husk__concat_variants[] = {&rows, &grid, NULL};
