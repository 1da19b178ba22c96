// SPDX-License-Identifier: MIT
// cl/conv/implicit_gemm.cl: every convolution, on CPU devices.
#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"

// Named for the register tile, filters x columns.
static const husk__configuration MENU[] = {
    {"13x32", "-DTILE_M=13 -DTILE_NV=2", {13, 2, 16}},
    {"6x16", "-DTILE_M=6 -DTILE_NV=2", {6, 2, 8}},
    {"8x12", "-DTILE_M=8 -DTILE_NV=3", {8, 3, 4}},
};

// Cycles, measured: to copy a vector of a patch; an element of it where its neighbours in x lie apart; to start a
// block's work on a panel; to store an element of y whose neighbours lie apart.
static const double COPY_CYCLES = 15.0, COPY_POINTWISE_CYCLES = 3.0, GATHER_CYCLES = 3.0, TILE_CYCLES = 90.0,
                    SCATTER_CYCLES = 2.5, ITEM_CYCLES = 6000.0;
// Weights are packed element by element: slower by this than where vectors are transposed.
static const double PACKING_SLOWER = 2.5;

static int64_t packed_count(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->groups * husk__round_up(g->filters, husk__conv_tile_of(configuration).rows) *
           husk__conv_filter_count(problem);
}

static int64_t column_panels(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t tile = husk__conv_tile_of(candidate->configuration).vectors * husk__conv_vector_width(candidate);
    return husk__divide_up(g->batch * g->out[0] * g->out[1] * g->out[2], tile);
}

// What one work-item of a split takes.
static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, int64_t panels,
                          int64_t filter_panels)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const double depth = (double)husk__conv_filter_count(problem), vectors = tile.vectors;
    const bool has_neighbours = g->stride[2] == 1 && g->x_strides[HUSK__OF_COLUMNS] == 1;
    const bool is_pointwise = depth == (double)g->channels && has_neighbours;
    const double copy = depth * vectors *
                        (is_pointwise     ? COPY_POINTWISE_CYCLES
                         : has_neighbours ? COPY_CYCLES
                                          : GATHER_CYCLES * tile.width);
    const double store = g->y_strides[HUSK__OF_COLUMNS] == 1 ? 0.0 : vectors * tile.rows * tile.width * SCATTER_CYCLES;
    const double product = depth * vectors * tile.rows / rates->fma_per_cycle + TILE_CYCLES + store;
    return ITEM_CYCLES + (double)panels * (copy + (double)filter_panels * product);
}

static int64_t filter_panels(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    return husk__divide_up(g->filters, husk__conv_tile_of(candidate->configuration).rows);
}

static husk__conv_split split(const husk__candidate *candidate)
{
    return husk__conv_divide(candidate, column_panels(candidate), filter_panels(candidate), item_cycles);
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_split work = split(candidate);
    return husk__conv_split_time(candidate, &work, column_panels(candidate), filter_panels(candidate), item_cycles) +
           PACKING_SLOWER *
               husk__conv_packing_cost(candidate, packed_count(candidate->problem, candidate->configuration));
}

// The kernel's own numbers: lines of the filter's taps in a block, panels of columns that are worked on at a time.
enum { MAX_TAPS = 256, BLOCK_TAPS = 384, MAX_PANELS = 16 };

// Elements of a work-item's sums that wait for the next block of k in scratch memory, as y is too narrow for them.
static int64_t waiting_count(const husk__candidate *candidate, const husk__conv_split *work)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const int64_t taps = husk__min_i64(g->kernel[2], MAX_TAPS);
    const int64_t lines = g->channels * g->kernel[0] * g->kernel[1] * husk__divide_up(g->kernel[2], taps);
    if (husk_dtype_size(problem->dtype) >= sizeof(float) || lines <= husk__max_i64(1, BLOCK_TAPS / taps))
        return 0;
    return husk__divide_up(filter_panels(candidate), work->filter_items) * MAX_PANELS * tile.rows * tile.vectors *
           tile.width;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_split work = split(candidate);
    const int64_t items = work.column_items * work.filter_items * problem->geometry.groups;
    return husk__conv_packing_bytes(problem, packed_count(problem, candidate->configuration)) +
           4 * (uint64_t)(items * waiting_count(candidate, &work));
}

typedef struct implicit_gemm_state {
    husk__conv_state shared;
    int64_t filter_items;
    int64_t waiting; // elements of a work-item's sums that wait
} implicit_gemm_state;

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    husk_status status = husk__conv_prepare(plan, sizeof(implicit_gemm_state), "conv/implicit_gemm.cl",
                                            "husk_conv_implicit_gemm", "husk_conv_implicit_gemm_pack", scope);
    if (status != HUSK_OK)
        return status;
    implicit_gemm_state *state = plan->state;
    const husk__conv_split work = split(&candidate);
    const size_t groups = (size_t)problem->geometry.groups;
    state->shared.packed_count = packed_count(problem, plan->configuration);
    state->filter_items = work.filter_items;
    state->waiting = waiting_count(&candidate, &work);
    state->shared.range = (husk__range){{(size_t)work.column_items, (size_t)work.filter_items, groups}, {1, 1, 1}};
    state->shared.pack_range = (husk__range){{(size_t)filter_panels(&candidate), groups, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const implicit_gemm_state *state = plan->state;
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    const husk_buffer *waiting = state->waiting > 0 ? scratch->buffer : NULL;
    const husk__arg extra[] = {
        HUSK__ARG_I32(state->filter_items),
        HUSK__ARG_BUFFER(waiting, husk__conv_packing_bytes(plan->problem, state->shared.packed_count), 4),
        HUSK__ARG_I64(state->waiting), HUSK__ARG_SHARES};
    return husk__conv_launch(plan, queue, arguments, weights, extra, 4, scope);
}

const husk__variant husk__conv_implicit_gemm = {
    .name = "implicit_gemm",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = husk__conv_tile_fits,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
