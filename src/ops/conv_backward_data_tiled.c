// SPDX-License-Identifier: MIT
// cl/conv_backward_data_tiled.cl: the gradient of convolution by its data, on GPUs.
#include <stdio.h>

#include "base/checked.h"
#include "base/epilogue.h"
#include "base/tensor.h"
#include "ops/conv_backward_problem.h"

// Named for the work-group's tile. values: BLOCK_M, BLOCK_N, ITEM_M, ITEM_N.
static const husk__configuration MENU[] = {
    {"128x128", "-DBLOCK_M=128 -DBLOCK_N=128 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {128, 128, 8, 8}},
    {"64x64", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=16 -DITEM_M=4 -DITEM_N=4", {64, 64, 4, 4}},
    {"64x64_small", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {64, 64, 8, 8}},
    {"32x32", "-DBLOCK_M=32 -DBLOCK_N=32 -DBLOCK_K=8 -DITEM_M=4 -DITEM_N=4", {32, 32, 4, 4}},
};

enum { PACK_ITEMS = 32 }; // of the packing kernel

// How much of a compute unit's arithmetic a tile reaches, by the ratio of multiplications to local loads.
static double efficiency(const int32_t *tile)
{
    return tile[0] >= 128 ? 0.8 : tile[2] == 8 ? 0.6 : tile[0] >= 64 ? 0.55 : 0.35;
}

static int64_t packed_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->groups * husk__round_up(g->channels, configuration->values[0]) *
           husk__conv_backward_data_products(problem);
}

static void count_groups(const husk__conv_problem *problem, const husk__configuration *configuration,
                         size_t groups[3])
{
    const husk__conv_geometry *g = &problem->geometry;
    groups[0] =
        (size_t)husk__divide_up(g->batch * g->in[0] * g->in[1] * g->in[2], configuration->values[1]);
    groups[1] = (size_t)husk__divide_up(g->channels, configuration->values[0]);
    groups[2] = (size_t)g->groups;
}

// Whole rounds of work-groups over the compute units: a large tile is no use where it leaves units idle.
static double cost(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int32_t *tile = candidate->configuration->values;
    size_t groups[3];
    count_groups(problem, candidate->configuration, groups);
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    const double rounds = (double)husk__divide_up((int64_t)(groups[0] * groups[1] * groups[2]), units);
    const double lanes = 128.0,
                 products = (double)tile[0] * tile[1] * (double)husk__conv_backward_data_products(problem);
    return 5000.0 + rounds * products / (lanes * efficiency(tile));
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
    return husk__conv_packing_bytes(candidate->problem,
                                    packed_count(candidate->problem, candidate->configuration)) +
           waiting_bytes(candidate->problem);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const int32_t *tile = plan->configuration->values;
    husk__conv_state *state;
    husk_status status =
        husk__conv_prepare(plan, "conv_backward_data_tiled.cl", "husk_conv_backward_data_tiled",
                            "husk_conv_backward_data_tiled_pack", &state, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t padded = husk__round_up(problem->geometry.channels, tile[0]);
    state->packed_count = packed_count(problem, plan->configuration);
    count_groups(problem, plan->configuration, state->range.groups);
    state->range.items[0] = (size_t)(tile[1] / tile[3]);
    state->range.items[1] = (size_t)(tile[0] / tile[2]);
    state->range.items[2] = 1;
    state->pack_range =
        (husk__range){{(size_t)(padded / PACK_ITEMS), (size_t)husk__conv_backward_data_products(problem),
                       (size_t)problem->geometry.groups},
                      {PACK_ITEMS, 1, 1}};
    return HUSK_OK;
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
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
