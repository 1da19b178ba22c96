// SPDX-License-Identifier: MIT
// Variant cpu_matrix: bf16, and f32 in parts of bf16, by the matrix engines of CPUs. The kernel is described in
// cl/conv/cpu_matrix.cl; an engine that passes its probe is asked for when a plan is made. There, too: why x is copied.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"
#include "select/engine.h"

// What the number of a configuration means: most tiles of K in a block.
enum { BLOCK_TILES };

static const husk__configuration MENU[] = {
    {"512", "-DBLOCK_TILES=16", {16}},
    {"1024", "-DBLOCK_TILES=32", {32}},
};

// Of the kernels and of lib/amx.clh: filters and positions multiplied at once, steps and words of a tile, panels of a
// strip, pixels a tile may reach past the last.
enum { BLOCK = 32, STEPS = 32, TILE_WORDS = 256, MOST_PANELS = 32, SLACK = 32 };
// Work-groups that copy x.
enum { PARTS_PER_UNIT = 4 };

// ---- the image ----

// As struct grid of the kernels.
typedef struct grid {
    bool is_folded;
    int64_t taps, tiles; /* of K: taps, and tiles of each */
    int64_t pixels[3]; /* of a phase, in each dimension of space */
    int64_t all; /* pixels of all phases and images */
    int64_t positions; /* from y's first to its last */
} grid;

static grid grid_of(const husk__conv_geometry *g)
{
    const int64_t folded = husk__round_up(g->kernel[2] * g->channels, STEPS);
    grid made = {.is_folded = 2 * folded <= g->kernel[2] * husk__round_up(g->channels, STEPS)};
    made.taps = g->kernel[0] * g->kernel[1] * (made.is_folded ? 1 : g->kernel[2]);
    made.tiles = (made.is_folded ? folded : husk__round_up(g->channels, STEPS)) / STEPS;
    made.all = g->batch;
    for (int i = 0; i < 3; ++i) {
        const int64_t reach = i == 2 && made.is_folded ? 0 : (g->kernel[i] - 1) * g->dilation[i];
        made.pixels[i] = g->out[i] + reach / g->stride[i];
        made.all *= made.pixels[i] * husk__min_i64(g->stride[i], reach + 1);
    }
    const int64_t image = made.pixels[0] * made.pixels[1] * made.pixels[2];
    made.positions =
        (g->batch - 1) * image + ((g->out[0] - 1) * made.pixels[1] + g->out[1] - 1) * made.pixels[2] + g->out[2];
    return made;
}

static int64_t tiles_of(const husk__conv_problem *problem)
{
    const grid g = grid_of(&problem->geometry);
    return g.taps * g.tiles;
}

// Whether positions are rows of the product: channels lie side by side.
static bool has_rows(const husk__conv_problem *problem)
{
    return problem->geometry.x_strides[1] == 1 && problem->geometry.channels > 1;
}

// The first pixel that has to be copied: where x itself lies as its image would, only those of a last panel that is not
// whole, as a tile reads past the end of x there.
static int64_t image_from(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    const grid made = grid_of(g);
    const int64_t pixel = g->stride[2] * g->x_strides[HUSK__OF_COLUMNS];
    bool is_x = has_rows(problem) && problem->dtype == HUSK_BF16 && g->channels % STEPS == 0 && !made.is_folded &&
                made.pixels[0] * made.pixels[1] == 1 && (g->batch == 1 || g->x_strides[0] == made.pixels[2] * pixel);
    for (int i = 0; i < 3; ++i)
        is_x = is_x && g->kernel[i] == 1 && g->pad[i] == 0 && (g->out[i] - 1) * g->stride[i] < g->in[i];
    return is_x ? made.positions / BLOCK * BLOCK : 0;
}

// Pixels that an image has room for; an odd number of 16 of them, so that rows of tiles do not fall on one another in
// caches.
static int64_t room_of(const husk__conv_problem *problem)
{
    return husk__round_up(grid_of(&problem->geometry).all - image_from(problem) + SLACK, 32) + 16;
}

static husk__product product_of(const husk__conv_problem *problem)
{
    return husk__engine_amx_product(problem->dtype, problem->precision);
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

static uint64_t image_bytes(const husk__conv_problem *problem)
{
    const grid g = grid_of(&problem->geometry);
    return g.all == image_from(problem)
               ? 0
               : (uint64_t)(problem->geometry.groups * room_of(problem) * g.tiles * step_words(problem) / BLOCK) *
                     sizeof(uint32_t);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    if (husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, problem->dtype, problem->precision))
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "no engine of CPUs for this dtype and precision on this device");
    return false;
}

