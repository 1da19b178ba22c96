// SPDX-License-Identifier: MIT
// Normalisation's variant for GPUs, and for strides that the others do not take: choose -> launch. Kernel:
// cl/norm/workgroup.cl.
#include <stdlib.h>

#include "ops/norm/problem.h"
#include "select/grid.h"

typedef struct launch {
    const husk__kernel *kernel;
    husk__norm_lists sets;
    int32_t lanes;
    husk__range range;
} launch;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    own->sets = husk__norm_sets(plan->problem);
    own->lanes = husk__norm_lanes(&own->sets);
    own->range = husk__norm_workgroup_range(&own->sets, own->lanes, husk__grid_items(plan->configuration),
                                            husk_context_traits(plan->context));
    char options[128];
    husk__norm_workgroup_options(plan, &own->sets, options, sizeof options);
    return husk__kernel_get(plan->context, "norm/workgroup.cl", options, "husk_norm_workgroup", &own->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__norm_arguments *given = untyped;
    husk__arg list[4 + HUSK__NORM_STATISTICS_ARGS + 2 * HUSK__NORM_LIST_ARGS + 4], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->scale);
    *end++ = HUSK__ARG_TENSOR(given->bias);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__norm_write_statistics(plan->problem, given, end);
    end = husk__norm_write_list(&own->sets.outer, end);
    end = husk__norm_write_list(&own->sets.inner, end);
    *end++ = HUSK__ARG_I64(own->sets.outer_count);
    *end++ = HUSK__ARG_I64(own->sets.inner_count);
    *end++ = HUSK__ARG_I32(own->lanes);
    *end++ = HUSK__ARG_I32(husk__norm_mode(plan->problem));
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__norm_workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__norm_workgroup_supports,
    .cost = husk__norm_workgroup_cost,
    .prepare = prepare,
    .run = run,
};
