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
    .name = "grid",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__grid_supports,
    .cost = husk__grid_cost,
    .prepare = prepare,
    .run = run,
};

const husk__variant *const husk__concat_variants[] = {&rows, &grid, NULL};
