// SPDX-License-Identifier: MIT
#include "ops/conv/tiles.h"

#include <stdio.h>

#include "base/checked.h"
#include "select/engine.h"

const husk__configuration husk__conv_tiled_menu[HUSK__CONV_TILED_MENU] = {
    {"128x128", "-DBLOCK_M=128 -DBLOCK_N=128 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {128, 128, 8, 8, 8}},
    {"64x64", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=16 -DITEM_M=4 -DITEM_N=4", {64, 64, 4, 4, 16}},
    {"64x64_small", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {64, 64, 8, 8, 8}},
    {"32x32", "-DBLOCK_M=32 -DBLOCK_N=32 -DBLOCK_K=8 -DITEM_M=4 -DITEM_N=4", {32, 32, 4, 4, 8}},
};

// An engine's file knows its work-items, and its product how many steps lie in local memory: at most so many, to which
// packed weights are rounded up (cl/lib/packed_lines.clh).
enum { MOST_STEPS = 32, PACK_ITEMS = 32 };
const husk__configuration husk__conv_matrix_menu[HUSK__CONV_MATRIX_MENU] = {HUSK__CONV_MATRIX_TILES};

static bool is_matrix(const husk__configuration *configuration)
{
    return configuration->values[HUSK__TILE_ITEM_M] == 0;
}

bool husk__conv_matrix_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, candidate->traits, problem->dtype, problem->precision);
    if (!engine) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no matrix engine for this dtype and precision on this device");
        return false;
    }
    // Beside the tiles lies a table of where the steps of two of them are, 32 bytes each at most.
    const uint64_t items = (uint64_t)husk__engine_items(engine, v[HUSK__TILE_M]);
    const uint64_t local = HUSK__ENGINE_LINE * (uint64_t)(v[HUSK__TILE_M] + v[HUSK__TILE_N]) + 2 * 32 * MOST_STEPS;
    if (items <= candidate->traits->work_group && local <= candidate->traits->local_memory)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs %llu work-items a group and %llu bytes of local memory",
             (unsigned long long)items, (unsigned long long)local);
    return false;
}

// Tiles of the menus above: the edge of the largest, that of the middle ones, and the edge of what a work-item of plain
// arithmetic has in registers where it has more than 4 x 4.
enum { LARGE_TILE = 128, MIDDLE_TILE = 64, LARGE_ITEM = 8 };
// What they reach: the largest, smaller ones of large items, middle ones of small items, the smallest.
static const double LARGE_REACHES = 0.8, LARGE_ITEM_REACHES = 0.6, MIDDLE_REACHES = 0.55, SMALL_REACHES = 0.35;
// How much faster an engine is: with one product for each multiplication, with several, of parts of f32.
static const double ONE_PRODUCT_GAIN = 6.0, PARTS_GAIN = 2.0;
// To launch the kernel; multiply-adds of a compute unit in a nanosecond at most. GPUs are not measured: these are a
// scale that the variants share.
static const double LAUNCH_NS = 5000.0, UNIT_RATE = 128.0;

// How much of a compute unit's arithmetic a tile reaches, by the ratio of multiplications to local loads; of an
// engine's, as if it were plain arithmetic that is so much faster, very roughly: it wins where it is there.
static double efficiency(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const int32_t *v = configuration->values;
    const double plain = v[HUSK__TILE_M] >= LARGE_TILE        ? LARGE_REACHES
                         : v[HUSK__TILE_ITEM_M] == LARGE_ITEM ? LARGE_ITEM_REACHES
                         : v[HUSK__TILE_M] >= MIDDLE_TILE     ? MIDDLE_REACHES
                                                              : SMALL_REACHES;
    const bool has_one_product = problem->dtype != HUSK_F32 || problem->precision == HUSK_PRECISION_MEDIUM;
    return is_matrix(configuration) ? plain * (has_one_product ? ONE_PRODUCT_GAIN : PARTS_GAIN) : plain;
}

