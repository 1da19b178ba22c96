// SPDX-License-Identifier: MIT
// Normalisation's variant for CPU devices and channels-last images: choose -> launch. Kernels: cl/norm/columns.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

typedef husk__norm_problem problem;
typedef husk__norm_arguments arguments;
typedef husk__norm_columns shape;

enum { LEAST_LANES = 4 }; // the least VW of the kernels
// Nanoseconds, which follow from the kernels' loops; they are compared with those of rows.c.
static const double LAUNCHES_NS = 20000.0; // of the three launches: partial, finish and apply
static const double ROW_NS = 2.0;          // of a row of channels, beside its vectors
static const double LANE_NS = 0.4;         // of an element: read for the moments and the result, which is written

// Three launches; a vector's lanes that are left over at the end of a row are lost.
static double cost(const husk__candidate *candidate)
{
    shape own;
    husk__norm_as_columns(candidate->problem, &own);
    const double lanes = candidate->traits->vector_width > LEAST_LANES ? candidate->traits->vector_width : LEAST_LANES;
    const double vectors = (double)husk__divide_up(own.columns, (int64_t)lanes);
    return LAUNCHES_NS + (double)own.images * (double)own.rows * (vectors * lanes * LANE_NS + ROW_NS);
}

static int64_t moments_size(const shape *own)
{
    return own->images * own->blocks * 3 * own->pitch;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    shape own;
    husk__norm_as_columns(candidate->problem, &own);
    return (uint64_t)(moments_size(&own) + own.images * 4 * own.pitch) *
           husk__norm_accumulator_size(candidate->problem);
}

typedef struct launch {
    const husk__kernel *partial, *finish, *apply;
    shape shape;
    int64_t share;
    int32_t mode;
    husk__range range, finish_range;
} launch;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    husk__norm_as_columns(what, &own->shape);
    own->mode = husk__norm_mode(what) | husk__norm_streams(what, traits);
    const shape *cut = &own->shape;
    own->share = husk__norm_share(traits, cut->units, husk__min_i64(cut->block_rows, cut->rows) * cut->strip);
    own->range = (husk__range){{(size_t)husk__divide_up(cut->units, own->share), 1, 1}, {1, 1, 1}};
    own->finish_range = (husk__range){{(size_t)cut->finish_units, 1, 1}, {1, 1, 1}};
    const char *file = "norm/columns.cl", *options = husk__dtype_option(what->tensors[0].dtype);
    husk_status status =
        husk__kernel_get(plan->context, file, options, "husk_norm_columns_partial", &own->partial, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_norm_columns_finish", &own->finish, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_norm_columns_apply", &own->apply, scope);
    return status;
}

static husk_status run_partial(const launch *own, husk_queue *queue, const arguments *given, husk__arg moments,
                               const husk__scope *scope)
{
    husk__arg list[4 + HUSK__NORM_COLUMNS_ARGS], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = moments;
    *end++ = HUSK__ARG_I64(own->shape.image_strides[HUSK__NORM_X]);
    *end++ = HUSK__ARG_I64(own->shape.row_strides[HUSK__NORM_X]);
    end = husk__norm_write_columns(&own->shape, own->share, end);
    return husk__launch(queue, own->partial, &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_finish(const husk_plan *plan, husk_queue *queue, const arguments *given, husk__arg moments,
                              husk__arg applied, const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[4 + HUSK__NORM_STATISTICS_ARGS + 8], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->bias);
    *end++ = moments;
    *end++ = applied;
    end = husk__norm_write_statistics(plan->problem, given, end);
    *end++ = HUSK__ARG_I64(own->shape.columns);
    *end++ = HUSK__ARG_I64(own->shape.pitch);
    *end++ = HUSK__ARG_I64(own->shape.rows);
    *end++ = HUSK__ARG_I64(own->shape.block_rows);
    *end++ = HUSK__ARG_I64(own->shape.blocks);
    *end++ = HUSK__ARG_I64(own->shape.group);
    *end++ = HUSK__ARG_I64(own->shape.finish_columns);
    *end++ = HUSK__ARG_I32(husk__norm_mode(plan->problem));
    return husk__launch(queue, own->finish, &own->finish_range, list, (size_t)(end - list), scope);
}

static husk_status run_apply(const launch *own, husk_queue *queue, const arguments *given, husk__arg applied,
                             const husk__scope *scope)
{
    husk__arg list[8 + HUSK__NORM_COLUMNS_ARGS], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    *end++ = applied;
    *end++ = HUSK__ARG_I64(own->shape.image_strides[HUSK__NORM_X]);
    *end++ = HUSK__ARG_I64(own->shape.row_strides[HUSK__NORM_X]);
    *end++ = HUSK__ARG_I64(own->shape.image_strides[HUSK__NORM_Y]);
    *end++ = HUSK__ARG_I64(own->shape.row_strides[HUSK__NORM_Y]);
    end = husk__norm_write_columns(&own->shape, own->share, end);
    *end++ = HUSK__ARG_I32(husk__norm_mode_to(own->mode, given->x, NULL, given->y));
    return husk__launch(queue, own->apply, &own->range, list, (size_t)(end - list), scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const uint64_t size = husk__norm_accumulator_size(what);
    const husk__arg moments = HUSK__ARG_BUFFER(scratch->buffer, 0, size);
    const husk__arg applied = HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)moments_size(&own->shape) * size, size);
    husk_status status = what->uses_running ? HUSK_OK : run_partial(own, queue, given, moments, scope);
    if (status == HUSK_OK)
        status = run_finish(plan, queue, given, moments, applied, scope);
    if (status == HUSK_OK)
        status = run_apply(own, queue, given, applied, scope);
    return status;
}

const husk__variant husk__norm_columns_variant = {
    .name = "columns",
    .family = HUSK__FAMILY_CPU,
    .configurations = husk__norm_cpu_menu,
    .configuration_count = 1,
    .supports = husk__norm_columns_supports,
    .cost = cost,
    .workspace = workspace,
    .prepare = prepare,
    .run = run,
};
