// SPDX-License-Identifier: MIT
// Variant panel: explicit vectors on CPU devices. cl/rnn/panel.cl describes the kernel.
#include <math.h>
#include <stdio.h>

#include "base/checked.h"
#include "ops/rnn/problem.h"

// What the numbers of a configuration mean: rows of a register tile of two vectors and, for a GRU with its reset
// after the product, of three.
enum { ROWS_OF_TWO, ROWS_OF_THREE, BLOCK_K };

// Rows of x are divided by whole tiles of the widest configuration. Fewer weights are packed in less time than gemm's
// launch takes.
enum { TILE_HEIGHT = 8, FEW_WEIGHTS = 16384 };

static const husk__configuration configurations[] = {
    {"8x2", "", {8, 7, 512}}, // 16 or 21 sums: 32 vector registers (AVX-512, NEON)
    {"6x2", "", {6, 4, 512}}, // 12 sums: 16 vector registers (AVX2, SSE)
};

static int64_t unit_vectors(const husk__rnn_problem *problem)
{
    if (problem->gates == 1)
        return 4;
    return husk__rnn_has_two_passes(problem) ? 2 : 1;
}

static int64_t strip_vectors(const husk__rnn_problem *problem)
{
    return problem->gates == 3 && !husk__rnn_has_two_passes(problem) ? 3 : 2;
}

static int64_t panel_units(const husk__rnn_problem *problem, const husk_device_traits *traits)
{
    return unit_vectors(problem) * husk__rnn_vector_width(problem, traits);
}

// ---- how work is divided ----

// Nanoseconds and bytes a nanosecond, measured on PoCL with two cores; only their ratios matter.
static const double LAUNCH = 10000.0, WAKE = 20000.0, FLOPS_PER_CORE = 210.0, NEAR = 130.0, SHARED = 75.0,
                    FAR_PER_DEVICE = 70.0;
static const double NEAR_BYTES = 1048576.0, SHARED_BYTES = 50331648.0;

// Time of one step where each of `items` work-items has `rows` sequences and `share` of the weights.
static double step_time(const husk__rnn_problem *problem, double rows, double share, double items)
{
    const double elements = (double)problem->gates * (double)problem->hidden * (double)problem->hidden;
    const double size = husk__rnn_size(problem), floats = size / sizeof(float);
    const double bytes = elements * size * share, all = elements * size * (double)problem->directions;
    const double rate = bytes <= NEAR_BYTES   ? NEAR
                        : all <= SHARED_BYTES ? SHARED
                                              : fmin(55.0, FAR_PER_DEVICE / items);
    return fmax(bytes / rate, 2.0 * floats * elements * share * rows / FLOPS_PER_CORE);
}

// Sequences are divided among work-items, so that a launch does all steps; or hidden units, or both, a launch
// a step: what the model above predicts to be faster.
void husk__rnn_divide(const husk__rnn_problem *problem, int64_t panels, uint32_t cores, husk__rnn_grid *grid)
{
    const int64_t most = husk__max_i64((int64_t)cores / problem->directions, 1);
    const double passes = husk__rnn_has_two_passes(problem) ? 2.0 : 1.0;
    double best = INFINITY;
    for (int64_t parts = 1; parts <= most && parts <= problem->batch; ++parts) {
        const int64_t rows = husk__divide_up(problem->batch, parts);
        for (int split = 0; split < 2; ++split) {
            const int64_t wanted = split ? husk__min_i64(husk__max_i64(most / parts, 1), panels) : 1;
            const int64_t group_panels = husk__divide_up(panels, wanted);
            const int64_t groups = husk__divide_up(panels, group_panels);
            const double share = (double)group_panels / (double)panels;
            const double items = (double)(groups * parts * problem->directions);
            const double steps = (double)problem->steps * step_time(problem, (double)rows, share, items);
            const double time = steps + LAUNCH * (groups > 1 ? (double)problem->steps * passes : 1.0) +
                                (items > 1.0 ? WAKE : 0.0); // of the other cores
            if (time >= best)
                continue;
            best = time;
            grid->group_panels = (int32_t)group_panels;
            grid->group_rows = (int32_t)rows;
            grid->groups[0] = (size_t)groups;
            grid->groups[1] = (size_t)husk__divide_up(problem->batch, rows);
            grid->is_whole = groups == 1;
        }
    }
    grid->items[0] = grid->items[1] = grid->items[2] = 1;
}

