// SPDX-License-Identifier: MIT
// Variant tile: local-memory tiles on GPUs, a launch a time step. cl/rnn/tile.cl describes the kernel.
#include <stdio.h>

#include "base/checked.h"
#include "ops/rnn/problem.h"

// What the numbers of a configuration mean; the same as its options.
enum { TILE_UNITS, TILE_THREADS, THREAD_ROWS, BLOCK_K, K_SLICES };

// Named by sequences x hidden units of a work-group.
static const husk__configuration configurations[] = {
    {"32x32", "-DTILE_UNITS=32 -DTILE_THREADS=8 -DTHREAD_ROWS=4 -DBLOCK_K=8", {32, 8, 4, 8, 1}},
    // 64 work-items and at most 10 KiB of local memory, this one and the next: for devices that have no more.
    {"16x16", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=4 -DBLOCK_K=16", {16, 4, 4, 16, 1}},
    // Few sequences: little is wasted on rows that are not there.
    {"4x16", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=1 -DBLOCK_K=16", {16, 4, 1, 16, 1}},
    // Fewer tiles than compute units: sums are divided among four times as many work-items: 256, as all allow.
    {"16x16_split", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=4 -DK_SLICES=4", {16, 4, 4, 0, 4}},
    {"4x16_split", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=1 -DK_SLICES=4", {16, 4, 1, 0, 4}},
};

static int64_t tile_rows(const husk__configuration *configuration)
{
    return (int64_t)configuration->values[TILE_THREADS] * configuration->values[THREAD_ROWS];
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const int32_t *values = candidate->configuration->values;
    const husk__rnn_problem *problem = candidate->problem;
    const uint64_t tile = (uint64_t)values[TILE_UNITS] * (uint64_t)values[TILE_THREADS];
    const uint64_t items = tile * (uint64_t)values[K_SLICES];
    const uint64_t sums = tile * (uint64_t)values[THREAD_ROWS] * (uint64_t)problem->gates;
    const uint64_t local = (uint64_t)(values[K_SLICES] - 1) * sums * husk_dtype_size(problem->work);
    if (items > candidate->traits->work_group) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it needs work-groups of %llu", (unsigned long long)items);
        return false;
    }
    if (local > candidate->traits->local_memory) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it needs %llu bytes of local memory", (unsigned long long)local);
        return false;
    }
    return husk__rnn_fits_int(candidate->problem, reason);
}

static husk__rnn_layout lay_out(const husk__candidate *candidate)
{
    husk__rnn_layout layout;
    husk__rnn_lay_out(candidate->problem, candidate->configuration->values[TILE_UNITS], false, &layout);
    return layout;
}

// Reading a tile's weights takes as long as computing so many of its rows.
static const double WEIGHTS_ROWS = 8.0;
// The speed of sums that are divided by K_SLICES, beside undivided ones: where tiles are many, where they are few, and
// where they are few and low, of LOW_ROWS rows (configuration 4x16_split) at most.
static const double SPLIT_MANY = 0.8, SPLIT_FEW = 4.0, SPLIT_FEW_LOW = 10.0;
enum { LOW_ROWS = 4 };

// Rows computed, those beyond a part of the batch too; a larger tile reads the weights less often. What is divided is
// faster where tiles are few, the more so the smaller they are, and reads weights as often as it has items.
static double cost(const husk__candidate *candidate)
{
    const husk__rnn_problem *problem = candidate->problem;
    const int64_t rows = tile_rows(candidate->configuration), part = husk__max_i64(lay_out(candidate).sequences, 1);
    const double parts = (double)husk__max_i64(husk__divide_up(problem->batch, part), 1);
    const double tiles = parts * (double)husk__divide_up(part, rows) *
                         (double)husk__divide_up(problem->hidden, candidate->configuration->values[TILE_UNITS]);
    const bool is_divided = candidate->configuration->values[K_SLICES] > 1;
    const bool has_few = tiles <= 2.0 * (double)candidate->traits->compute_units;
    const double speed = !is_divided ? 1.0 : !has_few ? SPLIT_MANY : rows <= LOW_ROWS ? SPLIT_FEW_LOW : SPLIT_FEW;
    return parts * (double)husk__round_up(part, rows) * (1.0 + WEIGHTS_ROWS / (double)rows) / speed;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return lay_out(candidate).total;
}

static double flops(const husk__candidate *candidate)
{
    const husk__rnn_layout layout = lay_out(candidate);
    return husk__rnn_flops(candidate->problem, &layout);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const int32_t *values = plan->configuration->values;
    husk_status status = husk__rnn_state_create(plan, values[TILE_UNITS], false, scope);
    if (status != HUSK_OK)
        return status;
    husk__rnn_state *state = plan->state;
    const husk__rnn_problem *problem = &state->problem;
    state->grid.groups[0] = (size_t)(state->layout.pitch / state->layout.panel_units *
                                     husk__divide_up(problem->batch, tile_rows(plan->configuration)));
    state->grid.groups[1] = 1;
    state->grid.items[0] = (size_t)values[TILE_UNITS];
    state->grid.items[1] = (size_t)values[TILE_THREADS];
    state->grid.items[2] = (size_t)values[K_SLICES];
    const int cell = problem->gates == 1 ? 0 : problem->gates == 4 ? 1 : husk__rnn_has_two_passes(problem) ? 3 : 2;
    char options[160];
    snprintf(options, sizeof options, "%s -DCELL=%d %s", husk__rnn_dtype_options(problem), cell,
             plan->configuration->options);
    status = husk__kernel_get(plan->context, "rnn/tile.cl", options, "husk_rnn_tile", &state->step, scope);
    return status == HUSK_OK ? husk__rnn_prepare(plan, state, scope) : status;
}

const husk__variant husk__rnn_tile = {
    .name = "tile",
    .family = HUSK__FAMILY_GPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = flops,
    .prepare = prepare,
    .unprepare = husk__rnn_unprepare,
    .run = husk__rnn_run_sequences,
};
