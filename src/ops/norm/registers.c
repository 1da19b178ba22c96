// SPDX-License-Identifier: MIT
// Normalisation's variant for GPUs whose sets fit registers: choose -> launch. Kernel: cl/norm/registers.cl.
#include <stdio.h>
#include <stdlib.h>

#include "ops/shared/held_row.h"
#include "ops/norm/problem.h"

typedef struct launch {
    const husk__kernel *kernel;
    husk__norm_lists sets;
    husk__range range;
    int32_t parameter_stride;
} launch;

// What a set's elements are: one dimension, as x and y lie.
static husk__norm_dimension elements_of(const husk__norm_lists *sets)
{
    husk__norm_list inner = sets->inner;
    return husk__norm_take_last(&inner);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__norm_problem *problem = candidate->problem;
    const husk__norm_lists sets = husk__norm_sets(problem);
    const husk__norm_dimension elements = elements_of(&sets);
    if (!husk__norm_workgroup_lists_fit(problem, reason))
        return false;
    if (problem->uses_running) {
        snprintf(reason, HUSK__REASON_CAPACITY, "the statistics are given: there is nothing to hold a set for");
        return false;
    }
    if (sets.inner.rank > 1 || elements.strides[HUSK__NORM_X] != 1 || elements.strides[HUSK__NORM_Y] != 1 ||
        (elements.parameter != 0 && elements.parameter != 1)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "sets do not lie together in memory, in x, y and the parameters");
        return false;
    }
    return husk__held_supports(candidate, sets.inner_count, reason);
}

static double cost(const husk__candidate *candidate)
{
    const husk__norm_lists sets = husk__norm_sets(candidate->problem);
    return husk__held_cost(candidate, sets.outer_count, sets.inner_count);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    own->sets = husk__norm_sets(plan->problem);
    own->parameter_stride = own->sets.inner.rank == 0 ? 0 : (int32_t)elements_of(&own->sets).parameter;
    return husk__held_prepare(plan, ((const husk__norm_problem *)plan->problem)->tensors[0].dtype,
                              own->sets.outer_count, husk__norm_index_option(plan, &own->sets), "norm/registers.cl",
                              "husk_norm_registers", &own->kernel, &own->range, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__norm_arguments *given = untyped;
    husk__arg list[4 + HUSK__NORM_STATISTICS_ARGS + HUSK__NORM_LIST_ARGS + 4], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->bias);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__norm_write_statistics(plan->problem, given, end);
    end = husk__norm_write_list(&own->sets.outer, end);
    *end++ = HUSK__ARG_I64(own->sets.outer_count);
    *end++ = HUSK__ARG_I32(own->sets.inner_count);
    *end++ = HUSK__ARG_I32(own->parameter_stride);
    *end++ = HUSK__ARG_I32(husk__norm_mode(plan->problem));
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__norm_registers = {
    .name = "registers",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__held_menu,
    .configuration_count = HUSK__HELD_MENU,
    .supports = supports,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
