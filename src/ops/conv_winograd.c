// SPDX-License-Identifier: MIT
// cl/conv_winograd.cl: 3x3 filters at stride 1 with 2.25 or 4 times fewer multiplications, on CPU devices.
//
// Error. A product passes through three transforms and back. If the inputs are independent and alike, the
// root mean square of an output's rounding error grows, against the direct sum's, by the ratio of
//     sqrt(sum over points j of A_ij^2 |G_j|^2 |B_j|^2)   to   sqrt(3)
// in one dimension, with A, G and B the transforms' matrices of arXiv 1509.09308, and its square in two: 1.7
// for F(2x2), 31 for F(4x4) in its worst row. The factors below are those, rounded up; an output's error
// follows the largest sum |w x| in its tile rather than its own.
#include <stdio.h>

#include "base/checked.h"
#include "ops/conv_problem.h"

// Named for the register tile, filters x tiles. values: TILE_M, TILE_NV, the vector width, the output tile.
static const husk__configuration MENU_2X2[] = {
    {"13x32", "-DTILE_OUT=2 -DTILE_M=13 -DTILE_NV=2", {13, 2, 16, 2}},
    {"6x16", "-DTILE_OUT=2 -DTILE_M=6 -DTILE_NV=2", {6, 2, 8, 2}},
    {"8x12", "-DTILE_OUT=2 -DTILE_M=8 -DTILE_NV=3", {8, 3, 4, 2}},
};
static const husk__configuration MENU_4X4[] = {
    {"13x32", "-DTILE_OUT=4 -DTILE_M=13 -DTILE_NV=2", {13, 2, 16, 4}},
    {"6x16", "-DTILE_OUT=4 -DTILE_M=6 -DTILE_NV=2", {6, 2, 8, 4}},
    {"8x12", "-DTILE_OUT=4 -DTILE_M=8 -DTILE_NV=3", {8, 3, 4, 4}},
};

static const double ERROR_2X2 = 2.0, ERROR_4X4 = 32.0;

// Cycles, measured: per point and vector of an input and of an output transform, per item and per tile row.
static const double INPUT_CYCLES = 7.0, OUTPUT_CYCLES = 5.0, TILE_CYCLES = 40.0, ITEM_CYCLES = 10000.0;
static const double VECTORS_PER_CYCLE = 2.0, CYCLES_PER_NS = 3.5;
// A tile one vector wide waits for its loads.
static const double NARROW_FACTOR = 0.65;
// Transformed weights are many: bytes a nanosecond from the last cache and from memory, and where that begins.
static const double CACHE_RATE = 60.0, MEMORY_RATE = 38.0, CACHE_BYTES = 12e6;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const char *rule = NULL;
    if (g->kernel[1] != 3 || g->kernel[2] != 3 || g->kernel[0] != 1)
        rule = "the filter is not 3x3";
    else if (g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (g->stride[1] != 1 || g->stride[2] != 1 || g->dilation[1] != 1 || g->dilation[2] != 1)
        rule = "stride and dilation are not 1";
    else if (g->channels == 0)
        rule = "there are no channels";
    else if (candidate->configuration->values[2] != (int32_t)candidate->traits->vector_width)
        rule = "this tile is for vectors of another width";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule;
}

static int64_t points(const husk__configuration *configuration)
{
    return (configuration->values[3] + 2) * (configuration->values[3] + 2);
}

static int64_t packed_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->groups * husk__round_up(g->filters, configuration->values[0]) * g->channels *
           points(configuration);
}

