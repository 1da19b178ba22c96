// SPDX-License-Identifier: MIT
// cl/conv/direct.cl, direct_patches.cl and direct_rows.cl: convolutions with filters of some depth, on CPU devices,
// without a matrix of patches.
#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"

// What the vectors hold. OF_PATCHES: filters, too, but the tile reads copies of its patches.
enum { OF_FILTERS, OF_PATCHES, OF_POSITIONS };

// Named for the largest register tile. What follows it in the values is what the vectors hold.
#define TILE_16 "-DTILE_M=14 -DTILE_NV=2"
#define TILE_8  "-DTILE_M=6 -DTILE_NV=2"
#define TILE_4  "-DTILE_M=12 -DTILE_NV=2"
static const husk__configuration MENU_FILTERS[] = {
    {"14x32", TILE_16, {14, 2, 16, OF_FILTERS}},
    {"6x16", TILE_8, {6, 2, 8, OF_FILTERS}},
    {"12x8", TILE_4, {12, 2, 4, OF_FILTERS}},
};
static const husk__configuration MENU_PATCHES[] = {
    {"14x32", TILE_16, {14, 2, 16, OF_PATCHES}},
    {"6x16", TILE_8, {6, 2, 8, OF_PATCHES}},
    {"12x8", TILE_4, {12, 2, 4, OF_PATCHES}},
};
static const husk__configuration MENU_POSITIONS[] = {
    {"14x32", TILE_16, {14, 2, 16, OF_POSITIONS}},
    {"6x16", TILE_8, {6, 2, 8, OF_POSITIONS}},
    {"12x8", TILE_4, {12, 2, 4, OF_POSITIONS}},
};

// Cycles, measured: to stage a row and a vector of the image, to start and to store a tile of vectors of filters, and
// half of one of vectors of positions, likewise with 16 registers; and to start a work-item.
static const double STAGE_ROW_CYCLES = 25.0, STAGE_CYCLES = 10.0, TILE_CYCLES = 225.0, STRIP_CYCLES = 35.0,
                    LOW_STRIP_CYCLES = 50.0, ITEM_CYCLES = 3000.0;
// To copy a step of a patch; to read a tile's sums and to write them, once for each block of steps.
static const double COPY_CYCLES = 7.0, SUMS_CYCLES = 50.0;
// Cycles from a multiply-add to the next one that needs its sum: a step has one for each sum of the tile.
static const double FMA_LATENCY = 4.0;
// Of the first-level cache, what lines of x take without driving each other out: weights stream through it as well.
static const double LINES_SHARE = 1.0 / 3.0;
// Copies were timed with 16 registers only: elsewhere they are taken where they promise this much.
static const double UNTRIED = 1.25;
// To bring a cache line from the second-level cache that no prefetcher foresees.
static const double UNFORESEEN_CYCLES = 6.5;
// Every block reads all weights again: to bring a cache line of them from the second-level cache.
static const double WEIGHT_LINE_CYCLES = 2.0, LINE_FLOATS = 16.0;
static const double NEARLY = 1.03;
static const double HALF = 0.5; // to round to the nearest whole row

// Elements of a work-item's staged image that leave room in the second-level cache, and those that are too many.
enum {
    STAGED_WANTED = 48 * 1024,
    IN_PLACE_WANTED = 64 * 1024,
    STAGED_MOST = 4 * 1024 * 1024,
    BLOCK_TILES = 64,
    LEAST_TILES = 4
};
enum { ITEMS_PER_UNIT = 8 };
// Caches of a core where they are not known.
enum { USUAL_L1 = 32 * 1024, USUAL_L2 = 256 * 1024 };

// How the image is cut into blocks, see the kernel.
typedef struct blocks {
    int64_t tiles, rows, columns;
    int64_t staged; // elements, 0 where x is used in place
    int64_t steps;  // of a patch, that are copied at a time; 0 where nothing is
} blocks;

static bool is_of_positions(const husk__configuration *configuration)
{
    return configuration->values[HUSK__CONV_TILE_VALUES] == OF_POSITIONS;
}

static bool has_patches(const husk__configuration *configuration)
{
    return configuration->values[HUSK__CONV_TILE_VALUES] == OF_PATCHES;
}

// Positions of the largest tile's row, or of the one vector that a block counts in.
static int64_t tile_positions(const husk__configuration *configuration)
{
    const husk__conv_tile tile = husk__conv_tile_of(configuration);
    return is_of_positions(configuration) ? tile.width : tile.rows;
}

