// SPDX-License-Identifier: MIT
// Variants tiled and matrix of the gradient of convolution by its data, for GPUs: multiplied by plain arithmetic or by
// a matrix engine. The kernel is described in cl/conv/backward_data_tiled.cl.
#include "base/epilogue.h"
#include "base/tensor.h"
#include "ops/conv/backward_problem.h"
#include "ops/conv/tiles.h"

// Channels by positions of dx.
static husk__conv_tiles tiles_of(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return (husk__conv_tiles){g->groups, g->channels, g->batch * g->in[0] * g->in[1] * g->in[2],
                              husk__conv_backward_data_products(problem), 1};
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_tiles tiles = tiles_of(candidate->problem);
    return husk__conv_tiles_cost(candidate, &tiles);
}

// Sums that wait for a smooth activation, where dx is too narrow for them.
static uint64_t waiting_bytes(const husk__conv_problem *problem)
{
    const bool waits = husk_dtype_size(problem->dtype) < sizeof(float) &&
                       husk__epilogue_resolve(problem->activation, problem->slope).is_smooth;
    return waits ? 4 * (uint64_t)husk__tensor_count(&problem->x) : 0;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_tiles tiles = tiles_of(candidate->problem);
    return husk__conv_packing_bytes(candidate->problem,
                                    husk__conv_tiles_packed_count(candidate->configuration, &tiles)) +
           waiting_bytes(candidate->problem);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_tiles tiles = tiles_of(plan->problem);
    return husk__conv_tiles_prepare(plan, &tiles, "conv/backward_data_tiled.cl", "husk_conv_backward_data_tiled",
                                    "husk_conv_backward_data_tiled_pack", scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_data_arguments *arguments = untyped;
    const husk__conv_arguments own = {arguments->dy, arguments->w, arguments->bias, arguments->dx};
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, &own, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_state *state = plan->state;
    const husk__arg extra[] = {HUSK__ARG_I32(problem->accumulates),
                               HUSK__ARG_BUFFER(waiting_bytes(problem) > 0 ? scratch->buffer : NULL,
                                                husk__conv_packing_bytes(problem, state->packed_count), sizeof(float))};
    return husk__conv_launch(plan, queue, &own, weights, extra, 2, scope);
}

const husk__variant husk__conv_backward_data_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__conv_tiled_menu,
    .configuration_count = HUSK__CONV_TILED_MENU,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__conv_backward_data_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__conv_matrix_menu,
    .configuration_count = HUSK__CONV_MATRIX_MENU,
    .supports = husk__conv_matrix_supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
