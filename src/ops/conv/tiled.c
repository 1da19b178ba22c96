// SPDX-License-Identifier: MIT
// Variants tiled and matrix: implicit GEMM for GPUs, multiplied by plain arithmetic or by a matrix engine. The kernel
// is described in cl/conv/tiled.cl, that of configurations whose tiles asynchronous copies fill in cl/conv/async.cl.
#include "base/epilogue.h"
#include "base/tensor.h"
#include "ops/conv/async.h"
#include "ops/conv/tiles.h"

// Filters by positions of y.
static husk__conv_tiles tiles_of(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return (husk__conv_tiles){g->groups, g->filters, g->batch * g->out[0] * g->out[1] * g->out[2],
                              husk__conv_filter_count(problem), 1};
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_tiles tiles = tiles_of(candidate->problem);
    return husk__conv_tiles_cost(candidate, &tiles);
}

// Sums that wait for a smooth activation, where y is too narrow for them.
static uint64_t waiting_bytes(const husk__conv_problem *problem)
{
    const bool waits = husk_dtype_size(problem->dtype) < sizeof(float) &&
                       husk__epilogue_resolve(problem->activation, problem->slope).is_smooth;
    return waits ? 4 * (uint64_t)husk__tensor_count(&problem->y) : 0;
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
    return husk__conv_tiles_prepare(plan, &tiles, "conv/tiled.cl", "husk_conv_tiled", "husk_conv_tiled_pack", scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_state *state = plan->state;
    const husk__arg waiting = HUSK__ARG_BUFFER(waiting_bytes(problem) > 0 ? scratch->buffer : NULL,
                                               husk__conv_packing_bytes(problem, state->packed_count), sizeof(float));
    return husk__conv_launch(plan, queue, arguments, weights, &waiting, 1, scope);
}

const husk__variant husk__conv_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__conv_tiled_menu,
    .configuration_count = HUSK__CONV_TILED_MENU,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};

// ---- by an engine ----

// More than three stages have half the steps.
static const husk__configuration matrix_menu[] = {HUSK__CONV_MATRIX_TILES, HUSK__CONV_ASYNC(128, 300, 5),
                                                  HUSK__CONV_ASYNC(64, 300, 3)};

static bool is_async(const husk__configuration *configuration)
{
    return configuration->values[HUSK__CONV_STAGES] > 0;
}

static bool supports_matrix(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return is_async(candidate->configuration) ? husk__conv_async_supports(candidate, reason)
                                              : husk__conv_matrix_supports(candidate, reason);
}

static double cost_matrix(const husk__candidate *candidate)
{
    return is_async(candidate->configuration) ? husk__conv_async_cost(candidate) : cost(candidate);
}

static uint64_t workspace_matrix(const husk__candidate *candidate)
{
    return is_async(candidate->configuration) ? husk__conv_async_workspace(candidate) : workspace(candidate);
}

static husk_status prepare_matrix(husk_plan *plan, const husk__scope *scope)
{
    return is_async(plan->configuration) ? husk__conv_async_prepare(plan, scope) : prepare(plan, scope);
}

static husk_status run_matrix(const husk_plan *plan, husk_queue *queue, const void *arguments,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    return is_async(plan->configuration) ? husk__conv_async_run(plan, queue, arguments, scratch, scope)
                                         : run(plan, queue, arguments, scratch, scope);
}

const husk__variant husk__conv_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = matrix_menu,
    .configuration_count = sizeof matrix_menu / sizeof *matrix_menu,
    .supports = supports_matrix,
    .cost = cost_matrix,
    .workspace = workspace_matrix,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare_matrix,
    .run = run_matrix,
};