// Filters of the largest tile.
static int64_t tile_filters(const husk__configuration *configuration)
{
    const husk__conv_tile tile = husk__conv_tile_of(configuration);
    return is_of_positions(configuration) ? tile.rows : (int64_t)tile.vectors * tile.width;
}

static int64_t row_tiles(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return husk__divide_up(g->out[2], tile_positions(candidate->configuration));
}

// A block has tiles of one image only.
static int64_t image_tiles(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return g->out[1] * row_tiles(candidate);
}

// Nothing to widen, nothing to pad, nothing to split, and every offset fits the table.
static bool is_in_place(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    int64_t reach = 0, step;
    bool fits = problem->dtype == HUSK_F32 && g->stride[2] == 1 && g->x_strides[4] == 1;
    for (int i = 0; i < 3; ++i) {
        fits = fits && g->pad[i] == 0 &&
               (g->out[i] - 1) * g->stride[i] + (g->kernel[i] - 1) * g->dilation[i] < g->in[i] &&
               husk__mul_i64((g->kernel[i] - 1) * g->dilation[i], g->x_strides[2 + i], &step) &&
               husk__add_i64(reach, step, &reach);
    }
    return fits && husk__mul_i64(husk__max_i64(0, g->channels - 1), g->x_strides[1], &step) &&
           husk__add_i64(reach, step, &reach) && reach <= INT32_MAX && reach >= 0;
}

// Elements of a staged block, as lib/staging.clh lays it out; -1 where they are more than a number holds.
static int64_t staged_count(const husk__conv_geometry *g, int64_t rows, int64_t columns)
{
    const int64_t reach = (g->kernel[2] - 1) * g->dilation[2];
    const int64_t row = husk__min_i64(g->stride[2], reach + 1) * (columns + reach / g->stride[2]);
    const int64_t reach_h = (g->kernel[1] - 1) * g->dilation[1];
    const int64_t in_rows = (rows - 1) * husk__min_i64(g->stride[1], reach_h + 1) + reach_h + 1;
    int64_t count;
    if (!husk__mul_i64(row, in_rows, &count) || !husk__mul_i64(count, g->kernel[0], &count) || count > STAGED_MOST ||
        !husk__mul_i64(husk__round_up(count, 16) + 16, g->channels, &count))
        return -1;
    return count;
}

static double l1_of(const husk__candidate *candidate)
{
    const husk_machine *machine = candidate->machine;
    return machine->l1 > 0 ? (double)machine->l1 : USUAL_L1;
}

// So many steps that a panel's weights of them take half of the first-level cache, and so many tiles that their patches
// take half of the second-level one, but no more than an image has.
static void fit_patches(const husk__candidate *candidate, blocks *b)
{
    const husk_machine *machine = candidate->machine;
    const int64_t depth = husk__max_i64(1, husk__conv_filter_count(candidate->problem));
    const int64_t l1 = (int64_t)l1_of(candidate);
    const int64_t l2 = machine->l2 > 0 ? (int64_t)machine->l2 : USUAL_L2, size = sizeof(float);
    const int64_t most = husk__max_i64(1, l1 / 2 / (size * tile_filters(candidate->configuration)));
    b->steps = husk__divide_up(depth, husk__divide_up(depth, most));
    const int64_t fit = l2 / 2 / (size * b->steps * tile_positions(candidate->configuration));
    const int64_t there = husk__max_i64(1, image_tiles(candidate));
    b->tiles = husk__min_i64(husk__max_i64(LEAST_TILES, husk__min_i64(BLOCK_TILES, fit)), there);
}

