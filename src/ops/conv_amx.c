// SPDX-License-Identifier: MIT
// Variant amx: bf16, and f32 in parts of bf16, by the tile registers of x86 CPUs. The kernel is described in
// cl/conv_amx.cl; an engine that passes its probe is asked for when a plan is made.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv_problem.h"
#include "select/engine.h"

// What the numbers of a configuration mean: most tiles of K in a block, and room for a strip's panels, in words.
enum { BLOCK_TILES, STRIP_WORDS };

#define ROOM "-DBLOCK_TILES=32 -DSTRIP_WORDS=131072"
static const husk__configuration MENU[] = {
    {"512", ROOM, {16, 131072}},
    {"1024", ROOM, {32, 131072}},
};

// Of the kernel and of lib/amx.clh: filters and positions multiplied at once, steps and words of a tile, elements of
// half a row of it, panels of a strip.
enum { BLOCK = 32, STEPS = 32, TILE_WORDS = 256, GRANULE = 16, MOST_PANELS = 32 };

// ---- how the product is laid out ----

// What the positions are, and what a run of K is. Packed weights serve the plans that have the same.
typedef enum form { POSITIONS_ARE_COLUMNS, POSITIONS_ARE_ROWS, ROWS_WITH_WHOLE_ROWS } form;

static form form_of(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    if (g->x_strides[1] != 1 || g->channels == 1)
        return POSITIONS_ARE_COLUMNS;
    const bool lies_together = g->x_strides[4] == g->channels && (g->dilation[2] == 1 || g->kernel[2] == 1);
    return lies_together && g->channels % GRANULE != 0 ? ROWS_WITH_WHOLE_ROWS : POSITIONS_ARE_ROWS;
}

static int64_t tiles_of(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t lines = g->kernel[0] * g->kernel[1], columns = g->kernel[2];
    switch (form_of(problem)) {
    case POSITIONS_ARE_ROWS:
        return husk__divide_up(lines * columns * husk__divide_up(g->channels, GRANULE), 2);
    case ROWS_WITH_WHOLE_ROWS:
        return husk__divide_up(lines * husk__divide_up(columns * g->channels, GRANULE), 2);
    default:
        return husk__divide_up(lines * columns * husk__round_up(g->channels, 2), STEPS);
    }
}

static husk__product product_of(const husk__conv_problem *problem)
{
    return problem->dtype == HUSK_BF16                   ? HUSK__PRODUCT_BF16
           : problem->precision == HUSK_PRECISION_MEDIUM ? HUSK__PRODUCT_BF16X1
                                                         : HUSK__PRODUCT_BF16X3;
}

// Words of 32 lines of a tile of K.
static int64_t step_words(const husk__conv_problem *problem)
{
    return (product_of(problem) == HUSK__PRODUCT_BF16X3 ? 2 : 1) * 2 * TILE_WORDS;
}

static int64_t packed_count(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->groups * husk__divide_up(g->filters, BLOCK) * tiles_of(problem) * step_words(problem);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    if (husk__engine_claimed(HUSK__ENGINE_AMX, candidate->traits, problem->dtype, problem->precision))
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "no AMX for this dtype and precision on this device");
    return false;
}

// ---- how the work is divided, and what it costs ----

// Tiles of K in a block, all nearly alike, and panels of a strip for which there is room then.
typedef struct blocking {
    int64_t tiles, panels;
} blocking;

static blocking block(const husk__candidate *candidate)
{
    const int32_t *values = candidate->configuration->values;
    const int64_t tiles = husk__max_i64(1, tiles_of(candidate->problem));
    const int64_t depth = husk__divide_up(tiles, husk__divide_up(tiles, values[BLOCK_TILES]));
    const int64_t room = values[STRIP_WORDS] / (depth * step_words(candidate->problem));
    return (blocking){depth, husk__min_i64(room, MOST_PANELS)};
}

