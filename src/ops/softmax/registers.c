// SPDX-License-Identifier: MIT
// Softmax's variant for GPUs whose rows fit registers: choose -> launch. Kernel: cl/softmax/registers.cl.
#include <stdio.h>

#include "ops/shared/held_row.h"
#include "ops/softmax/problem.h"

typedef husk__softmax_launch launch;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__softmax_geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (shape.axis.extent > 1 && (shape.axis.x_stride != 1 || shape.axis.y_stride != 1)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "the axis does not lie together in memory, in x and y");
        return false;
    }
    return husk__held_supports(candidate, shape.axis.extent, reason);
}

static double cost(const husk__candidate *candidate)
{
    const husk__softmax_geometry shape = husk__softmax_geometry_of(candidate->problem);
    return husk__held_cost(candidate, shape.row_count, shape.axis.extent);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    launch *own = husk__softmax_make_launch(plan);
    if (!own)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return husk__held_prepare(plan, own->shape.dtype, own->shape.row_count, "", "softmax/registers.cl",
                              "husk_softmax_registers", &own->kernels[0], &own->range, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    const husk__softmax_arguments *given = untyped;
    husk__arg list[2 + HUSK__STRIDED_ARGS + 3], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->x);
    *end++ = HUSK__ARG_TENSOR(given->y);
    end = husk__strided_write_args(&own->shape.rows, end);
    *end++ = HUSK__ARG_I32(own->shape.axis.extent);
    *end++ = HUSK__ARG_I64(own->shape.row_count);
    *end++ = HUSK__ARG_I32(((const husk__softmax_problem *)plan->problem)->is_log);
    return husk__launch(queue, own->kernels[0], &own->range, list, (size_t)(end - list), scope);
}

const husk__variant husk__softmax_registers = {
    .name = "registers",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__held_menu,
    .configuration_count = HUSK__HELD_MENU,
    .supports = supports,
    .cost = cost,
    .prepare = prepare,
    .run = run,
};