static blocks cut(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t across = husk__max_i64(1, row_tiles(candidate));
    const int64_t positions = tile_positions(candidate->configuration);
    blocks b = {.tiles = BLOCK_TILES};
    if (has_patches(candidate->configuration))
        fit_patches(candidate, &b);
    if (is_in_place(candidate->problem) && (!is_of_positions(candidate->configuration) || g->out[2] >= positions)) {
        if (b.steps > 0)
            return b;
        // What every panel of filters reads again stays in the second-level cache.
        const int64_t fit = IN_PLACE_WANTED / husk__max_i64(1, husk__conv_filter_count(candidate->problem) * positions);
        b.tiles = husk__max_i64(LEAST_TILES, husk__min_i64(b.tiles, fit));
        return b;
    }
    for (;; b.tiles = husk__max_i64(LEAST_TILES, b.tiles / 2)) {
        b.columns = across <= b.tiles ? g->out[2] : b.tiles * positions;
        const int64_t least = staged_count(g, 1, b.columns);
        if ((least >= 0 && least <= STAGED_WANTED) || b.tiles <= LEAST_TILES || across <= LEAST_TILES)
            break;
    }
    b.rows = 1;
    while (b.rows < g->out[1] && (b.rows + 1) * across <= b.tiles) {
        const int64_t more = staged_count(g, b.rows + 1, b.columns);
        if (more < 0 || more > STAGED_WANTED)
            break;
        ++b.rows;
    }
    b.staged = staged_count(g, b.rows, b.columns);
    return b;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t staged = cut(candidate).staged;
    if (husk__conv_has_wide_y(candidate->problem, reason) || husk__conv_is_double(candidate->problem, reason) ||
        !husk__conv_tile_fits(candidate, reason))
        return false;
    if (is_of_positions(candidate->configuration) && g->y_strides[4] != 1)
        snprintf(reason, HUSK__REASON_CAPACITY, "neighbouring positions of y are not neighbours in memory");
    else if (staged < 0 || staged > STAGED_MOST)
        snprintf(reason, HUSK__REASON_CAPACITY, "a row of the output needs too much of the image at once");
    else
        return true;
    return false;
}

static int64_t filter_panels(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return husk__divide_up(g->filters, tile_filters(candidate->configuration));
}

static int64_t packed_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const husk__conv_geometry *g = &problem->geometry;
    // Panels of vectors of positions are as high as their filters are many, others are filled with zeros.
    const int64_t filters =
        is_of_positions(configuration) ? g->filters : husk__round_up(g->filters, tile_filters(configuration));
    return g->groups * filters * husk__conv_filter_count(problem);
}

static int64_t tile_count(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return g->batch * g->out[0] * image_tiles(candidate);
}

// What staging takes for so many neighbouring tiles: blocks overlap by what the filter reaches.
static double staging_cycles(const husk__candidate *candidate, int64_t tiles)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const blocks b = cut(candidate);
    if (b.rows == 0)
        return 0.0;
    const double rows = (double)tiles / (double)row_tiles(candidate),
                 reach = (double)((g->kernel[2] - 1) * g->dilation[2]);
    const double count = husk__max_i64(1, husk__divide_up((int64_t)(rows + HALF), b.rows));
    const double in_rows = rows * (double)husk__min_i64(g->stride[1], g->kernel[1]) +
                           count * (double)((g->kernel[1] - 1) * g->dilation[1]);
    const double phases = (double)husk__min_i64(g->stride[2], (int64_t)reach + 1);
    const double vectors =
        ((double)g->out[2] + reach / (double)g->stride[2]) / husk__conv_tile_of(candidate->configuration).width;
    return in_rows * (double)(g->channels * g->kernel[0]) * phases * (STAGE_ROW_CYCLES + vectors * STAGE_CYCLES);
}

// The share of a filter's rows that do not lie in the padding: tiles of filters leave out the others.
static double rows_inside(const husk__conv_geometry *g)
{
    int64_t inside = 0;
    for (int64_t row = 0; g->pad[1] > 0 && row < g->out[1]; ++row) {
        const int64_t first = row * g->stride[1] - g->pad[1], dilation = g->dilation[1];
        const int64_t above = first < 0 ? husk__min_i64(g->kernel[1], husk__divide_up(-first, dilation)) : 0;
        const int64_t end = first < g->in[1] ? husk__min_i64(g->kernel[1], (g->in[1] - 1 - first) / dilation + 1) : 0;
        inside += husk__max_i64(0, end - above);
    }
    return g->pad[1] > 0 ? (double)inside / (double)husk__max_i64(1, g->out[1] * g->kernel[1]) : 1.0;
}

static bool has_few_registers(const husk__candidate *candidate)
{
    return candidate->machine->registers == HUSK__FEW_REGISTERS;
}

