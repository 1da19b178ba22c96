// SPDX-License-Identifier: MIT
// cl/conv_backward_weights_panels.cl: the gradients by weights and bias of every convolution, on CPU devices.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv_backward_problem.h"

// Named for the register tile, rows x filters. values: TILE_M, TILE_NV, the vector width they are meant for.
static const husk__configuration MENU[] = {
    {"13x32", "-DTILE_M=13 -DTILE_NV=2", {13, 2, 16}},
    {"6x16", "-DTILE_M=6 -DTILE_NV=2", {6, 2, 8}},
    {"8x12", "-DTILE_M=8 -DTILE_NV=3", {8, 3, 4}},
};

enum { BLOCK_P = 256, MOST_SLICES = 16, TILES_WANTED = 128, W_ARGUMENTS = 6 };

// Cycles an element: transposing dy, copying a patch whose columns are neighbours, and others.
static const double TRANSPOSE_CYCLES = 0.4, COPY_CYCLES = 0.25, COPY_STRIDED_CYCLES = 1.5, ITEM_CYCLES = 6000.0;
static const double VECTORS_PER_CYCLE = 2.0, CYCLES_PER_NS = 3.5;

typedef struct layout {
    int64_t rows, tiles, panels, blocks; /* of one group */
    int64_t slices;                      /* by the shape alone: the order of the sums must not depend on the device */
    int64_t row_items, filter_items;
    double cycles;
    bool writes_dw;
    uint64_t parts; /* bytes */
} layout;

typedef struct state {
    const husk__kernel *multiply, *reduce, *bias;
    layout work;
} state;

static double item_cycles(const husk__conv_problem *problem, const husk__configuration *configuration,
                          const layout *work, int64_t row_items, int64_t filter_items)
{
    const husk__conv_geometry *g = &problem->geometry;
    const int32_t *tile = configuration->values;
    const double positions = (double)husk__conv_backward_weights_products(problem) / (double)work->slices;
    const double tiles = (double)husk__divide_up(work->tiles, row_items);
    const double panels = (double)husk__divide_up(work->panels, filter_items);
    const double copy = g->x_strides[4] == 1 && g->stride[2] <= 2 ? COPY_CYCLES : COPY_STRIDED_CYCLES;
    return ITEM_CYCLES + positions * (tiles * panels * tile[0] * tile[1] / VECTORS_PER_CYCLE +
                                      panels * tile[1] * tile[2] * TRANSPOSE_CYCLES + tiles * tile[0] * copy);
}

static layout divide(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int32_t *tile = candidate->configuration->values;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    layout work = {.rows = husk__conv_filter_count(problem)};
    work.tiles = husk__divide_up(work.rows, tile[0]);
    work.panels = husk__divide_up(g->filters, tile[1] * tile[2]);
    work.blocks = husk__divide_up(husk__conv_backward_weights_products(problem), BLOCK_P);
    const int64_t tiles = husk__max_i64(1, work.tiles * work.panels * g->groups);
    work.slices = husk__min_i64(MOST_SLICES, husk__divide_up(TILES_WANTED, tiles));
    work.slices = husk__max_i64(1, husk__min_i64(work.slices, work.blocks / 2));
    for (int64_t down = 1; down <= husk__min_i64(work.tiles, 4 * units); ++down)
        for (int64_t across = 1; across <= husk__min_i64(work.panels, units); ++across) {
            const int64_t rounds = husk__divide_up(work.slices * g->groups * down * across, units);
            const double cycles =
                (double)rounds * item_cycles(problem, candidate->configuration, &work, down, across);
            if (work.cycles > 0 && cycles >= work.cycles)
                continue;
            work.cycles = cycles;
            work.row_items = down;
            work.filter_items = across;
        }
    work.writes_dw = work.slices == 1;
    work.parts = work.writes_dw && work.blocks <= 1
                     ? 0
                     : sizeof(float) * (uint64_t)(work.slices * tiles * tile[0] * tile[1] * tile[2]);
    return work;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    if (candidate->configuration->values[2] == (int32_t)candidate->traits->vector_width)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "tile %s is for vectors of %d floats", candidate->configuration->name,
             candidate->configuration->values[2]);
    return false;
}

