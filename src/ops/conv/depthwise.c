// SPDX-License-Identifier: MIT
// cl/conv/depthwise.cl: one input channel a group, on CPU devices.
#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/problem.h"

static const husk__configuration MENU[] = {{"direct", "-DTILE_M=1 -DTILE_NV=1", {0}}};

// The first thread is at work before the others have woken: small shares of the work even that out (16 a unit, not 2,
// gain an eighth on 50 to 100 us).
enum { GROUPS_PER_UNIT = 16 };

// What the kernel has private room for: taps of a filter, and pixels under it.
enum { MOST_TAPS = 256, MOST_PIXELS = 1024 };

// Cycles, measured: per vector of outputs, per multiplication of it, and per plane of 3x3 and 5x5 filters, whose
// rows fill vectors of their own.
static const double OUTPUT_CYCLES = 12.0, ROW_CYCLES = 3.0, TAP_CYCLES = 1.0, PLANE_CYCLES = 50.0;
// Square filters of these widths go down strips of rows: the kernel is written out for them, lib/depthwise_rows.clh.
enum { NARROW_FILTER = 3, WIDE_FILTER = 5 };
static const double FOLDED = 0.5; // vectors a row of a plane, where two planes share them

static bool is_channels_last(const husk__conv_geometry *g)
{
    return g->filters == 1 && g->x_strides[1] == 1 && g->y_strides[1] == 1 && g->groups > 1;
}

static double predict_cycles(const husk__conv_problem *problem, int64_t vector_width)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t width = g->kernel[2], stride = g->stride[2];
    const bool is_rows = g->kernel[1] == width && (width == NARROW_FILTER || width == WIDE_FILTER) &&
                         g->stride[1] == stride && stride <= 2 && g->dilation[1] == 1 && g->dilation[2] == 1 &&
                         g->x_strides[HUSK__OF_COLUMNS] == 1 && g->y_strides[HUSK__OF_COLUMNS] == 1;
    if (is_channels_last(g) || !is_rows)
        return (double)husk__tensor_count(&problem->y) / (double)vector_width *
               (OUTPUT_CYCLES + (double)husk__conv_filter_count(problem) * TAP_CYCLES);
    // At stride 2 a filter's columns are filled up to an even number. Two narrow planes share vectors.
    const double step = ROW_CYCLES * (double)stride + (double)(width * (stride == 1 ? width : width + 1)) * TAP_CYCLES;
    const double planes = (double)(g->batch * g->groups * g->filters);
    const int64_t lost = stride - 1; // lanes at the end of a vector or a half
    const double vectors =
        g->out[2] <= vector_width / 2 - lost ? FOLDED : (double)husk__divide_up(g->out[2], vector_width - lost);
    return planes * (PLANE_CYCLES + (double)g->out[1] * vectors * step);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const char *rule = NULL;
    if (husk__conv_has_wide_y(candidate->problem, reason) || husk__conv_is_double(candidate->problem, reason))
        return false;
    if (g->channels != 1)
        rule = "groups have more or less than one channel";
    else if (g->kernel[0] != 1 || g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (g->kernel[1] * g->kernel[2] > MOST_TAPS ||
             ((g->kernel[1] - 1) * g->dilation[1] + 1) * ((g->kernel[2] - 1) * g->dilation[2] + 1) > MOST_PIXELS)
        rule = "the filter is too large";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule;
}

static int64_t packed_count(const husk__conv_problem *problem)
{
    return problem->geometry.groups * problem->geometry.filters * husk__conv_filter_count(problem);
}

// Work that takes less than twice what waking another core does is done sooner by one.
static int64_t group_count(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk_machine_rates *typical = &candidate->machine->typical;
    const int64_t width = candidate->traits->vector_width, units = husk__max_i64(1, candidate->traits->compute_units);
    const int64_t parts =
        is_channels_last(g) ? g->batch * g->out[1] : g->batch * husk__divide_up(g->groups, width) * g->out[1];
    const double alone = husk__cycles_ns(typical, predict_cycles(problem, width));
    return alone < 2.0 * typical->wake_ns ? 1 : husk__max_i64(1, husk__min_i64(parts, GROUPS_PER_UNIT * units));
}

static double cost(const husk__candidate *candidate)
{
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const int64_t groups = group_count(candidate);
    const double work = husk__cycles_ns(rates, predict_cycles(candidate->problem, candidate->traits->vector_width));
    return husk__launch_time(machine, rates, work / (double)groups, groups) +
           husk__conv_packing_cost(candidate, packed_count(candidate->problem));
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return husk__conv_packing_bytes(candidate->problem, packed_count(candidate->problem));
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__candidate candidate = husk__candidate_of(plan);
    husk_status status =
        husk__conv_prepare(plan, sizeof(husk__conv_state), "conv/depthwise.cl",
                           is_channels_last(g) ? "husk_conv_depthwise_channels" : "husk_conv_depthwise",
                           "husk_conv_depthwise_pack", scope);
    if (status != HUSK_OK)
        return status;
    husk__conv_state *state = plan->state;
    const int64_t units = husk__max_i64(1, candidate.traits->compute_units);
    state->packed_count = packed_count(problem);
    state->pack_channels = g->groups;
    state->range = (husk__range){{(size_t)group_count(&candidate), 1, 1}, {1, 1, 1}};
    state->pack_range = (husk__range){{(size_t)husk__min_i64(g->groups, units), 1, 1}, {1, 1, 1}};
    return HUSK_OK;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    husk__arg weights;
    husk_status status = husk__conv_weights(plan, queue, arguments, scratch, &weights, scope);
    if (status != HUSK_OK)
        return status;
    return husk__conv_launch(plan, queue, arguments, weights, &HUSK__ARG_SHARES, 1, scope);
}

const husk__variant husk__conv_depthwise = {
    .name = "depthwise",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