// Cycles. To multiply two tiles: by the manual, as in gemm_amx.c. To copy 64 bytes of panels, of bf16 and of f32, to
// find the taps of a run, and to bring a vector of sums to y: estimated by gemm_amx.c's, as no such CPU was at hand.
static const double MULTIPLY = 16.0 / 0.8, COPY_BF16 = 6.0, COPY_F32 = 14.0, ENTER_RUN = 20.0, FINISH = 4.0;
static const double ENTER_TILE = 60.0, WAIT = 50.0, ITEM_CYCLES = 6000.0;
// At a clock that matters only in comparison with other variants'.
static const double CYCLES_PER_NS = 3.5;
// Weights are packed element by element: slower by this than where vectors are transposed.
static const double PACKING_SLOWER = 2.5;

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, int64_t panels, int64_t filter_panels)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const double tiles = (double)tiles_of(problem), products = product_of(problem) == HUSK__PRODUCT_BF16X3 ? 3.0 : 1.0;
    const double blocks = (double)husk__divide_up((int64_t)tiles, block(candidate).tiles);
    const bool by_elements = form_of(problem) == POSITIONS_ARE_COLUMNS && g->x_strides[4] * g->stride[2] > 2;
    const double copy = (problem->dtype == HUSK_F32 ? COPY_F32 : COPY_BF16) * (by_elements ? 8.0 : 1.0);
    const double runs = form_of(problem) == POSITIONS_ARE_COLUMNS
                            ? 2.0 * (double)(g->kernel[0] * g->kernel[1] * g->kernel[2])
                            : 0.0;
    const double fill = tiles * 32.0 * copy + runs * ENTER_RUN;
    const double tile = 4.0 * (tiles * products * MULTIPLY + 16.0 * FINISH + ENTER_TILE + (blocks - 1.0) * WAIT);
    return ITEM_CYCLES + (double)panels * (fill + (double)filter_panels * tile);
}

static husk__conv_split split(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t panels = husk__divide_up(g->batch * g->out[0] * g->out[1] * g->out[2], BLOCK);
    return husk__conv_divide(candidate, panels, husk__divide_up(g->filters, BLOCK), item_cycles);
}

static double cost(const husk__candidate *candidate)
{
    return split(candidate).cycles / CYCLES_PER_NS +
           PACKING_SLOWER * husk__conv_packing_cost(candidate->problem, packed_count(candidate->problem));
}

// Sums of a work-item that wait for the next block of K.
static int64_t waiting_count(const husk__candidate *candidate, const husk__conv_split *work)
{
    const husk__conv_problem *problem = candidate->problem;
    const blocking b = block(candidate);
    const int64_t filter_panels = husk__divide_up(problem->geometry.filters, BLOCK);
    return tiles_of(problem) <= b.tiles
               ? 0
               : husk__divide_up(filter_panels, work->filter_items) * b.panels * BLOCK * BLOCK;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    const int64_t items = work.column_items * work.filter_items * problem->geometry.groups;
    return husk__conv_packing_bytes(problem, packed_count(problem)) +
           sizeof(float) * (uint64_t)(items * waiting_count(candidate, &work));
}

// ---- plans ----

enum { FILTER_ITEMS, WAITING, DEPTH, PANELS }; // of state->extra

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char *const forms[] = {"", " -DPOSITIONS_A", " -DPOSITIONS_A -DWHOLE_ROWS"};
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), plan->configuration};
    const husk__engine *engine;
    husk__product product;
    if (!husk__engine_find(plan->context, HUSK__ENGINE_AMX, problem->dtype, problem->precision, &engine, &product))
        return husk__fail(scope, HUSK_UNSUPPORTED, "AMX did not pass its probe on this device");
    husk__text options = {0};
    husk__engine_product_options(engine, product, &options);
    husk__text_format(&options, " %s%s", plan->configuration->options, forms[form_of(problem)]);
    husk__conv_state *state;
    husk_status status =
        options.failed ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan")
                       : husk__conv_prepare_with(plan, options.bytes, "conv_amx.cl", "husk_conv_amx",
                                                 "husk_conv_amx_pack", &state, scope);
    husk__text_free(&options);
    if (status != HUSK_OK)
        return status;
    const husk__conv_split work = split(&candidate);
    const blocking b = block(&candidate);
    const size_t groups = (size_t)g->groups;
    plan->error_factor = husk__engine_error_factor(engine, product, husk__conv_filter_count(problem));
    state->packed_count = packed_count(problem);
    state->packed_form = form_of(problem) + 3 * (int64_t)product;
    state->extra[FILTER_ITEMS] = work.filter_items;
    state->extra[WAITING] = waiting_count(&candidate, &work);
    state->extra[DEPTH] = b.tiles;
    state->extra[PANELS] = b.panels;
    state->range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    state->pack_range = (husk__range){{(size_t)husk__divide_up(g->filters, BLOCK), groups, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk_buffer *waiting = state->extra[WAITING] > 0 ? scratch->buffer : NULL;
    const husk__arg extra[] = {HUSK__ARG_I32(state->extra[FILTER_ITEMS]),
                               HUSK__ARG_I32(state->extra[DEPTH]),
                               HUSK__ARG_I32(state->extra[PANELS]),
                               HUSK__ARG_BUFFER(waiting, husk__conv_packing_bytes(plan->problem, state->packed_count),
                                                sizeof(float)),
                               HUSK__ARG_I64(state->extra[WAITING]),
                               HUSK__ARG_SHARES};
    return husk__conv_launch(plan, queue, arguments, weights, extra, sizeof extra / sizeof *extra, scope);
}

const husk__variant husk__conv_amx = {
    .name = "amx",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
