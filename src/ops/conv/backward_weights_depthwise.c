// SPDX-License-Identifier: MIT
// cl/conv/backward_weights_depthwise.cl: the gradients by weights and bias of convolutions with one channel of x a
// group, on CPU devices.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"

static const husk__configuration MENU[] = {{"direct", "", {0}}};

// As in the kernel: taps at a time, and where few are left; taps at most; elements of a band of x and of dy.
enum { TAPS = 9, FEW_TAPS = 4, MOST_TAPS = 252, ROOM = 8192 };
// Bands of this size leave room for dy's in a first cache of 32 KiB; work-groups for a compute unit.
enum { WANTED = 5120, GROUPS_PER_UNIT = 4 };

// Cycles: of a vector of dy per tap and for copying it and its pixels, of a row copied, of a work-group.
static const double TAP_CYCLES = 1.2, COPY_CYCLES = 3.0, COPY_STRIDED_CYCLES = 40.0, ROW_CYCLES = 12.0,
                    GROUP_CYCLES = 6000.0;
// Of strips: a row of dy for each of its rows of x and for each tap, and what a filter's sums take at the end.
static const double STRIP_ROW_CYCLES = 4.0, STRIP_TAP_CYCLES = 1.2, FILTER_CYCLES = 150.0;
// Strips of an image's row where rows fill half a vector at most, so that two images share it (fold 2 of the kernel).
static const double FOLDED_STRIP = 0.5;

typedef struct band {
    int64_t rows, columns, pitch, reach, phases;
} band;

typedef struct state {
    const husk__kernel *kernel;
    husk__range range;
    band band;
} state;

static bool is_channels_last(const husk__conv_geometry *g)
{
    return g->filters == 1 && g->x_strides[1] == 1 && g->y_strides[1] == 1 && g->groups > 1;
}

// What the strips of cl/lib/filter_strips.clh compute; a strip of more rows would be a chain of sums that errs.
static bool is_strips(const husk__conv_geometry *g)
{
    enum { MOST_ROWS = 1024 };
    const int64_t width = g->kernel[2], stride = g->stride[2];
    return !is_channels_last(g) && g->out[1] <= MOST_ROWS && g->kernel[1] == width && (width == 3 || width == 5) &&
           g->stride[1] == stride && stride <= 2 && g->dilation[1] == 1 && g->dilation[2] == 1 &&
           g->x_strides[HUSK__OF_COLUMNS] == 1 && g->y_strides[HUSK__OF_COLUMNS] == 1;
}

static int64_t remainders(int64_t kernel, int64_t dilation, int64_t stride)
{
    int64_t count = 0;
    for (int64_t i = 0; i < kernel; ++i) {
        bool is_new = true;
        for (int64_t j = 0; j < i; ++j)
            is_new = is_new && j * dilation % stride != i * dilation % stride;
        count += is_new;
    }
    return count;
}

// Elements of private memory that a band's pixels take. The last taps of the last row read on past its phase's end.
static int64_t pixels(const band *b, int64_t rows)
{
    return b->phases * ((rows + b->reach) * b->pitch + 16) + b->pitch - b->columns;
}

