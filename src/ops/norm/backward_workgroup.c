// SPDX-License-Identifier: MIT
// The gradients' variant for GPUs, and for strides that the others do not take: choose -> launch. Kernels:
// cl/norm/backward_workgroup.cl.
#include <stdlib.h>

#include "ops/norm/problem.h"
#include "select/grid.h"

typedef husk__norm_problem problem;
typedef husk__norm_arguments arguments;

// What one of the two kernels walks.
typedef struct step {
    const husk__kernel *kernel;
    husk__norm_lists lists;
    int32_t lanes;
    husk__range range;
} step;

typedef struct launch {
    step parameters, input;
} launch;

static husk_status prepare_step(husk_plan *plan, husk__norm_lists lists, const char *kernel, step *made,
                                const husk__scope *scope)
{
    char options[128];
    made->lists = lists;
    made->lanes = husk__norm_lanes(&lists);
    made->range = husk__norm_workgroup_range(&lists, made->lanes, husk__grid_items(plan->configuration),
                                             husk_context_traits(plan->context));
    husk__norm_workgroup_options(plan, &lists, options, sizeof options);
    return husk__kernel_get(plan->context, "norm/backward_workgroup.cl", options, kernel, &made->kernel, scope);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *what = plan->problem;
    launch *own = calloc(1, sizeof *own);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = own; // freed with the plan
    husk_status status = HUSK_OK;
    if (what->wants_parameters)
        status = prepare_step(plan, husk__norm_parameters(what), "husk_norm_backward_workgroup_parameters",
                              &own->parameters, scope);
    if (status == HUSK_OK && what->wants_input)
        status = prepare_step(plan, husk__norm_sets(what), "husk_norm_backward_workgroup", &own->input, scope);
    return status;
}

static husk_status run_step(const step *own, husk_queue *queue, const arguments *given, husk__arg first,
                            husk__arg second, int32_t mode, const husk__scope *scope)
{
    husk__arg list[6 + 2 * HUSK__NORM_LIST_ARGS + 4], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->dy);
    *end++ = HUSK__ARG_TENSOR(given->mean);
    *end++ = HUSK__ARG_TENSOR(given->rstd);
    *end++ = first;
    *end++ = second;
    end = husk__norm_write_list(&own->lists.outer, end);
    end = husk__norm_write_list(&own->lists.inner, end);
    *end++ = HUSK__ARG_I64(own->lists.outer_count);
    *end++ = HUSK__ARG_I64(own->lists.inner_count);
    *end++ = HUSK__ARG_I32(own->lanes);
    *end++ = HUSK__ARG_I32(mode);
    return husk__launch(queue, own->kernel, &own->range, list, (size_t)(end - list), scope);
}

// Parameters first: dx may take the place of x or dy.
static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const problem *what = plan->problem;
    const arguments *given = untyped;
    const int32_t mode = husk__norm_mode(what);
    husk_status status = HUSK_OK;
    (void)scratch;
    if (what->wants_parameters)
        status = run_step(&own->parameters, queue, given, HUSK__ARG_TENSOR(given->dscale),
                          HUSK__ARG_TENSOR(given->dbias), mode, scope);
    if (status == HUSK_OK && what->wants_input)
        status = run_step(&own->input, queue, given, HUSK__ARG_TENSOR(given->scale), HUSK__ARG_TENSOR(given->dx), mode,
                          scope);
    return status;
}

const husk__variant husk__norm_backward_workgroup = {
    .name = "workgroup",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__grid_menu,
    .configuration_count = HUSK__GRID_CONFIGURATIONS,
    .supports = husk__norm_workgroup_supports,
    .cost = husk__norm_workgroup_cost,
    .prepare = prepare,
    .run = run,
};
