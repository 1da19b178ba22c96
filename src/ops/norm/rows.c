// SPDX-License-Identifier: MIT
// Normalisation's variant for CPU devices where sets lie in runs: choose -> launch. Kernel: cl/norm/rows.cl.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

typedef husk__norm_problem problem;
typedef husk__norm_arguments arguments;
typedef husk__norm_dimension dimension;

// A set as the kernel walks it: `runs` of x for the moments, `parts` for the results.
typedef struct walk {
    dimension outer, inner; // of the sets
    dimension runs, run;
    dimension parts, part;
    int64_t set_count, set_size;
} walk;

static bool has_stride_one(const dimension *last, int tensors)
{
    bool is_one = last->extent == 1 || last->parameter <= 1;
    for (int t = 0; t < tensors; ++t)
        is_one = is_one && (last->extent == 1 || last->strides[t] == 1);
    return is_one;
}

static bool make_walk(const problem *own, walk *made)
{
    memset(made, 0, sizeof *made);
    const husk__norm_lists sets = husk__norm_sets(own);
    husk__norm_list outer = sets.outer, parts = sets.inner, runs = husk__norm_of_x(&sets.inner);
    if (outer.rank > 2 || parts.rank > 2 || runs.rank > 2)
        return false;
    made->inner = husk__norm_take_last(&outer);
    made->outer = husk__norm_take_last(&outer);
    made->part = husk__norm_take_last(&parts);
    made->parts = husk__norm_take_last(&parts);
    made->run = husk__norm_take_last(&runs);
    made->runs = husk__norm_take_last(&runs);
    made->set_count = sets.outer_count;
    made->set_size = sets.inner_count;
    return has_stride_one(&made->part, 2) && has_stride_one(&made->run, 1);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    walk shape;
    snprintf(reason, HUSK__REASON_CAPACITY, "it needs sets whose elements lie in runs at stride 1, and few dimensions");
    return make_walk(candidate->problem, &shape);
}

enum { SHORT_VECTORS = 4 }; // a run of fewer vectors is short: what it costs beside its elements is more
// Nanoseconds, which follow from the kernel's loops; they are compared with those of columns.c.
static const double SET_NS = 40.0;       // of a set: its moments' parts, joined, and its statistics
static const double SHORT_RUN_NS = 12.0; // of a run of results, beside its elements: the ends of the loop over it
static const double LONG_RUN_NS = 4.0;
static const double ELEMENT_NS = 0.4; // of an element: read for the moments, and for the result, which is written

// Memory's time, and what every run of the results and every part of the moments costs beside it.
static double cost(const husk__candidate *candidate)
{
    walk shape;
    make_walk(candidate->problem, &shape);
    const double sets = (double)shape.set_count, vector = candidate->traits->vector_width;
    const double lost =
        (double)shape.parts.extent * (shape.part.extent < SHORT_VECTORS * vector ? SHORT_RUN_NS : LONG_RUN_NS);
    return sets * (SET_NS + lost + ELEMENT_NS * (double)shape.set_size);
}

typedef struct launch {
    const husk__kernel *kernel;
    walk shape;
    int64_t share;
    int32_t mode;
    husk__range range;
} launch;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    make_walk(what, &own->shape);
    own->mode = husk__norm_mode(what) | husk__norm_streams(what, traits);
    own->share = husk__norm_share(traits, own->shape.set_count, own->shape.set_size);
    own->range = (husk__range){{(size_t)husk__divide_up(own->shape.set_count, own->share), 1, 1}, {1, 1, 1}};
    return husk__kernel_get(plan->context, "norm/rows.cl", husk__dtype_option(what->tensors[0].dtype), "husk_norm_rows",
                            &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const walk *shape = &own->shape;
    const arguments *given = untyped;
    husk__arg list[4 + HUSK__NORM_STATISTICS_ARGS + 21], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->bias);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__norm_write_statistics(plan->problem, given, end);
    end = husk__norm_write_strides(&shape->outer, 2, end);
    *end++ = HUSK__ARG_I64(shape->inner.extent);
    end = husk__norm_write_strides(&shape->inner, 2, end);
    *end++ = HUSK__ARG_I64(shape->runs.extent);
    *end++ = HUSK__ARG_I64(shape->runs.strides[HUSK__NORM_X]);
    *end++ = HUSK__ARG_I64(shape->run.extent);
    *end++ = HUSK__ARG_I64(shape->parts.extent);
    *end++ = HUSK__ARG_I64(shape->parts.strides[HUSK__NORM_X]);
    *end++ = HUSK__ARG_I64(shape->parts.strides[HUSK__NORM_Y]);
    *end++ = HUSK__ARG_I64(shape->parts.parameter);
    *end++ = HUSK__ARG_I64(shape->part.extent);
    *end++ = HUSK__ARG_I32(shape->part.parameter);
    *end++ = HUSK__ARG_I64(shape->set_count);
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(husk__norm_mode_to(own->mode, given->x, NULL, given->y));
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__norm_rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__norm_cpu_menu,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
