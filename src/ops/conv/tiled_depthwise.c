// SPDX-License-Identifier: MIT
// cl/conv/tiled_depthwise.cl: depthwise convolution on GPUs.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/problem.h"
#include "select/grid.h"

static const husk__configuration MENU[] = {{"direct", "-DGROUP=64", {64}}};

enum { PACK_ITEMS = 32 }; // of the packing kernel

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    if (((const husk__conv_problem *)candidate->problem)->geometry.channels == 1)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "groups have more or less than one channel");
    return false;
}

// To launch the kernel; what a compute unit does in a nanosecond: so many operations, and elements of x that it reads.
static const double LAUNCH_NS = 5000.0, UNIT_RATE = 16.0;

// Bound by memory: a tenth of what the tile of a matrix would waste.
static double cost(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const double units = (double)husk__max_i64(1, candidate->traits->compute_units);
    return LAUNCH_NS + husk__conv_flops(candidate) / (units * UNIT_RATE) +
           (double)husk__tensor_count(&problem->x) / units / UNIT_RATE;
}

static int64_t packed_count(const husk__conv_problem *problem)
{
    return problem->geometry.groups * problem->geometry.filters * husk__conv_filter_count(problem);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return husk__conv_packing_bytes(candidate->problem, packed_count(candidate->problem));
}

typedef struct tiled_depthwise_state {
    husk__conv_state shared;
    bool is_channels_last; // of y
} tiled_depthwise_state;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t group = husk__grid_items(plan->configuration);
    husk_status status = husk__conv_prepare(plan, sizeof(tiled_depthwise_state), "conv/tiled_depthwise.cl",
                                            "husk_conv_tiled_depthwise", "husk_conv_tiled_depthwise_pack", scope);
    if (status != HUSK_OK)
        return status;
    tiled_depthwise_state *state = plan->state;
    const int64_t outputs = g->groups * g->filters * g->out[0] * g->out[1] * g->out[2];
    state->shared.packed_count = packed_count(problem);
    state->shared.pack_channels = g->groups;
    state->is_channels_last = g->y_strides[1] == 1 && g->groups > 1;
    state->shared.range =
        (husk__range){{(size_t)husk__divide_up(outputs, group), (size_t)husk__min_i64(g->batch, HUSK__MOST_GROUPS), 1},
                      {(size_t)group, 1, 1}};
    state->shared.pack_range = (husk__range){{(size_t)husk__divide_up(husk__conv_filter_count(problem), PACK_ITEMS),
                                              (size_t)husk__min_i64(g->groups * g->filters, HUSK__MOST_GROUPS), 1},
                                             {PACK_ITEMS, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const tiled_depthwise_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk__arg extra[] = {HUSK__ARG_I32(state->is_channels_last)};
    return husk__conv_launch(plan, queue, arguments, weights, extra, 1, scope);
}

const husk__variant husk__conv_tiled_depthwise = {
    .name = "tiled_depthwise",
    .family = HUSK__FAMILY_GPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