// ---- how the work is divided, and what it costs ----

// Tiles of K in a block, all nearly alike.
static int64_t block_tiles(const husk__candidate *candidate)
{
    const int64_t tiles = husk__max_i64(1, tiles_of(candidate->problem));
    return husk__divide_up(tiles, husk__divide_up(tiles, candidate->configuration->values[BLOCK_TILES]));
}

// Cycles. To copy 64 bytes of the image, of bf16 and of f32 in parts, and to bring a vector of sums to y: as measured,
// roughly, on a CPU without tiles.
static const double COPY_BF16 = 8.0, COPY_F32 = 16.0, FINISH = 12.0;
static const double ENTER_TILE = 60.0, WAIT = 100.0, ITEM_CYCLES = 6000.0;
// Weights are packed element by element: slower by this than where vectors are transposed.
static const double PACKING_SLOWER = 2.5;
// Where the elements that go side by side into the image do not lie so in x, each is copied alone: slower by this.
static const double ELEMENTS_SLOWER = 8.0;
// Of lib/amx.clh: products of parts that one of f32 in two parts takes; tiles of sums of a block, rows of each.
static const double PART_PRODUCTS = 3.0, BLOCK_SUMS = 4.0, SUM_VECTORS = 16.0;

static int64_t positions_of(const husk__conv_problem *problem)
{
    return husk__divide_up(grid_of(&problem->geometry).positions, BLOCK);
}

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, int64_t panels,
                          int64_t filter_panels)
{
    const husk__conv_problem *problem = candidate->problem;
    const double tiles = (double)tiles_of(problem);
    const double products = product_of(problem) == HUSK__PRODUCT_BF16X3 ? PART_PRODUCTS : 1.0;
    const double blocks = (double)husk__divide_up((int64_t)tiles, block_tiles(candidate));
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, problem->dtype, problem->precision);
    const double multiply = husk__engine_tile_cycles(engine, rates);
    const double tile =
        BLOCK_SUMS * (tiles * products * multiply + SUM_VECTORS * FINISH + ENTER_TILE + (blocks - 1.0) * WAIT);
    return ITEM_CYCLES + (double)panels * (double)filter_panels * tile;
}

// Nanoseconds to lay the image out, in a launch of its own.
static double image_time(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *geometry = &problem->geometry;
    const grid g = grid_of(geometry);
    const bool by_elements = has_rows(problem)
                                 ? g.is_folded && geometry->x_strides[HUSK__OF_COLUMNS] != geometry->channels
                                 : geometry->x_strides[HUSK__OF_COLUMNS] * geometry->stride[2] > 2;
    const double copies = (double)(geometry->groups * (g.all - image_from(problem)) * g.tiles);
    const double units = (double)husk__max_i64(1, candidate->traits->compute_units);
    const double copy = (problem->dtype == HUSK_F32 ? COPY_F32 : COPY_BF16) * (by_elements ? ELEMENTS_SLOWER : 1.0);
    const husk_machine_rates *rates = &candidate->machine->rates;
    return image_bytes(problem) == 0 ? 0.0 : rates->launch_ns + husk__cycles_ns(rates, copies * copy / units);
}

static husk__conv_split split(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return husk__conv_divide(candidate, positions_of(candidate->problem), husk__divide_up(g->filters, BLOCK),
                             item_cycles);
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_split work = split(candidate);
    return husk__conv_split_time(candidate, &work, positions_of(candidate->problem), husk__divide_up(g->filters, BLOCK),
                                 item_cycles) +
           image_time(candidate) +
           PACKING_SLOWER * husk__conv_packing_cost(candidate, packed_count(candidate->problem));
}

// Sums of a work-item that wait for the next block of K.
static int64_t waiting_count(const husk__candidate *candidate, const husk__conv_split *work)
{
    const husk__conv_problem *problem = candidate->problem;
    const int64_t filter_panels = husk__divide_up(problem->geometry.filters, BLOCK);
    return tiles_of(problem) <= block_tiles(candidate)
               ? 0
               : husk__divide_up(filter_panels, work->filter_items) * MOST_PANELS * BLOCK * BLOCK;
}

// Scratch memory: weights, then sums, then the image.
static uint64_t image_offset(const husk__conv_problem *problem, int64_t count, int64_t items, int64_t waiting)
{
    return husk__conv_packing_bytes(problem, count) + sizeof(float) * (uint64_t)(items * waiting);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    return image_offset(problem, packed_count(problem),
                        work.column_items * work.filter_items * problem->geometry.groups,
                        waiting_count(candidate, &work)) +
           image_bytes(problem);
}

