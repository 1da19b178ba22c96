// SPDX-License-Identifier: MIT
// The gradients' variant for CPU devices and channels-last images: choose -> launch. Kernels:
// cl/norm/backward_columns.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/norm/problem.h"

typedef husk__norm_problem problem;
typedef husk__norm_arguments arguments;
typedef husk__norm_columns shape;

enum { PARAMETER_STRIP = 256 }; // parameters that a work-group adds up
enum { LEAST_LANES = 4 };       // the kernels' narrowest vector, -DVW=4
// Up to four launches; for each element, which x and dy are read twice for, and for each row beside that. A vector's
// lanes that are left over at the end of a row are lost.
static const double LAUNCHES_NS = 30000.0, ELEMENT_NS = 0.6, ROW_NS = 2.0;

static double cost(const husk__candidate *candidate)
{
    shape own;
    husk__norm_as_columns(candidate->problem, &own);
    const double lanes = candidate->traits->vector_width > LEAST_LANES ? candidate->traits->vector_width : LEAST_LANES;
    const double vectors = (double)husk__divide_up(own.columns, (int64_t)lanes);
    return LAUNCHES_NS + (double)own.images * (double)own.rows * (vectors * lanes * ELEMENT_NS + ROW_NS);
}

static int64_t sums_size(const shape *own)
{
    return own->images * own->blocks * 2 * own->pitch;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    shape own;
    husk__norm_as_columns(candidate->problem, &own);
    return (uint64_t)(sums_size(&own) + own.images * 6 * own.pitch) * husk__norm_accumulator_size(candidate->problem);
}

typedef struct launch {
    const husk__kernel *partial, *finish, *apply, *parameters;
    shape shape;
    int64_t share;
    int32_t mode;
    husk__range range, finish_range, parameters_range;
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
    own->parameters_range = (husk__range){{(size_t)husk__divide_up(cut->columns, PARAMETER_STRIP), 1, 1}, {1, 1, 1}};
    const struct {
        const char *name;
        const husk__kernel **kernel;
    } kernels[] = {{"husk_norm_backward_columns_partial", &own->partial},
                   {"husk_norm_backward_columns_finish", &own->finish},
                   {"husk_norm_backward_columns_apply", &own->apply},
                   {"husk_norm_backward_parameters", &own->parameters}};
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0] && status == HUSK_OK; ++i)
        status = husk__kernel_get(plan->context, "norm/backward_columns.cl", husk__dtype_option(what->tensors[0].dtype),
                                  kernels[i].name, kernels[i].kernel, scope);
    return status;
}

static husk_status run_partial(const launch *own, husk_queue *queue, const arguments *given, husk__arg sums,
                               const husk__scope *scope)
{
    husk__arg list[9 + HUSK__NORM_COLUMNS_ARGS], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->dy);
    *end++ = HUSK__ARG_TENSOR(given->mean);
    *end++ = sums;
    for (int t = 0; t < 2; ++t) {
        *end++ = HUSK__ARG_I64(own->shape.image_strides[t]);
        *end++ = HUSK__ARG_I64(own->shape.row_strides[t]);
    }
    *end++ = HUSK__ARG_I64(own->shape.group);
    end = husk__norm_write_columns(&own->shape, own->share, end);
    return husk__launch(queue, own->partial, &own->range, list, (size_t)(end - list), scope);
}

static husk_status run_apply(const launch *own, husk_queue *queue, const arguments *given, husk__arg applied,
                             int32_t mode, const husk__scope *scope)
{
    husk__arg list[11 + HUSK__NORM_COLUMNS_ARGS], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->dy);
    *end++ = HUSK__ARG_TENSOR(given->dx);
    *end++ = applied;
    for (int t = 0; t < HUSK__NORM_TENSORS; ++t) {
        *end++ = HUSK__ARG_I64(own->shape.image_strides[t]);
        *end++ = HUSK__ARG_I64(own->shape.row_strides[t]);
    }
    end = husk__norm_write_columns(&own->shape, own->share, end);
    *end++ = HUSK__ARG_I32(mode);
    return husk__launch(queue, own->apply, &own->range, list, (size_t)(end - list), scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    const shape *cut = &own->shape;
    const uint64_t size = husk__norm_accumulator_size(what);
    const int64_t pitch = cut->pitch;
    const int32_t mode = husk__norm_mode_to(own->mode, given->x, given->dy, given->dx);
    const husk__arg sums = HUSK__ARG_BUFFER(scratch->buffer, 0, size);
    const husk__arg applied = HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)sums_size(cut) * size, size);
    const husk__arg parts =
        HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)(sums_size(cut) + cut->images * 4 * pitch) * size, size);
    husk_status status = run_partial(own, queue, given, sums, scope);
    if (status == HUSK_OK)
        status = HUSK__LAUNCH(queue, own->finish, &own->finish_range, scope, HUSK__ARG_TENSOR(given->scale),
                              HUSK__ARG_TENSOR(given->mean), HUSK__ARG_TENSOR(given->rstd), sums, applied, parts,
                              HUSK__ARG_I64(cut->columns), HUSK__ARG_I64(pitch), HUSK__ARG_I64(cut->blocks),
                              HUSK__ARG_I64(cut->rows), HUSK__ARG_I64(cut->group), HUSK__ARG_I64(cut->finish_columns),
                              HUSK__ARG_I32(mode));
    if (status == HUSK_OK && what->wants_parameters)
        status =
            HUSK__LAUNCH(queue, own->parameters, &own->parameters_range, scope, parts, HUSK__ARG_TENSOR(given->dscale),
                         HUSK__ARG_TENSOR(given->dbias), HUSK__ARG_I64(cut->images), HUSK__ARG_I64(pitch),
                         HUSK__ARG_I64(cut->columns), HUSK__ARG_I64(PARAMETER_STRIP), HUSK__ARG_I32(mode));
    if (status == HUSK_OK && what->wants_input)
        status = run_apply(own, queue, given, applied, mode, scope);
    return status;
}

const husk__variant husk__norm_backward_columns = {
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
