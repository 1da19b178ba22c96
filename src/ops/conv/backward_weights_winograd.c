// SPDX-License-Identifier: MIT
// cl/conv/backward_weights_winograd.cl: the gradient by 3x3 weights at stride 1 with up to 4 times fewer
// multiplications, on CPU devices.
//
// Error. As for the forward convolution (winograd.c), with the matrices of F(3, 4): dy's four elements stand where
// a filter's three do, three sums where four outputs do. The root mean square of a sum's rounding error grows, against
// the direct sum's, by the ratio of
//     sqrt(sum over points j of A_ij^2 |G_j|^2 |B_j|^2)   to   sqrt(4)
// in one dimension, and its square in two: 3.3, 4.8 and 24.2 for the three rows; the corner of the last is the bound
// of all. What is added up over tiles is added between the transforms and grows as a direct sum does. The error follows
// the largest sum |x dy| of the nine elements that one filter has of a channel.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"

// Named for the register tile, channels x filters. The panels are as wide as those of backward_weights_panels.c, whose
// kernel adds slices.
static const husk__configuration MENU[] = {
    {"8x32", "-DTILE_OUT=4 -DTILE_M=8 -DTILE_NV=2", {8, 2, 16}},
    {"4x16", "-DTILE_OUT=4 -DTILE_M=4 -DTILE_NV=2", {4, 2, 8}},
    {"4x12", "-DTILE_OUT=4 -DTILE_M=4 -DTILE_NV=3", {4, 3, 4}},
};

enum { EDGE = 4, POINTS = 36, TAPS = 9 };
static const double ERROR = 25.0;

// Slices and blocks are made by the shape alone: the order of the sums must not depend on the device. Panels of filters
// are shared among work-items, too, so where there are many, slices are few.
// LEAST_TILES: of a slice; MOST_TILES: of a block; with fewer than FEWEST_TILES the other variants are faster.
enum { MOST_SLICES = 16, ITEMS_WANTED = 32, LEAST_TILES = 64, MOST_TILES = 128, FEWEST_TILES = 8 };
// Transformed inputs of a block, which stream through the last cache, and of all work-items together.
static const int64_t BLOCK_BYTES = 8 * 1024 * 1024, SCRATCH_BYTES = 40 * 1024 * 1024;

// Cycles: per point and vector that is transformed, per register tile of a point, per channel and vector of filters
// that is transformed back, added up or written, per work-item, per vector of a slice that the second kernel adds.
static const double TRANSFORM_CYCLES = 8.0, TILE_CYCLES = 30.0, BACK_CYCLES = 150.0, SUM_CYCLES = 40.0,
                    ITEM_CYCLES = 10000.0, ADD_CYCLES = 2.0;
static const double NEARLY = 1.02;

typedef struct layout {
    int64_t tiles, panels, rows, width; /* of the whole dy; of one group: panels of filters, sums of one, its filters */
    int64_t slices, block; /* block: tiles */
    int64_t slice_items, filter_items;
    int64_t item_room; /* elements */
    int64_t sums; /* elements */
    double cycles;
    bool writes_dw;
} layout;

typedef struct state {
    const husk__kernel *multiply, *reduce, *bias;
    layout work;
} state;

static int64_t item_room(const husk__conv_geometry *g, int64_t block, int64_t filter_vectors, int64_t vector_width)
{
    return POINTS * (block * (husk__divide_up(g->channels, vector_width) + filter_vectors) + 2) * vector_width;
}

static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, const layout *work,
                          int64_t slices, int64_t filter_items)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const double tiles = (double)husk__divide_up(work->tiles, work->slices);
    const double blocks = (double)husk__divide_up((int64_t)tiles, work->block);
    const double channels = (double)husk__round_up(g->channels, tile.rows);
    const double channel_vectors = (double)husk__divide_up(g->channels, tile.width);
    const double filter_vectors = (double)husk__min_i64(husk__divide_up(work->panels, filter_items) * tile.vectors,
                                                        husk__divide_up(g->filters, tile.width));
    const double transforms = tiles * POINTS * (channel_vectors + filter_vectors) * TRANSFORM_CYCLES;
    const double products = POINTS * channels * filter_vectors *
                            (tiles / rates->fma_per_cycle + blocks * TILE_CYCLES / (double)(tile.rows * tile.vectors));
    const double back = blocks * channels * filter_vectors * (BACK_CYCLES + SUM_CYCLES);
    return ITEM_CYCLES + (double)slices * (transforms + products + back);
}

