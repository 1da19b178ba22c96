// SPDX-License-Identifier: MIT
// The gradients' variant for CPU devices where sets lie in runs: choose -> launch. Kernels: cl/norm/backward_rows.cl.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

typedef husk__norm_problem problem;
typedef husk__norm_arguments arguments;
typedef husk__norm_dimension dimension;

enum {
    WANTED_BLOCKS = 256, // pairs of rows in scratch memory
    LEAST_SETS = 16,     // of a block: what is summed up is a small part of what is read
    MOST_SETS = 1024,    // of a block, whose sums are plain: so many terms that are alike lose 512 units
    PITCH = 16,
    PARAMETER_STRIP = 256 // parameters that a work-group adds up
};

// A set as the kernels walk it: `parts` runs.
typedef struct walk {
    dimension outer, inner; // of the sets
    dimension parts, part;
    int64_t set_count, set_size;
    bool is_layer;        // every element of a run has a parameter
    int64_t block_sets, blocks; // layers
    int64_t parameters, pitch;
    int64_t pairs; // of sums in scratch memory
} walk;

static bool make_walk(const problem *own, walk *made)
{
    memset(made, 0, sizeof *made);
    const husk__norm_lists sets = husk__norm_sets(own);
    husk__norm_list outer = sets.outer, parts = sets.inner;
    if (outer.rank > 2 || parts.rank > 2)
        return false;
    made->inner = husk__norm_take_last(&outer);
    made->outer = husk__norm_take_last(&outer);
    made->part = husk__norm_take_last(&parts);
    made->parts = husk__norm_take_last(&parts);
    made->set_count = sets.outer_count;
    made->set_size = sets.inner_count;
    made->is_layer = own->kind == HUSK_NORM_LAYER || own->kind == HUSK_NORM_RMS;
    bool is_packed = made->part.parameter == (made->is_layer ? 1 : 0) && (!made->is_layer || made->parts.extent == 1);
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
        is_packed = is_packed && made->part.strides[t] == 1;
    if (made->part.extent == 1)
        is_packed = true;
    const husk_tensor *x = &own->tensors[HUSK__NORM_X];
    made->block_sets = husk__max_i64(husk__divide_up(made->set_count, WANTED_BLOCKS), LEAST_SETS);
    made->block_sets = husk__min_i64(made->block_sets, MOST_SETS);
    made->blocks = husk__divide_up(made->set_count, made->block_sets);
    made->parameters = made->is_layer ? made->set_size : x->shape[1];
    made->pitch = husk__round_up(made->parameters, PITCH);
    made->pairs = made->is_layer ? made->blocks : own->kind == HUSK_NORM_BATCH ? 1 : x->shape[0];
    return is_packed;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    walk shape;
    snprintf(reason, HUSK__REASON_CAPACITY, "it needs sets whose elements lie in runs at stride 1, and few dimensions");
    return make_walk(candidate->problem, &shape);
}

enum { SHORT_VECTORS = 4 }; // a run of fewer vectors is short: what it costs beside its elements is more
// Nanoseconds, which follow from the kernel's loops; they are compared with those of backward_columns.c.
static const double SET_NS = 40.0;       // of a set: its two sums, and what its dx is made with
static const double SHORT_RUN_NS = 24.0; // of a run, beside its elements: the ends of the loops over its vectors
static const double LONG_RUN_NS = 8.0;
static const double ELEMENT_NS = 0.6; // of an element: x and dy read for the sums and for dx, which is written

static double cost(const husk__candidate *candidate)
{
    walk shape;
    make_walk(candidate->problem, &shape);
    const double sets = (double)shape.set_count, vector = candidate->traits->vector_width;
    const double lost =
        (double)shape.parts.extent * (shape.part.extent < SHORT_VECTORS * vector ? SHORT_RUN_NS : LONG_RUN_NS);
    return sets * (SET_NS + lost + ELEMENT_NS * (double)shape.set_size);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    walk shape;
    make_walk(candidate->problem, &shape);
    const problem *own = candidate->problem;
    const uint64_t size = husk__norm_accumulator_size(own);
    return own->wants_parameters ? (uint64_t)(2 * shape.pairs * shape.pitch) * size : 0;
}

