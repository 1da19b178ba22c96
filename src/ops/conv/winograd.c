// SPDX-License-Identifier: MIT
// cl/conv/winograd.cl: 3x3 filters at stride 1 with 2.25 or 4 times fewer multiplications, on CPU devices.
//
// Error. A product passes through three transforms and back. If the inputs are independent and alike, the
// root mean square of an output's rounding error grows, against the direct sum's, by the ratio of
//     sqrt(sum over points j of A_ij^2 |G_j|^2 |B_j|^2)   to   sqrt(3)
// in one dimension, with A, G and B the transforms' matrices of arXiv 1509.09308, and its square in two: 1.7
// for F(2x2), 31 for F(4x4) in its worst row. The factors below are those, rounded up; an output's error
// follows the largest sum |w x| in its tile rather than its own.
#include <stdio.h>

#include "base/checked.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"

// Named for the register tile, tiles x filters. What follows it in the values is the edge of an output tile.
static const husk__configuration MENU_2X2[] = {
    {"14x32", "-DTILE_OUT=2 -DTILE_M=14 -DTILE_NV=2", {14, 2, 16, 2}},
    {"6x16", "-DTILE_OUT=2 -DTILE_M=6 -DTILE_NV=2", {6, 2, 8, 2}},
    {"12x8", "-DTILE_OUT=2 -DTILE_M=12 -DTILE_NV=2", {12, 2, 4, 2}},
};
static const husk__configuration MENU_4X4[] = {
    {"14x32", "-DTILE_OUT=4 -DTILE_M=14 -DTILE_NV=2", {14, 2, 16, 4}},
    {"6x16", "-DTILE_OUT=4 -DTILE_M=6 -DTILE_NV=2", {6, 2, 8, 4}},
    {"12x8", "-DTILE_OUT=4 -DTILE_M=12 -DTILE_NV=2", {12, 2, 4, 4}},
};

static const double ERROR_2X2 = 2.0, ERROR_4X4 = 32.0;

// Cycles, measured: per point and vector of an input and of an output transform, per item and per register tile.
static const double INPUT_CYCLES = 8.0, OUTPUT_CYCLES = 8.0, TILE_CYCLES = 30.0, ITEM_CYCLES = 10000.0;
static const double POINT_BYTES = 4.0; // a transformed weight is f32, whatever w is
// What a block of tiles may take, so that little of it leaves the second-level cache while weights stream through.
static const int64_t BLOCK_BYTES = 512 * 1024;
// Where weights come from memory, more tiles share each reading of them; their inputs come from the last cache.
static const int64_t MOST_PARTS = 5;
static const int64_t SCRATCH_BYTES = 56 * 1024 * 1024;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const char *rule = NULL;
    if (husk__conv_is_double(candidate->problem, reason))
        return false;
    if (g->kernel[1] != 3 || g->kernel[2] != 3 || g->kernel[0] != 1)
        rule = "the filter is not 3x3";
    else if (g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (g->stride[1] != 1 || g->stride[2] != 1 || g->dilation[1] != 1 || g->dilation[2] != 1)
        rule = "stride and dilation are not 1";
    else if (g->channels == 0)
        rule = "there are no channels";
    else if (g->in[1] < 2 || g->in[2] < 2) // weights that meet no pixel at all would still add their rounding errors
        rule = "the image is less than 2 high or wide";
    else if (husk__conv_tile_of(candidate->configuration).width != (int32_t)candidate->traits->vector_width)
        rule = "this tile is for vectors of another width";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule && husk__conv_may_transform(candidate, reason);
}

static int32_t edge_of(const husk__configuration *configuration)
{
    return configuration->values[HUSK__CONV_TILE_VALUES];
}

static int64_t points(const husk__configuration *configuration)
{
    return (edge_of(configuration) + 2) * (edge_of(configuration) + 2);
}

// Filters of a panel.
static int64_t panel_width(const husk__configuration *configuration)
{
    const husk__conv_tile tile = husk__conv_tile_of(configuration);
    return (int64_t)tile.vectors * tile.width;
}

static int64_t filter_panels(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return husk__divide_up(g->filters, panel_width(candidate->configuration));
}

// Every point of a panel has a vector more than it needs; see the kernel.
static int64_t packed_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t width = husk__conv_tile_of(configuration).width;
    return g->groups * points(configuration) *
           (husk__round_up(g->filters, width) * g->channels +
            husk__divide_up(g->filters, panel_width(configuration)) * width);
}

// Tiles of the whole output.
static int64_t tile_count(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t edge = edge_of(candidate->configuration);
    return g->batch * husk__divide_up(g->out[1], edge) * husk__divide_up(g->out[2], edge);
}

static double packed_bytes(const husk__candidate *candidate)
{
    return POINT_BYTES * (double)packed_count(candidate->problem, candidate->configuration);
}

// Whether the last cache cannot hold them beside the image.
static bool are_weights_in_memory(const husk__candidate *candidate)
{
    return packed_bytes(candidate) > (double)candidate->machine->l3 / 2;
}