// A step of a tile of so many vectors. In 16 registers it is so short that it waits for the sums of the step before,
// and for its elements of x, whose lines no prefetcher foresees: those of all steps drive each other out of the
// first-level cache, or stay there for the neighbouring tile.
static double step_cycles(const husk__candidate *candidate, double vectors, double fma_per_cycle)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    if (!has_few_registers(candidate))
        return vectors / fma_per_cycle;
    const double arithmetic = fmax(vectors / fma_per_cycle, FMA_LATENCY);
    if (has_patches(candidate->configuration))
        return arithmetic;
    const double columns = (double)g->kernel[2], phases = (double)husk__min_i64(g->stride[2], g->kernel[2]);
    const double positions =
        is_of_positions(candidate->configuration) ? (double)tile.vectors * tile.width : (double)tile.rows;
    // A row's lines, which the steps of its columns share. Tiles begin anywhere, vectors at their multiples.
    const double aligned = is_of_positions(candidate->configuration) ? (double)tile.width : 0.0;
    const double whole = phases * (positions + columns - 1.0) / LINE_FLOATS;
    const double touched = whole + phases * (1.0 - aligned / LINE_FLOATS);
    const double rows = (double)husk__conv_filter_count(candidate->problem) / columns;
    const bool stay = rows * touched * LINE_FLOATS * sizeof(float) <= l1_of(candidate) * LINES_SHARE;
    return fmax(arithmetic, (stay ? whole : touched) / columns * UNFORESEEN_CYCLES);
}

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, int64_t tiles,
                          int64_t panels)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_tile of_filters = husk__conv_tile_of(candidate->configuration);
    const double depth = (double)husk__conv_filter_count(problem);
    const blocks b = cut(candidate);
    double tile;
    if (is_of_positions(candidate->configuration))
        tile = depth *
                   step_cycles(candidate, (double)g->filters / (double)filter_panels(candidate) * of_filters.vectors,
                               rates->fma_per_cycle) /
                   of_filters.vectors +
               (has_few_registers(candidate) ? LOW_STRIP_CYCLES : STRIP_CYCLES);
    else
        tile = depth * rows_inside(g) *
                   step_cycles(candidate, (double)g->out[2] / (double)row_tiles(candidate) * of_filters.vectors,
                               rates->fma_per_cycle) +
               (b.steps > 0 ? (double)husk__divide_up((int64_t)depth, b.steps) * SUMS_CYCLES : 0.0) + TILE_CYCLES;
    const int64_t block_tiles =
        b.rows > 0 ? husk__max_i64(1, husk__min_i64(b.tiles, b.rows * row_tiles(candidate))) : b.tiles;
    const double weights = depth * (double)g->filters / (double)filter_panels(candidate) * (double)panels;
    const double copy = b.steps > 0 ? depth * COPY_CYCLES * (double)tiles : 0.0;
    return ITEM_CYCLES + depth + copy + staging_cycles(candidate, tiles) +
           (double)husk__divide_up(tiles, block_tiles) * weights / LINE_FLOATS * WEIGHT_LINE_CYCLES +
           (double)tiles * (double)panels * tile;
}

// Of splits that are predicted to take nearly the same the finest is taken: the threads of a device do not begin
// together and something else may have a part of a core, so that one takes over another's share.
static husk__conv_split split(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units), most = ITEMS_PER_UNIT * units;
    const int64_t tiles = tile_count(candidate), panels = filter_panels(candidate);
    husk__conv_split least = {1, 1, 0}, best = {1, 1, 0};
    for (int round = 0; round < 2; ++round)
        for (int64_t down = 1; down <= husk__max_i64(1, husk__min_i64(panels, most)); ++down)
            for (int64_t across = 1; across <= husk__max_i64(1, husk__min_i64(tiles, most)); ++across) {
                const int64_t items = g->groups * across * down;
                if (across * down > 1 && items > most)
                    break;
                const double cycles = (double)husk__divide_up(items, units) *
                                      item_cycles(candidate, &candidate->machine->typical,
                                                  husk__divide_up(tiles, across), husk__divide_up(panels, down));
                const husk__conv_split found = {across, down, cycles};
                if (round == 0 && (least.cycles == 0 || cycles < least.cycles))
                    least = found;
                if (round == 1 && cycles <= NEARLY * least.cycles &&
                    across * down > best.column_items * best.filter_items)
                    best = found;
            }
    return best.cycles > 0 ? best : least;
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_split work = split(candidate);
    const double time =
        husk__conv_split_time(candidate, &work, tile_count(candidate), filter_panels(candidate), item_cycles);
    const bool is_tried = has_few_registers(candidate) || !has_patches(candidate->configuration);
    return time * (is_tried ? 1.0 : UNTRIED) +
           husk__conv_packing_cost(candidate, packed_count(candidate->problem, candidate->configuration));
}