// Whole rows, as many as fit, or a part of one; rows 0: the filter is too large.
static band find_band(const husk__conv_geometry *g)
{
    const int64_t reach_w = (g->kernel[2] - 1) * g->dilation[2] / g->stride[2];
    band b = {.reach = (g->kernel[1] - 1) * g->dilation[1] / g->stride[1]};
    b.phases =
        remainders(g->kernel[1], g->dilation[1], g->stride[1]) * remainders(g->kernel[2], g->dilation[2], g->stride[2]);
    const int64_t parts = husk__divide_up(b.phases * (1 + b.reach) * (g->out[2] + reach_w), WANTED);
    for (int64_t divisor = husk__max_i64(1, parts); divisor <= 4 * parts + 4; ++divisor) {
        b.columns = husk__divide_up(g->out[2], divisor);
        b.pitch = b.columns + reach_w;
        if (pixels(&b, 1) <= ROOM || b.columns == 1)
            break;
    }
    if (b.columns < 1 || pixels(&b, 1) > ROOM)
        return b;
    b.rows = 1;
    while (b.rows < g->out[1] && pixels(&b, b.rows + 1) <= WANTED)
        ++b.rows;
    return b;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const char *rule = NULL;
    if (problem->dtype == HUSK_F64)
        rule = "f64, which panels and tiled compute";
    else if (g->channels != 1 || g->filters < 1)
        rule = "groups have more or less than one channel";
    else if (g->kernel[0] != 1 || g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (problem->is_bias_alone)
        rule = "dw is not wanted";
    else if (g->batch < 1 || g->groups < 1 || g->out[1] < 1 || g->out[2] < 1)
        rule = "there are no positions";
    else if (!is_strips(g) && (g->kernel[1] * g->kernel[2] > MOST_TAPS || find_band(g).rows < 1))
        rule = "the filter is too large";
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule;
}

// Filters, or vectors of channels: what work-groups share.
static int64_t unit_count(const husk__conv_geometry *g, int64_t vector_width)
{
    return is_channels_last(g) ? husk__divide_up(g->groups, vector_width) : g->groups * g->filters;
}

static double unit_cycles(const husk__conv_geometry *g, double vector_width)
{
    const int64_t taps = g->kernel[1] * g->kernel[2];
    const double images = (double)g->batch, positions = (double)(g->out[1] * g->out[2]);
    const double summed = (double)(taps <= FEW_TAPS ? FEW_TAPS : husk__round_up(taps, TAPS)) * TAP_CYCLES;
    if (is_channels_last(g))
        return images * positions * (2 * summed + COPY_CYCLES);
    if (is_strips(g)) {
        const double stride = (double)g->stride[2];
        const bool folds =
            stride == 1 && g->batch > 1 && 2 * husk__max_i64(g->in[2], g->out[2]) <= (int64_t)vector_width;
        const double strips = folds ? FOLDED_STRIP : ceil((double)g->out[2] * stride / vector_width);
        const double row = STRIP_ROW_CYCLES * stride + (double)taps * STRIP_TAP_CYCLES;
        return FILTER_CYCLES + images * (double)(g->out[1] + 1) * strips * row;
    }
    const band b = find_band(g);
    const bool is_plain =
        g->x_strides[HUSK__OF_COLUMNS] == 1 && g->y_strides[HUSK__OF_COLUMNS] == 1 && g->stride[2] <= 2;
    const double copy = is_plain ? COPY_CYCLES : COPY_STRIDED_CYCLES;
    const double vectors = positions * (double)b.pitch / (double)b.columns / vector_width;
    const double copied_rows = (double)(b.phases + 1) * (double)g->out[1] * (1.0 + (double)b.reach / (double)b.rows);
    return images * (vectors * (summed + (1.0 + (double)b.phases) * copy) + copied_rows * ROW_CYCLES);
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const int64_t width = candidate->traits->vector_width, units = husk__max_i64(1, candidate->traits->compute_units);
    const double rounds = (double)husk__divide_up(unit_count(g, width), units);
    const husk_machine_rates *rates = &candidate->machine->rates;
    const double group = GROUP_CYCLES + rounds * unit_cycles(g, (double)width);
    return husk__launch_time(candidate->machine, rates, husk__cycles_ns(rates, group),
                             husk__min_i64(units, unit_count(g, width)));
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)plan->problem)->geometry;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->band = find_band(g);
    const int64_t units = unit_count(g, traits->vector_width);
    const double cycles = (double)units * unit_cycles(g, (double)traits->vector_width);
    const int64_t worth = (int64_t)(1.0 + cycles / (2 * GROUP_CYCLES));
    const int64_t most = GROUPS_PER_UNIT * husk__max_i64(1, traits->compute_units);
    s->range = (husk__range){{(size_t)husk__min_i64(units, husk__min_i64(worth, most)), 1, 1}, {1, 1, 1}};
    char options[64];
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(((const husk__conv_problem *)plan->problem)->dtype),
             plan->configuration->options);
    const char *const name = is_channels_last(g) ? "husk_conv_backward_weights_depthwise_channels"
                             : is_strips(g)      ? "husk_conv_backward_weights_depthwise_strips"
                                                 : "husk_conv_backward_weights_depthwise";
    return husk__kernel_get(plan->context, "conv/backward_weights_depthwise.cl", options, name, &s->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_weights_arguments *arguments = untyped;
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    enum { WIDE_DBIAS = 4 };
    (void)scratch;
    husk__arg list[4 + HUSK__CONV_GEOMETRY_ARGUMENTS + 2 + 6];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->x);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = HUSK__ARG_TENSOR(arguments->dw);
    // A pointer that is not read where there is no bias.
    list[count++] = HUSK__ARG_TENSOR(arguments->dbias ? arguments->dbias : arguments->dw);
    count += husk__conv_geometry_arguments(list + count, g);
    if (is_strips(g)) {
        list[count++] = HUSK__ARG_SHARES;
    } else {
        list[count++] = HUSK__ARG_I32(s->band.rows);
        list[count++] = HUSK__ARG_I32(s->band.columns);
    }
    list[count++] = HUSK__ARG_I64(g->w_strides[0]);
    list[count++] = HUSK__ARG_I64(g->w_strides[3]);
    list[count++] = HUSK__ARG_I64(g->w_strides[4]);
    list[count++] = HUSK__ARG_I64(arguments->dbias ? problem->bias.strides[0] : 0);
    list[count++] = HUSK__ARG_I32(arguments->dbias != NULL);
    const bool is_wide = arguments->dbias && arguments->dbias->dtype != problem->dtype;
    list[count++] =
        HUSK__ARG_I32(husk__conv_backward_flags(problem, arguments->dw->dtype) | (is_wide ? WIDE_DBIAS : 0));
    return husk__launch(queue, s->kernel, &s->range, list, count, scope);
}

const husk__variant husk__conv_backward_weights_depthwise = {
    .name = "depthwise",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .error_factor = husk__conv_backward_weights_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