// Few large work-items, but the more among splits that are predicted to take nearly the same: where something else has
// a part of a core, the others can take over its share.
static void share(const husk__candidate *candidate, layout *work)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const int64_t width = tile.width, vectors = tile.vectors;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    double least = 0;
    for (int64_t slices = 1; slices <= husk__min_i64(work->slices, 2 * units); slices *= 2)
        for (int64_t filters = 1; filters <= husk__min_i64(work->panels, units); ++filters) {
            const int64_t own_vectors =
                husk__min_i64(husk__divide_up(g->filters, width), husk__divide_up(work->panels, filters) * vectors);
            const int64_t room = item_room(g, work->block, own_vectors, width), items = slices * filters * g->groups;
            if (slices * filters > 1 && items * room * (int64_t)sizeof(float) > SCRATCH_BYTES)
                break;
            const double cycles =
                (double)husk__divide_up(items, units) * item_cycles(candidate, &candidate->machine->typical, work,
                                                                    husk__divide_up(work->slices, slices), filters);
            if (least == 0 || cycles < least)
                least = cycles;
            if (work->cycles > 0 && cycles > NEARLY * least)
                continue;
            work->cycles = cycles;
            work->slice_items = slices;
            work->filter_items = filters;
            work->item_room = room;
        }
}

static layout divide(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t width = husk__conv_tile_of(candidate->configuration).width;
    layout work = {.tiles = g->batch * husk__divide_up(g->out[1], EDGE) * husk__divide_up(g->out[2], EDGE)};
    husk__conv_backward_panels_layout(candidate, &work.panels, &work.rows, &work.width);
    const int64_t wanted = husk__divide_up(ITEMS_WANTED, husk__max_i64(1, work.panels * g->groups));
    work.slices = 1;
    while (2 * work.slices <= husk__min_i64(wanted, MOST_SLICES) && work.tiles >= 2 * work.slices * LEAST_TILES)
        work.slices *= 2;
    const int64_t all_vectors = husk__divide_up(g->filters, width);
    const int64_t tile_bytes = (int64_t)sizeof(float) * item_room(g, 1, all_vectors, width);
    work.block = husk__min_i64(BLOCK_BYTES, SCRATCH_BYTES / g->groups) / tile_bytes;
    work.block = husk__min_i64(husk__divide_up(work.tiles, work.slices), husk__min_i64(MOST_TILES, work.block));
    if (work.block >= 1) // or it is refused
        share(candidate, &work);
    work.writes_dw = work.slices == 1;
    const int64_t slice_sums = g->groups * work.panels * work.rows * work.width;
    if (!work.writes_dw || husk__divide_up(work.tiles, work.slices) > work.block)
        work.sums = work.slices * slice_sums;
    return work;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const char *rule = NULL;
    if (problem->dtype == HUSK_F64)
        rule = "f64, which panels and tiled compute";
    else if (problem->is_bias_alone)
        rule = "dw is not wanted";
    else if (g->kernel[1] != 3 || g->kernel[2] != 3 || g->kernel[0] != 1)
        rule = "the filter is not 3x3";
    else if (g->in[0] != 1 || g->out[0] != 1 || g->pad[0] != 0)
        rule = "there are more than two dimensions of space";
    else if (g->stride[1] != 1 || g->stride[2] != 1 || g->dilation[1] != 1 || g->dilation[2] != 1)
        rule = "stride and dilation are not 1";
    else if (g->batch < 1 || g->channels < 1 || g->filters < 1 || g->out[1] < 1 || g->out[2] < 1)
        rule = "there are no positions or no weights";
    else if (g->in[1] < 2 || g->in[2] < 2) // as forward
        rule = "the image is less than 2 high or wide";
    else if (husk__conv_tile_of(candidate->configuration).width != (int32_t)candidate->traits->vector_width)
        rule = "this tile is for vectors of another width";
    else {
        const layout work = divide(candidate);
        if (work.block < husk__min_i64(FEWEST_TILES, work.tiles))
            rule = "so many channels and filters have blocks of too few tiles";
    }
    if (rule)
        snprintf(reason, HUSK__REASON_CAPACITY, "%s", rule);
    return !rule && husk__conv_may_transform(candidate, reason);
}

