// SPDX-License-Identifier: MIT
// The variant of softmax and its gradient for GPUs whose rows fit registers: choose -> launch. Kernels:
// cl/softmax/registers.cl, cl/softmax/backward_registers.cl.
#include <stdio.h>

#include "ops/shared/held_row.h"
#include "ops/softmax/problem.h"

typedef husk__softmax_launch launch;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__softmax_geometry shape = husk__softmax_geometry_of(candidate->problem);
    if (shape.axis.extent > 1 && !husk__softmax_is_packed(&shape, &shape.axis)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "the axis does not lie together in memory, in %s",
                 shape.is_gradient ? "y, dy and dx" : "x and y");
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
    const bool back = own->shape.is_gradient;
    return husk__held_prepare(plan, own->shape.dtype, own->shape.row_count, "",
                              back ? "softmax/backward_registers.cl" : "softmax/registers.cl",
                              back ? "husk_softmax_backward_registers" : "husk_softmax_registers", &own->kernels[0],
                              &own->range, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *given, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const launch *own = plan->state;
    husk__arg list[HUSK__SOFTMAX_ARGS], *end = husk__softmax_write_tensors(plan, given, scratch, false, list);
    end = husk__softmax_write_rows(&own->shape, &own->shape.rows, end);
    *end++ = HUSK__ARG_I64(own->shape.row_count);
    end = husk__softmax_write_options(plan, false, end);
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