// Tiles that a work-item which has so many takes at a time: what shares the cache, but at least a register tile.
static int64_t block_tiles(const husk__candidate *candidate, int64_t tiles)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t tile = husk__conv_tile_of(candidate->configuration).rows;
    const int64_t bytes = 4 * points(candidate->configuration) * (g->channels + panel_width(candidate->configuration));
    const int64_t parts = are_weights_in_memory(candidate)
                              ? MOST_PARTS
                              : husk__max_i64(1, husk__min_i64(MOST_PARTS, BLOCK_BYTES / (bytes * tile)));
    return husk__min_i64(tiles, parts * tile);
}

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, int64_t tiles,
                          int64_t panels)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const double all = (double)points(candidate->configuration), channels = (double)g->channels;
    const double in = (double)tiles * all * INPUT_CYCLES * (double)husk__divide_up(g->channels, tile.width);
    const double parts = (double)husk__divide_up(tiles, tile.rows);
    const double products =
        all * (channels * (double)tiles * tile.vectors / rates->fma_per_cycle + parts * TILE_CYCLES);
    const double out = (double)tiles * all * OUTPUT_CYCLES * tile.vectors;
    const double blocks = (double)husk__divide_up(tiles, block_tiles(candidate, tiles));
    const double bytes = POINT_BYTES * all * channels * (double)panel_width(candidate->configuration) * blocks;
    // Transformed weights are many, and every block of tiles reads them.
    const double reading =
        bytes / husk__read_rate(candidate->machine, rates, packed_bytes(candidate)) * rates->clock_ghz;
    return ITEM_CYCLES + in + (double)panels * ((products > reading ? products : reading) + out);
}

static husk__conv_split split(const husk__candidate *candidate)
{
    return husk__conv_divide(candidate, tile_count(candidate), filter_panels(candidate), item_cycles);
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_split work = split(candidate);
    return husk__conv_split_time(candidate, &work, tile_count(candidate), filter_panels(candidate), item_cycles) +
           husk__conv_packing_cost(candidate, packed_count(candidate->problem, candidate->configuration));
}

// Scratch of one work-item, in elements: a block's transformed inputs, and its products with a panel.
static int64_t item_room(const husk__candidate *candidate, int64_t block)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const int64_t vectors = block * husk__divide_up(g->channels, tile.width) + 1 + block * tile.vectors + 1;
    return points(candidate->configuration) * vectors * tile.width;
}

// Many work-items have smaller blocks, so that their scratch together stays what every problem may take.
static int64_t split_block(const husk__candidate *candidate, const husk__conv_split *work)
{
    const int64_t groups = ((const husk__conv_problem *)candidate->problem)->geometry.groups;
    const int64_t items = work->column_items * work->filter_items * groups;
    const int64_t most = SCRATCH_BYTES / (4 * items * (item_room(candidate, 1)));
    const int64_t block = block_tiles(candidate, husk__divide_up(tile_count(candidate), work->column_items));
    return husk__max_i64(1, husk__min_i64(block, most));
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    const int64_t items = work.column_items * work.filter_items * problem->geometry.groups;
    return husk__conv_packing_bytes(problem, packed_count(problem, candidate->configuration)) +
           4 * (uint64_t)(items * item_room(candidate, split_block(candidate, &work)));
}

static double error_factor(const husk__candidate *candidate)
{
    return husk__conv_error_factor(candidate) * (edge_of(candidate->configuration) == 2 ? ERROR_2X2 : ERROR_4X4);
}

// The products; the transforms' additions do not count.
static double flops(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t edge = edge_of(candidate->configuration);
    const double tiles = (double)(g->batch * husk__divide_up(g->out[1], edge) * husk__divide_up(g->out[2], edge));
    return 2.0 * tiles * (double)points(candidate->configuration) * (double)(g->groups * g->filters * g->channels);
}

typedef struct winograd_state {
    husk__conv_state shared;
    int64_t item_room;   // a work-item's scratch, in elements
    int64_t block_tiles; // tiles of a block
} winograd_state;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    husk_status status = husk__conv_prepare(plan, sizeof(winograd_state), "conv/winograd.cl", "husk_conv_winograd",
                                            "husk_conv_winograd_pack", scope);
    if (status != HUSK_OK)
        return status;
    winograd_state *state = plan->state;
    const husk__conv_split work = split(&candidate);
    const size_t groups = (size_t)problem->geometry.groups;
    // Two work-items a compute unit pack the weights, where there are so many.
    const int64_t panels = filter_panels(&candidate);
    const int64_t units = husk__max_i64(1, candidate.traits->compute_units);
    const int64_t slices =
        husk__min_i64(husk__divide_up(problem->geometry.channels, husk__conv_tile_of(plan->configuration).width),
                      husk__divide_up(2 * units, husk__max_i64(1, panels * problem->geometry.groups)));
    const int64_t block = split_block(&candidate, &work);
    state->shared.packed_count = packed_count(problem, plan->configuration);
    state->item_room = item_room(&candidate, block);
    state->block_tiles = block;
    state->shared.range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    state->shared.pack_range = (husk__range){{(size_t)panels, groups, (size_t)slices}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const winograd_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk__arg extra[] = {
        HUSK__ARG_BUFFER(scratch->buffer, husk__conv_packing_bytes(plan->problem, state->shared.packed_count), 4),
        HUSK__ARG_I64(state->item_room), HUSK__ARG_I32(state->block_tiles), HUSK__ARG_SHARES};
    return husk__conv_launch(plan, queue, arguments, weights, extra, 4, scope);
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