typedef struct launch {
    const husk__kernel *kernel, *parameters;
    walk shape;
    int64_t share;
    int32_t mode;
    husk__range range, parameters_range;
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
    const walk *shape = &own->shape;
    const int64_t units = shape->is_layer ? shape->blocks : shape->set_count;
    own->share = husk__norm_share(traits, units, shape->set_size * (shape->is_layer ? shape->block_sets : 1));
    own->range = (husk__range){{(size_t)husk__divide_up(units, own->share), 1, 1}, {1, 1, 1}};
    own->parameters_range =
        (husk__range){{(size_t)husk__divide_up(shape->parameters, PARAMETER_STRIP), 1, 1}, {1, 1, 1}};
    const char *file = "norm/backward_rows.cl", *options = husk__dtype_option(what->tensors[0].dtype);
    const char *name = shape->is_layer ? "husk_norm_backward_rows" : "husk_norm_backward_planes";
    husk_status status = husk__kernel_get(plan->context, file, options, name, &own->kernel, scope);
    if (status == HUSK_OK)
        status =
            husk__kernel_get(plan->context, file, options, "husk_norm_backward_parameters", &own->parameters, scope);
    return status;
}

static husk_status run_sets(const husk_plan *plan, husk_queue *queue, const arguments *given, husk__arg sums,
                            const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const walk *shape = &own->shape;
    husk__arg list[7 + 11 + 11], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->dy);
    *end++ = HUSK__ARG_TENSOR(given->mean);
    *end++ = HUSK__ARG_TENSOR(given->rstd);
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->dx);
    *end++ = sums;
    end = husk__norm_write_strides(&shape->outer, HUSK__NORM_TENSORS, end);
    *end++ = HUSK__ARG_I64(shape->inner.extent);
    end = husk__norm_write_strides(&shape->inner, HUSK__NORM_TENSORS, end);
    if (shape->is_layer) {
        *end++ = HUSK__ARG_I64(shape->part.extent);
        *end++ = HUSK__ARG_I64(shape->pitch);
        *end++ = HUSK__ARG_I64(shape->set_count);
        *end++ = HUSK__ARG_I64(shape->block_sets);
        *end++ = HUSK__ARG_I64(shape->blocks);
    } else {
        *end++ = HUSK__ARG_I64(shape->parts.extent);
        for (int t = 0; t < HUSK__NORM_TENSORS; ++t)
            *end++ = HUSK__ARG_I64(shape->parts.strides[t]);
        *end++ = HUSK__ARG_I64(shape->parts.parameter);
        *end++ = HUSK__ARG_I64(shape->part.extent);
        *end++ = HUSK__ARG_I64(what->groups);
        *end++ = HUSK__ARG_I64(shape->pitch);
        *end++ = HUSK__ARG_I64(shape->set_count);
    }
    *end++ = HUSK__ARG_I64(own->share);
    *end++ = HUSK__ARG_I32(husk__norm_mode_to(own->mode, given->x, given->dy, given->dx));
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    const husk__arg sums = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__norm_accumulator_size(what));
    husk_status status = run_sets(plan, queue, given, sums, scope);
    if (status != HUSK_OK || !what->wants_parameters)
        return status;
    return HUSK__LAUNCH(queue, own->parameters, &own->parameters_range, scope, sums, HUSK__ARG_TENSOR(given->dscale),
                        HUSK__ARG_TENSOR(given->dbias), HUSK__ARG_I64(own->shape.pairs),
                        HUSK__ARG_I64(own->shape.pitch), HUSK__ARG_I64(own->shape.parameters),
                        HUSK__ARG_I64(PARAMETER_STRIP), HUSK__ARG_I32(husk__norm_mode(what)));
}

const husk__variant husk__norm_backward_rows = {
    .name = "rows",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__norm_cpu_menu,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .prepare = prepare,
    .run = run,
};