// The products of the inputs: a launch that divides rows or panels evenly, in whole tiles, among all cores; or, where a
// work-group's steps use what it made itself alone, part of the first launch of steps, which costs no launch but has
// no more cores than the steps.
static void divide_inputs(const husk__rnn_problem *problem, const husk__rnn_layout *layout, uint32_t cores,
                          husk__rnn_grid *grid)
{
    const int64_t panels = layout->pitch / layout->panel_units, rows = layout->chunk * problem->batch;
    int64_t least = INT64_MAX;
    for (int64_t parts = 1; parts <= (int64_t)cores && parts <= panels; ++parts) {
        const int64_t group_panels = husk__divide_up(panels, parts);
        const int64_t row_parts = husk__max_i64((int64_t)cores / parts, 1);
        const int64_t group_rows = husk__round_up(husk__divide_up(rows, row_parts), TILE_HEIGHT);
        if (group_panels * group_rows >= least)
            continue;
        least = group_panels * group_rows;
        grid->input_panels = (int32_t)group_panels;
        grid->input_rows = (int32_t)group_rows;
        grid->input_groups[0] = (size_t)husk__divide_up(panels, group_panels);
        grid->input_groups[1] = (size_t)husk__divide_up(rows, group_rows);
    }
    // A row or two take as long as a few: the weights are read all the same.
    double time = 2.0 * (double)husk__max_i64(rows, 4) * (double)(problem->gates * problem->hidden) *
                  (double)husk__max_i64(problem->inputs, problem->layers > 1 ? problem->hidden : 0) / FLOPS_PER_CORE;
    time *= (double)problem->directions * (husk__rnn_size(problem) / sizeof(float));
    const double groups = (double)(grid->groups[0] * (size_t)problem->directions);
    grid->makes_inputs =
        layout->chunk == problem->steps && grid->groups[1] == 1 &&
        time / fmin(groups, cores) < time / fmin((double)(grid->input_groups[0] * grid->input_groups[1]), cores) +
                                         LAUNCH * (double)problem->directions;
}

// For few rows of inputs it takes longer to pack the weights than to read them where they lie, by a launch of gemm's;
// unless the weights are few as well, so that the launch takes longer.
static bool takes_few(const husk__rnn_problem *problem)
{
    const int64_t above = problem->layers > 1 ? problem->directions * problem->hidden : 0;
    const int64_t inputs = husk__max_i64(problem->inputs, above);
    return husk__rnn_takes_few(problem) && problem->gates * problem->hidden * inputs > FEW_WEIGHTS;
}

bool husk__rnn_is_far(const husk__rnn_problem *problem, const husk_device_traits *traits)
{
    return (double)problem->gates * (double)problem->hidden * (double)problem->hidden * husk__rnn_size(problem) *
               (double)problem->directions >
           (traits->global_cache > 0 ? (double)traits->global_cache : SHARED_BYTES);
}

// ---- the row ----

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return husk__rnn_fits_int(candidate->problem, reason);
}

static double cost(const husk__candidate *candidate)
{
    const bool is_wide = candidate->traits->vector_width != 8;
    return (candidate->configuration == &configurations[0]) == is_wide ? 1.0 : 2.0;
}

static husk__rnn_layout lay_out(const husk__candidate *candidate)
{
    husk__rnn_layout layout;
    husk__rnn_lay_out(candidate->problem, panel_units(candidate->problem, candidate->traits), true, &layout);
    return layout;
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
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int32_t *values = plan->configuration->values;
    husk_status status = husk__rnn_state_create(plan, panel_units(plan->problem, traits), true, scope);
    if (status != HUSK_OK)
        return status;
    husk__rnn_state *state = plan->state;
    const husk__rnn_problem *problem = &state->problem;
    state->takes_few = takes_few(problem);
    state->is_far = husk__rnn_is_far(problem, traits);
    if (problem->batch > 0)
        husk__rnn_divide(problem, state->layout.pitch / state->layout.panel_units, traits->compute_units,
                         &state->grid);
    if (problem->batch > 0 && problem->steps > 0)
        divide_inputs(problem, &state->layout, traits->compute_units, &state->grid);
    state->unit_vectors = (int32_t)unit_vectors(problem);
    state->strip_vectors = (int32_t)strip_vectors(problem);
    const bool is_three = state->strip_vectors == 3;
    const int cell = problem->gates == 1 ? 0 : problem->gates == 4 ? 1 : is_three ? 2 : 3;
    char options[160];
    snprintf(options, sizeof options, "%s -DCELL=%d -DUNIT_VECTORS=%d -DTILE_ROWS=%d -DBLOCK_K=%d",
             husk__rnn_dtype_options(problem), cell, (int)state->unit_vectors,
             values[is_three ? ROWS_OF_THREE : ROWS_OF_TWO],
             values[BLOCK_K]);
    status = husk__kernel_get(plan->context, "rnn/panel.cl", options, "husk_rnn_panel", &state->step, scope);
    return status == HUSK_OK ? husk__rnn_prepare(plan, state, scope) : status;
}

const husk__variant husk__rnn_panel = {
    .name = "panel",
    .family = HUSK__FAMILY_CPU,
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
