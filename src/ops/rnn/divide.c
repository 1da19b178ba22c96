// SPDX-License-Identifier: MIT
// How the panel variants of recurrent layers and of their gradients divide work among cores.
#include <math.h>

#include "base/checked.h"
#include "ops/rnn/problem.h"

// Rows of x are divided by whole tiles of the widest configuration.
enum { TILE_HEIGHT = 8 };

// Nanoseconds and bytes a nanosecond, measured on PoCL with two cores; only their ratios matter.
static const double LAUNCH = 10000.0, WAKE = 20000.0, FLOPS_PER_CORE = 210.0, NEAR = 130.0, SHARED = 75.0,
                    FAR_PER_CORE = 55.0, FAR_PER_DEVICE = 70.0;
static const double NEAR_BYTES = 1048576.0, SHARED_BYTES = 50331648.0;

// Time of one step where each of `items` work-items has `rows` sequences and `share` of the weights.
static double step_time(const husk__rnn_problem *problem, double rows, double share, double items)
{
    const double elements = (double)problem->gates * (double)problem->hidden * (double)problem->hidden;
    const double size = husk__rnn_size(problem), floats = size / sizeof(float);
    const double bytes = elements * size * share, all = elements * size * (double)problem->directions;
    const double rate = bytes <= NEAR_BYTES   ? NEAR
                        : all <= SHARED_BYTES ? SHARED
                                              : fmin(FAR_PER_CORE, FAR_PER_DEVICE / items);
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
void husk__rnn_divide_inputs(const husk__rnn_problem *problem, const husk__rnn_layout *layout, uint32_t cores,
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

bool husk__rnn_is_far(const husk__rnn_problem *problem, const husk_device_traits *traits)
{
    return (double)problem->gates * (double)problem->hidden * (double)problem->hidden * husk__rnn_size(problem) *
               (double)problem->directions >
           (traits->global_cache > 0 ? (double)traits->global_cache : SHARED_BYTES);
}