static double cost(const husk__candidate *candidate)
{
    return divide(candidate).cycles / CYCLES_PER_NS;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return ((const husk__conv_problem *)candidate->problem)->is_bias_alone ? 0 : divide(candidate).parts;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char *const file = "conv_backward_weights_panels.cl";
    const husk__candidate candidate = {plan->problem, husk_context_traits(plan->context), plan->configuration};
    char options[128];
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->work = divide(&candidate);
    snprintf(options, sizeof options, "%s %s", husk__dtype_option(((const husk__conv_problem *)plan->problem)->dtype),
             plan->configuration->options);
    husk_status status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_panels",
                                          &s->multiply, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_panels_reduce",
                                  &s->reduce, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_bias", &s->bias, scope);
    return status;
}

// W_STRIDES_PARAMS.
static size_t add_strides(husk__arg *list, const husk__conv_problem *problem)
{
    for (int i = 0; i < 5; ++i)
        list[i] = HUSK__ARG_I64(problem->geometry.w_strides[i]);
    list[5] = HUSK__ARG_I32(husk__conv_backward_flags(problem, problem->w.dtype));
    return W_ARGUMENTS;
}

static husk_status multiply(const husk_plan *plan, husk_queue *queue,
                            const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                            const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    husk__arg list[4 + HUSK__CONV_GEOMETRY_ARGUMENTS + 2 + W_ARGUMENTS];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->x);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = parts;
    list[count++] = HUSK__ARG_TENSOR(arguments->dw);
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    list[count++] = HUSK__ARG_I32(s->work.filter_items);
    list[count++] = HUSK__ARG_I32(s->work.writes_dw);
    count += add_strides(list + count, problem);
    const husk__range range = {{(size_t)s->work.slices, (size_t)s->work.row_items,
                                (size_t)(problem->geometry.groups * s->work.filter_items)},
                               {1, 1, 1}};
    return husk__launch(queue, s->multiply, &range, list, count, scope);
}

static husk_status reduce(const husk_plan *plan, husk_queue *queue,
                          const husk__conv_backward_weights_arguments *arguments, husk__arg parts, int64_t slices,
                          const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t units = husk__max_i64(1, husk_context_traits(plan->context)->compute_units);
    husk__arg list[9 + W_ARGUMENTS] = {
        parts,
        HUSK__ARG_TENSOR(arguments->dw),
        HUSK__ARG_I32(slices),
        HUSK__ARG_I32(g->groups),
        HUSK__ARG_I32(g->channels),
        HUSK__ARG_I32(g->filters),
        HUSK__ARG_I32(g->kernel[0]),
        HUSK__ARG_I32(g->kernel[1]),
        HUSK__ARG_I32(g->kernel[2]),
    };
    const size_t count = 9 + add_strides(list + 9, problem);
    const husk__range range = {
        {(size_t)husk__min_i64(2 * units, s->work.tiles * s->work.panels), (size_t)g->groups, 1}, {1, 1, 1}};
    return husk__launch(queue, s->reduce, &range, list, count, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_weights_arguments *arguments = untyped;
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const bool is_empty = s->work.blocks == 0;
    husk_status status = HUSK_OK;
    if (arguments->dw) {
        const husk__arg parts = HUSK__ARG_BUFFER(plan->workspace ? scratch->buffer : NULL, 0, sizeof(float));
        if (!is_empty)
            status = multiply(plan, queue, arguments, parts, scope);
        if (status == HUSK_OK && (is_empty || !s->work.writes_dw))
            status = reduce(plan, queue, arguments, parts, is_empty ? 0 : s->work.slices, scope);
    }
    if (status != HUSK_OK || !arguments->dbias)
        return status;
    const int64_t units = husk__max_i64(1, husk_context_traits(plan->context)->compute_units);
    const husk__range range = {{(size_t)husk__min_i64(4 * units, problem->y.shape[1]), 1, 1}, {1, 1, 1}};
    return husk__conv_backward_bias_launch(plan, queue, s->bias, &range, arguments->dy, arguments->dbias, scope);
}

const husk__variant husk__conv_backward_weights_panels = {
    .name = "panels",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_weights_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