husk__range husk__conv_tiles_range(const husk__configuration *configuration, const husk__conv_tiles *tiles,
                                   int64_t items)
{
    const int32_t *v = configuration->values;
    const int64_t blocks = husk__divide_up(tiles->lines, v[HUSK__TILE_M]) * tiles->groups * tiles->slices;
    const int64_t layers = husk__max_i64(husk__divide_up(blocks, HUSK__MOST_GROUPS), 1);
    return (husk__range){{(size_t)husk__divide_up(tiles->columns, v[HUSK__TILE_N]),
                          (size_t)husk__divide_up(blocks, layers), (size_t)layers},
                         {(size_t)items, 1, 1}};
}

double husk__conv_tiles_cost(const husk__candidate *candidate, const husk__conv_tiles *tiles)
{
    const husk__range range = husk__conv_tiles_range(candidate->configuration, tiles, 1);
    const int32_t *v = candidate->configuration->values;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    const double rounds =
        (double)husk__divide_up((int64_t)(range.groups[0] * range.groups[1] * range.groups[2]), units);
    const double steps = (double)tiles->steps / (double)tiles->slices;
    const double products = (double)v[HUSK__TILE_M] * v[HUSK__TILE_N] * steps;
    return LAUNCH_NS + rounds * products / (UNIT_RATE * efficiency(candidate->problem, candidate->configuration));
}

husk_status husk__conv_tiles_configure(husk_plan *plan, int64_t steps, husk__text *options, int64_t *items,
                                       const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__configuration *configuration = plan->configuration;
    const int32_t *v = configuration->values;
    husk_status status = HUSK_OK;
    if (is_matrix(configuration)) {
        status = husk__engine_configure(plan, problem->dtype, problem->precision, v[HUSK__TILE_M], steps, options,
                                        items, scope);
    } else {
        husk__text_format(options, "%s", configuration->options);
        *items = (int64_t)(v[HUSK__TILE_M] / v[HUSK__TILE_ITEM_M]) * (v[HUSK__TILE_N] / v[HUSK__TILE_ITEM_N]);
    }
    if (status == HUSK_OK && options->failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    return status;
}

// ---- packed weights ----

static int64_t packed_lines(const husk__configuration *configuration, const husk__conv_tiles *tiles)
{
    return husk__round_up(tiles->lines, configuration->values[HUSK__TILE_M]);
}

int64_t husk__conv_tiles_packed_count(const husk__configuration *configuration, const husk__conv_tiles *tiles)
{
    return tiles->groups * packed_lines(configuration, tiles) * husk__round_up(tiles->steps, MOST_STEPS);
}

husk__range husk__conv_tiles_pack_range(const husk__configuration *configuration, const husk__conv_tiles *tiles)
{
    return (husk__range){{(size_t)(tiles->groups * packed_lines(configuration, tiles) / PACK_ITEMS),
                          (size_t)husk__min_i64(husk__round_up(tiles->steps, MOST_STEPS), HUSK__MOST_GROUPS), 1},
                         {PACK_ITEMS, 1, 1}};
}

husk_status husk__conv_tiles_prepare(husk_plan *plan, const husk__conv_tiles *tiles, const char *file,
                                     const char *kernel, const char *pack, const husk__scope *scope)
{
    husk__text options = {0};
    int64_t items;
    husk_status status = husk__conv_tiles_configure(plan, tiles->steps, &options, &items, scope);
    if (status == HUSK_OK)
        status = husk__conv_prepare_with(plan, sizeof(husk__conv_state), options.bytes, file, kernel, pack, scope);
    if (status == HUSK_OK) {
        husk__conv_state *state = plan->state;
        state->packed_count = husk__conv_tiles_packed_count(plan->configuration, tiles);
        state->range = husk__conv_tiles_range(plan->configuration, tiles, items);
        state->pack_range = husk__conv_tiles_pack_range(plan->configuration, tiles);
    }
    husk__text_free(&options);
    return status;
}