// Elements of a patch's copy, as in the kernel: an odd number of cache lines.
static int64_t patch_count(const husk__candidate *candidate, const blocks *b)
{
    return (husk__divide_up(b->steps * tile_positions(candidate->configuration), 16) | 1) * 16;
}

// Elements of scratch of one work-item: table of offsets and staged image; of vectors of filters, a line of bias and
// the sums of a block's tiles, or with patches their copies, a finished tile, and where one block of steps is not all
// the sums of the block's tiles with all of the item's panels.
static int64_t item_count(const husk__candidate *candidate, const husk__conv_split *work)
{
    const blocks b = cut(candidate);
    const int64_t filters = tile_filters(candidate->configuration), depth = husk__conv_filter_count(candidate->problem);
    const int64_t sums = b.tiles * husk__conv_tile_of(candidate->configuration).rows * filters;
    const int64_t table = husk__round_up(depth, 16) + husk__round_up(b.staged, 16) + 64;
    if (is_of_positions(candidate->configuration))
        return table;
    if (b.steps == 0)
        return table + sums + (16 + 1) * filters;
    const int64_t panels = husk__divide_up(filter_panels(candidate), work->filter_items);
    return table + (16 + 1) * filters + b.tiles * patch_count(candidate, &b) + (depth > b.steps ? panels * sums : 0);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    const int64_t items = work.column_items * work.filter_items * problem->geometry.groups;
    return husk__conv_packing_bytes(problem, packed_count(problem, candidate->configuration)) +
           4 * (uint64_t)(items * item_count(candidate, &work));
}

typedef struct direct_state {
    husk__conv_state shared;
    uint64_t scratch_at; // where scratch of work-items begins, in bytes
    int64_t scratch_item; // of one, in elements
    blocks blocks;
    int64_t filter_items;
} direct_state;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    const bool is_rows = is_of_positions(plan->configuration);
    const char *file = "conv/direct.cl", *kernel = "husk_conv_direct", *pack = "husk_conv_direct_pack";
    if (is_rows)
        file = "conv/direct_rows.cl", kernel = "husk_conv_direct_rows", pack = "husk_conv_direct_rows_pack";
    else if (has_patches(plan->configuration))
        file = "conv/direct_patches.cl", kernel = "husk_conv_direct_patches";
    husk_status status = husk__conv_prepare(plan, sizeof(direct_state), file, kernel, pack, scope);
    if (status != HUSK_OK)
        return status;
    direct_state *state = plan->state;
    const husk__conv_split work = split(&candidate);
    const blocks b = cut(&candidate);
    const size_t panels = (size_t)filter_panels(&candidate), groups = (size_t)problem->geometry.groups;
    state->shared.packed_count = packed_count(problem, plan->configuration);
    state->scratch_at = husk__conv_packing_bytes(problem, state->shared.packed_count);
    state->scratch_item = item_count(&candidate, &work);
    state->blocks = b;
    state->filter_items = work.filter_items;
    state->shared.range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    const size_t parts = is_rows ? 1
                                 : (size_t)husk__max_i64(1, 2 * (int64_t)candidate.traits->compute_units /
                                                                husk__max_i64(1, (int64_t)(panels * groups)));
    state->shared.pack_range = (husk__range){{panels, groups, parts}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const direct_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    husk__arg extra[8] = {HUSK__ARG_BUFFER(scratch->buffer, state->scratch_at, 4), HUSK__ARG_I64(state->scratch_item),
                          HUSK__ARG_I32(state->blocks.tiles), HUSK__ARG_I32(state->blocks.rows),
                          HUSK__ARG_I32(state->blocks.columns)};
    size_t count = 5;
    if (state->blocks.steps > 0)
        extra[count++] = HUSK__ARG_I32(state->blocks.steps);
    extra[count++] = HUSK__ARG_I32(state->filter_items);
    extra[count++] = HUSK__ARG_SHARES;
    return husk__conv_launch(plan, queue, arguments, weights, extra, count, scope);
}

const husk__variant husk__conv_direct_filters = {
    .name = "direct_filters",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU_FILTERS,
    .configuration_count = sizeof MENU_FILTERS / sizeof *MENU_FILTERS,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__conv_direct_patches = {
    .name = "direct_patches",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU_PATCHES,
    .configuration_count = sizeof MENU_PATCHES / sizeof *MENU_PATCHES,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__conv_direct_positions = {
    .name = "direct_positions",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU_POSITIONS,
    .configuration_count = sizeof MENU_POSITIONS / sizeof *MENU_POSITIONS,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
