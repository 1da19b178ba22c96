// SPDX-License-Identifier: MIT
// cl/lib/data_strips.clh: the gradient by the data of common depthwise convolutions, on CPU devices, in one launch. Its
// kernel is part of cl/conv/backward_data_phases.cl, so that it is no program of its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"

static const husk__configuration MENU[] = {{"strips", "", {0}}};

// Cycles: of a row of dy, for each row of dx that it completes and for each tap; of a plane, of a work-group.
static const double ROW_CYCLES = 4.0, TAP_CYCLES = 0.9, PLANE_CYCLES = 50.0, GROUP_CYCLES = 3000.0;
// Work that is worth a group of its own.
static const double LEAST_GROUP_CYCLES = 12000.0;
enum { GROUPS_PER_UNIT = 4 };
// Strips of an image's row where rows fill half a vector at most, so that two images share it (fold 2 of the kernel).
static const double FOLDED_STRIP = 0.5;

typedef struct state {
    const husk__kernel *kernel;
    husk__range range;
} state;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t width = g->kernel[2], stride = g->stride[2];
    const char *rule = NULL;
    if (problem->dtype == HUSK_F64 || problem->wide_output)
        rule = "f64, or dx is wider than dy";
    else if (problem->has_bias || problem->activation != HUSK_ACT_NONE)
        rule = "there is a bias or an activation";
    else if (g->channels != 1 || g->filters != 1)
        rule = "groups have more than one channel or filter";
    else if (g->kernel[0] != 1 || g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (g->kernel[1] != width || (width != 3 && width != 5) || g->stride[1] != stride || stride > 2 ||
             g->dilation[1] != 1 || g->dilation[2] != 1)
        rule = "the filter is not 3x3 or 5x5, or its stride and dilation are not those of the strips";
    else if (g->x_strides[4] != 1 || g->y_strides[4] != 1)
        rule = "columns are not neighbours";
    else if (g->batch < 1 || g->groups < 1 || g->out[1] < 1 || g->out[2] < 1)
        rule = "there are no positions";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule;
}

static double predict_cycles(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const double stride = (double)g->stride[2], width = (double)candidate->traits->vector_width * stride;
    const double strips = (double)g->in[2] <= width / 2 && g->batch > 1 ? FOLDED_STRIP : ceil((double)g->in[2] / width);
    const double taps = (double)(g->kernel[1] * g->kernel[2]);
    return (double)(g->batch * g->groups) *
           (PLANE_CYCLES + strips * (double)(g->out[1] + 1) * (ROW_CYCLES * stride + TAP_CYCLES * taps));
}

static int64_t group_count(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int64_t worth = (int64_t)(1.0 + predict_cycles(candidate) / LEAST_GROUP_CYCLES);
    const int64_t most =
        husk__min_i64(problem->geometry.groups, GROUPS_PER_UNIT * husk__max_i64(1, candidate->traits->compute_units));
    return husk__min_i64(worth, most);
}

static double cost(const husk__candidate *candidate)
{
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const int64_t groups = group_count(candidate);
    const double work = husk__cycles_ns(rates, predict_cycles(candidate) + GROUP_CYCLES * (double)groups);
    return husk__launch_time(machine, rates, work / (double)groups, groups);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->range = (husk__range){{(size_t)group_count(&candidate), 1, 1}, {1, 1, 1}};
    return husk__kernel_get(plan->context, "conv/backward_data_phases.cl", husk__dtype_option(problem->dtype),
                            "husk_conv_backward_data_depthwise", &s->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_data_arguments *arguments = untyped;
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    (void)scratch;
    husk__arg list[3 + HUSK__CONV_GEOMETRY_ARGUMENTS + 5];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->w);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = HUSK__ARG_TENSOR(arguments->dx);
    count += husk__conv_geometry_arguments(list + count, g);
    list[count++] = HUSK__ARG_SHARES;
    list[count++] = HUSK__ARG_I64(g->w_strides[0]);
    list[count++] = HUSK__ARG_I64(g->w_strides[3]);
    list[count++] = HUSK__ARG_I64(g->w_strides[4]);
    list[count++] = HUSK__ARG_I32(problem->accumulates);
    return husk__launch(queue, s->kernel, &s->range, list, count, scope);
}

const husk__variant husk__conv_backward_data_depthwise = {
    .name = "depthwise",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .error_factor = husk__conv_backward_data_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