static double cost(const husk__candidate *candidate)
{
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const layout work = divide(candidate);
    const int64_t groups = ((const husk__conv_problem *)candidate->problem)->geometry.groups;
    const int64_t items = work.slice_items * work.filter_items * groups;
    if (items == 0)
        return 0.0;
    const double item =
        item_cycles(candidate, rates, &work, husk__divide_up(work.slices, work.slice_items), work.filter_items);
    const double time = husk__launch_time(machine, rates, husk__cycles_ns(rates, item), items);
    if (work.writes_dw)
        return time;
    const double sums = (double)(work.slices * groups * work.panels * work.rows * work.width); // which are added up
    return time + rates->launch_ns +
           husk__cycles_ns(rates, sums / (double)husk__conv_vector_width(candidate) * ADD_CYCLES / machine->cores);
}

static int64_t scratch_elements(const husk__conv_geometry *g, const layout *work)
{
    return work->slice_items * g->groups * work->filter_items * work->item_room;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const layout work = divide(candidate);
    return sizeof(float) *
           (uint64_t)(scratch_elements(&((const husk__conv_problem *)candidate->problem)->geometry, &work) + work.sums);
}

static double error_factor(const husk__candidate *candidate)
{
    return husk__conv_backward_weights_error_factor(candidate) * ERROR;
}

// The products; the transforms' additions do not count.
static double flops(const husk__candidate *candidate)
{
    const husk__conv_geometry *g = &((const husk__conv_problem *)candidate->problem)->geometry;
    const double tiles = (double)(g->batch * husk__divide_up(g->out[1], EDGE) * husk__divide_up(g->out[2], EDGE));
    return 2.0 * tiles * POINTS * (double)(g->groups * g->filters * g->channels);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__candidate candidate = husk__candidate_of(plan);
    char options[128];
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->work = divide(&candidate);
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(((const husk__conv_problem *)plan->problem)->dtype),
             plan->configuration->options);
    husk_status status = husk__kernel_get(plan->context, "conv/backward_weights_winograd.cl", options,
                                          "husk_conv_backward_weights_winograd", &s->multiply, scope);
    return status == HUSK_OK ? husk__conv_backward_panels_get(plan, &s->reduce, &s->bias, scope) : status;
}

static husk_status multiply(const husk_plan *plan, husk_queue *queue,
                            const husk__conv_backward_weights_arguments *arguments, husk__arg scratch, husk__arg sums,
                            const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    husk__arg list[5 + HUSK__CONV_GEOMETRY_ARGUMENTS + 6 + HUSK__CONV_W_ARGUMENTS];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->x);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = scratch;
    list[count++] = sums;
    list[count++] = HUSK__ARG_TENSOR(arguments->dw);
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    list[count++] = HUSK__ARG_I64(s->work.item_room);
    list[count++] = HUSK__ARG_I32(s->work.slices);
    list[count++] = HUSK__ARG_I32(s->work.block);
    list[count++] = HUSK__ARG_I32(s->work.filter_items);
    list[count++] = HUSK__ARG_I32(s->work.rows);
    list[count++] = HUSK__ARG_I32(s->work.writes_dw);
    count += husk__conv_backward_w_arguments(list + count, problem);
    const husk__range range = {
        {(size_t)s->work.slice_items, (size_t)(problem->geometry.groups * s->work.filter_items), 1}, {1, 1, 1}};
    return husk__launch(queue, s->multiply, &range, list, count, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_weights_arguments *arguments = untyped;
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const uint64_t before = sizeof(float) * (uint64_t)scratch_elements(&problem->geometry, &s->work);
    const husk__arg points = HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float));
    const husk__arg sums = HUSK__ARG_BUFFER(scratch->buffer, before, sizeof(float));
    husk_status status = multiply(plan, queue, arguments, points, sums, scope);
    if (status == HUSK_OK && !s->work.writes_dw)
        status = husk__conv_backward_panels_reduce(plan, queue, s->reduce, arguments, sums, s->work.slices, scope);
    if (status != HUSK_OK || !arguments->dbias)
        return status;
    return husk__conv_backward_panels_bias(plan, queue, s->bias, arguments, scope);
}

const husk__variant husk__conv_backward_weights_winograd = {
    .name = "winograd",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = error_factor,
    .flops = flops,
    .prepare = prepare,
    .run = run,
};