// ---- plans ----

// waiting: sums of a work-item that wait; depth: tiles of K in a block; image_from and room: the first pixel that is
// copied, and how many an image has room for.
typedef struct cpu_matrix_state {
    husk__conv_state shared;
    int64_t filter_items, waiting, depth, image_from, room;
} cpu_matrix_state;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__candidate candidate = husk__candidate_of(plan);
    const husk__engine *engine;
    husk__product product;
    husk_status status = husk__engine_find(plan->context, HUSK__ENGINE_TILES, problem->dtype, problem->precision,
                                           &engine, &product, scope);
    if (status != HUSK_OK)
        return status;
    husk__text options = {0};
    husk__engine_product_options(engine, product, &options);
    husk__text_format(&options, " %s%s", plan->configuration->options, has_rows(problem) ? " -DPOSITIONS_A" : "");
    status = options.failed
                 ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan")
                 : husk__conv_prepare_with(plan, sizeof(cpu_matrix_state), options.bytes, "conv/cpu_matrix.cl",
                                           "husk_conv_cpu_matrix", "husk_conv_cpu_matrix_pack", scope);
    cpu_matrix_state *state = plan->state;
    if (status == HUSK_OK)
        status = husk__conv_kernel(plan, options.bytes, "conv/cpu_matrix.cl", "husk_conv_cpu_matrix_image",
                                   &state->shared.lay_out, scope);
    husk__text_free(&options);
    if (status != HUSK_OK)
        return status;
    const husk__conv_split work = split(&candidate);
    const size_t groups = (size_t)g->groups;
    plan->error_factor = husk__engine_error_factor(engine, product, husk__conv_filter_count(problem));
    state->shared.packed_count = packed_count(problem);
    state->shared.packed_form = has_rows(problem) + 2 * grid_of(g).is_folded + 4 * (int64_t)product;
    state->filter_items = work.filter_items;
    state->waiting = waiting_count(&candidate, &work);
    state->depth = block_tiles(&candidate);
    state->image_from = image_from(problem);
    state->room = room_of(problem);
    state->shared.range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    state->shared.pack_range = (husk__range){{(size_t)husk__divide_up(g->filters, BLOCK), groups, 1}, {1, 1, 1}};
    const int64_t pixels = grid_of(g).all - state->image_from;
    const int64_t parts =
        husk__min_i64(husk__divide_up(pixels, 2 * BLOCK), PARTS_PER_UNIT * candidate.traits->compute_units);
    state->shared.lay_out_range = (husk__range){{image_bytes(problem) ? (size_t)parts : 0, groups, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const cpu_matrix_state *state = plan->state;
    const husk__conv_arguments *given = arguments;
    const size_t *groups = state->shared.range.groups;
    const uint64_t packing = husk__conv_packing_bytes(problem, state->shared.packed_count);
    const uint64_t offset =
        image_offset(problem, state->shared.packed_count, (int64_t)(groups[0] * groups[1] * groups[2]), state->waiting);
    const bool has_image = state->shared.lay_out_range.groups[0] > 0;
    const husk__arg image = HUSK__ARG_BUFFER(has_image ? scratch->buffer : NULL, offset, sizeof(uint16_t));
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, given, scratch, &weights, scope);
    const husk__arg place[] = {HUSK__ARG_I64(state->image_from), HUSK__ARG_I64(state->room)};
    if (status == HUSK_OK && has_image)
        status = husk__conv_lay_out(plan, queue, given->x, image, place, sizeof place / sizeof *place, scope);
    if (status != HUSK_OK)
        return status;
    const husk_buffer *waiting = state->waiting > 0 ? scratch->buffer : NULL;
    const husk__arg extra[] = {HUSK__ARG_I32(state->filter_items),
                               HUSK__ARG_I32(state->depth),
                               HUSK__ARG_I32(MOST_PANELS),
                               HUSK__ARG_BUFFER(waiting, packing, sizeof(float)),
                               HUSK__ARG_I64(state->waiting),
                               image,
                               HUSK__ARG_I64(state->image_from),
                               HUSK__ARG_I64(state->room),
                               HUSK__ARG_SHARES};
    return husk__conv_launch(plan, queue, arguments, weights, extra, sizeof extra / sizeof *extra, scope);
}

const husk__variant husk__conv_cpu_matrix = {
    .name = "cpu_matrix",
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
