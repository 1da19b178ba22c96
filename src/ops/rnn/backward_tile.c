// SPDX-License-Identifier: MIT
// Variant tile: local-memory tiles on GPUs, a launch a time step. cl/rnn/backward_tile.cl describes the kernel.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "ops/rnn/backward_problem.h"

// What the numbers of a configuration mean; the same as its options.
enum { TILE_UNITS, TILE_THREADS, THREAD_ROWS, BLOCK_K };

// Named by sequences x hidden units of a work-group.
static const husk__configuration configurations[] = {
    {"32x32", "-DTILE_UNITS=32 -DTILE_THREADS=8 -DTHREAD_ROWS=4 -DBLOCK_K=16", {32, 8, 4, 16}},
    // 64 work-items and at most 5 KiB of local memory, this one and the next: for devices that have no more.
    {"16x16", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=4 -DBLOCK_K=16", {16, 4, 4, 16}},
    // Few sequences: little is wasted on rows that are not there.
    {"4x16", "-DTILE_UNITS=16 -DTILE_THREADS=4 -DTHREAD_ROWS=1 -DBLOCK_K=16", {16, 4, 1, 16}},
};

static int64_t tile_rows(const husk__configuration *configuration)
{
    return (int64_t)configuration->values[TILE_THREADS] * configuration->values[THREAD_ROWS];
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__rnn_backward_problem *problem = candidate->problem;
    const int32_t *values = candidate->configuration->values;
    const uint64_t items = (uint64_t)values[TILE_UNITS] * (uint64_t)values[TILE_THREADS];
    if (items > candidate->traits->work_group) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it needs work-groups of %llu", (unsigned long long)items);
        return false;
    }
    return husk__rnn_fits_int(&problem->forward, reason);
}

// Reading a tile's weights takes as long as computing so many of its rows.
static const double WEIGHTS_ROWS = 8.0;

// Rows computed, those beyond the batch too; a larger tile reads the weights less often.
static double cost(const husk__candidate *candidate)
{
    const husk__rnn_backward_problem *problem = candidate->problem;
    const int64_t rows = tile_rows(candidate->configuration);
    const double computed = (double)husk__round_up(husk__max_i64(problem->forward.batch, 1), rows);
    return computed * (1.0 + WEIGHTS_ROWS / (double)rows);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    husk__rnn_backward_layout layout;
    husk__rnn_backward_lay_out(candidate->problem, 0, &layout);
    return layout.total;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__rnn_backward_problem *problem = plan->problem;
    const int32_t *values = plan->configuration->values;
    husk__rnn_backward_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    husk__rnn_backward_lay_out(problem, 0, &state->layout);
    state->grid.groups[0] = (size_t)(husk__divide_up(problem->forward.hidden, values[TILE_UNITS]) *
                                     husk__divide_up(problem->forward.batch, tile_rows(plan->configuration)));
    state->grid.groups[1] = 1;
    state->grid.items[0] = (size_t)values[TILE_UNITS];
    state->grid.items[1] = (size_t)values[TILE_THREADS];
    state->grid.items[2] = 1;
    char options[160];
    snprintf(options, sizeof options, "%s %s", husk__rnn_dtype_options(&problem->forward),
             plan->configuration->options);
    husk_status status =
        husk__kernel_get(plan->context, "rnn/backward_tile.cl", options, "husk_rnn_backward_tile", &state->step, scope);
    return status == HUSK_OK ? husk__rnn_backward_prepare(plan, state, scope) : status;
}

const husk__variant husk__rnn_backward_tile = {
    .name = "tile",
    .family = HUSK__FAMILY_GPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__rnn_backward_flops,
    .prepare = prepare,
    .unprepare = husk__rnn_backward_unprepare,
    .run = husk__rnn_backward_run_layers,
};