// Vectors of tiles in the whole output.
static int64_t tile_vectors(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t edge = candidate->configuration->values[3];
    const int64_t tiles = g->batch * husk__divide_up(g->out[1], edge) * husk__divide_up(g->out[2], edge);
    return husk__divide_up(tiles, candidate->configuration->values[2]);
}

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, int64_t vectors, int64_t filter_panels)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int32_t *tile = candidate->configuration->values;
    const double all = (double)points(candidate->configuration), channels = (double)g->channels;
    const double blocks = (double)(vectors / tile[1]) + (vectors % tile[1] ? NARROW_FACTOR : 0.0);
    const double in = (double)vectors * all * INPUT_CYCLES * channels;
    const double products = blocks * all * (channels * tile[0] * tile[1] / VECTORS_PER_CYCLE + TILE_CYCLES);
    const double out = (double)vectors * all * OUTPUT_CYCLES * tile[0];
    return ITEM_CYCLES + in + (double)filter_panels * (products + out);
}

static husk__conv_split split(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t filter_panels = husk__divide_up(g->filters, candidate->configuration->values[0]);
    return husk__conv_divide(candidate, tile_vectors(candidate), filter_panels, item_cycles);
}

// Every block of tiles reads all weights: the first from where they lie, the others from the cache they fit.
static double cost(const husk__candidate *candidate)
{
    const double bytes = 4.0 * (double)packed_count(candidate->problem, candidate->configuration);
    const double computing = split(candidate).cycles / CYCLES_PER_NS;
    const double reading = bytes / (bytes > CACHE_BYTES ? MEMORY_RATE : CACHE_RATE);
    return (computing > reading ? computing : reading) +
           husk__conv_packing_cost(candidate->problem,
                                   packed_count(candidate->problem, candidate->configuration));
}

// Elements of transformed input that one work-item holds; see the kernel.
static int64_t scratch_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const int64_t tile = configuration->values[1] * configuration->values[2];
    return points(configuration) * (problem->geometry.channels * tile + configuration->values[2]);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    const int64_t items = work.column_items * work.filter_items * problem->geometry.groups;
    return husk__conv_packing_bytes(problem, packed_count(problem, candidate->configuration)) +
           4 * (uint64_t)(items * scratch_count(problem, candidate->configuration));
}

static double error_factor(const husk__candidate *candidate)
{
    return husk__conv_error_factor(candidate) *
           (candidate->configuration->values[3] == 2 ? ERROR_2X2 : ERROR_4X4);
}

// The products; the transforms' additions do not count.
static double flops(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t edge = candidate->configuration->values[3];
    const double tiles =
        (double)(g->batch * husk__divide_up(g->out[1], edge) * husk__divide_up(g->out[2], edge));
    return 2.0 * tiles * (double)points(candidate->configuration) *
           (double)(g->groups * g->filters * g->channels);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), plan->configuration};
    husk__conv_state *state;
    husk_status status = husk__conv_prepare(plan, "conv_winograd.cl", "husk_conv_winograd",
                                            "husk_conv_winograd_pack", &state, scope);
    if (status != HUSK_OK)
        return status;
    const husk__conv_split work = split(&candidate);
    const int64_t filter_panels = husk__divide_up(problem->geometry.filters, plan->configuration->values[0]);
    const size_t groups = (size_t)problem->geometry.groups;
    state->packed_count = packed_count(problem, plan->configuration);
    state->extra[0] = (int64_t)husk__conv_packing_bytes(problem, state->packed_count);
    state->range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    state->pack_range = (husk__range){{(size_t)filter_panels, groups, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments,
                       const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__conv_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk__arg extra[] = {HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)state->extra[0], 4)};
    return husk__conv_launch(plan, queue, arguments, weights, extra, 1, scope);
}

const husk__variant husk__conv_winograd_2x2 = {
    .name = "winograd_2x2",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU_2X2,
    .configuration_count = sizeof MENU_2X2 / sizeof *MENU_2X2,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = error_factor,
    .flops = flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__conv_winograd_4x4 = {
    .name = "winograd_4x4",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU_4X4,
    .configuration_count = sizeof MENU_4X4 / sizeof *MENU_4X4,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = error_factor,
    .flops = flops,
    .prepare = prepare,
    .run = run,
};
