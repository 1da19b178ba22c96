// SPDX-License-Identifier: MIT
// cl/conv/backward_weights_panels.cl: the gradients by weights and bias of every convolution, on CPU devices.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/conv/backward_problem.h"

// Named for the register tile, rows x filters.
static const husk__configuration MENU[] = {
    {"13x32", "-DTILE_M=13 -DTILE_NV=2", {13, 2, 16}},
    {"6x16", "-DTILE_M=6 -DTILE_NV=2", {6, 2, 8}},
    {"8x12", "-DTILE_M=8 -DTILE_NV=3", {8, 3, 4}},
};

enum { BLOCK_P = 256, MOST_SLICES = 16, TILES_WANTED = 128 };

// Cycles an element: transposing dy, copying a patch whose columns are neighbours, and others.
static const double TRANSPOSE_CYCLES = 0.4, COPY_CYCLES = 0.25, COPY_STRIDED_CYCLES = 1.5, ITEM_CYCLES = 6000.0;
// Of a vector of sums, to its place in dw.
static const double WRITE_CYCLES = 20.0;

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

static double item_cycles(const husk__candidate *candidate, const husk_machine_rates *rates, const layout *work,
                          int64_t row_items, int64_t filter_items)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const double columns = (double)(tile.vectors * husk__conv_vector_width(candidate));
    const double positions = (double)husk__conv_backward_weights_products(problem) / (double)work->slices;
    const double tiles = (double)husk__divide_up(work->tiles, row_items);
    const double panels = (double)husk__divide_up(work->panels, filter_items);
    const double copy = g->x_strides[HUSK__OF_COLUMNS] == 1 && g->stride[2] <= 2 ? COPY_CYCLES : COPY_STRIDED_CYCLES;
    return ITEM_CYCLES +
           positions * (tiles * panels * tile.rows * tile.vectors / rates->fma_per_cycle +
                        panels * columns * TRANSPOSE_CYCLES + tiles * tile.rows * copy) +
           tiles * panels * tile.rows * tile.vectors * WRITE_CYCLES;
}

static layout divide(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const husk__conv_tile tile = husk__conv_tile_of(candidate->configuration);
    const int64_t columns = tile.vectors * husk__conv_vector_width(candidate);
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units);
    layout work = {.rows = husk__conv_filter_count(problem)};
    work.tiles = husk__divide_up(work.rows, tile.rows);
    work.panels = husk__divide_up(g->filters, columns);
    work.blocks = husk__divide_up(husk__conv_backward_weights_products(problem), BLOCK_P);
    const int64_t tiles = husk__max_i64(1, work.tiles * work.panels * g->groups);
    work.slices = husk__min_i64(MOST_SLICES, husk__divide_up(TILES_WANTED, tiles));
    work.slices = husk__max_i64(1, husk__min_i64(work.slices, work.blocks / 2));
    for (int64_t down = 1; down <= husk__min_i64(work.tiles, 4 * units); ++down)
        for (int64_t across = 1; across <= husk__min_i64(work.panels, units); ++across) {
            const int64_t rounds = husk__divide_up(work.slices * g->groups * down * across, units);
            const double cycles =
                (double)rounds * item_cycles(candidate, &candidate->machine->typical, &work, down, across);
            if (work.cycles > 0 && cycles >= work.cycles)
                continue;
            work.cycles = cycles;
            work.row_items = down;
            work.filter_items = across;
        }
    work.writes_dw = work.slices == 1;
    work.parts = work.writes_dw && work.blocks <= 1
                     ? 0
                     : husk__accumulator_size(problem->dtype) * (uint64_t)(work.slices * tiles * tile.rows * columns);
    return work;
}

static double cost(const husk__candidate *candidate)
{
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const layout work = divide(candidate);
    const int64_t groups = ((const husk__conv_problem *)candidate->problem)->geometry.groups;
    const int64_t items = work.slices * groups * work.row_items * work.filter_items;
    if (items == 0) // there are no weights
        return 0.0;
    const double item = item_cycles(candidate, rates, &work, work.row_items, work.filter_items);
    return husk__launch_time(machine, rates, husk__cycles_ns(rates, item), items) +
           (work.writes_dw ? 0.0 : rates->launch_ns);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return ((const husk__conv_problem *)candidate->problem)->is_bias_alone ? 0 : divide(candidate).parts;
}

// ---- what other variants share ----

static const husk__configuration *find_configuration(const husk_device_traits *traits)
{
    size_t i = 0;
    while (i + 1 < sizeof MENU / sizeof *MENU && husk__conv_tile_of(&MENU[i]).width != (int32_t)traits->vector_width)
        ++i;
    return &MENU[i];
}

static husk_status get_kernel(husk_plan *plan, const husk__configuration *configuration, const char *name,
                              const husk__kernel **kernel, const husk__scope *scope)
{
    const husk_dtype dtype = ((const husk__conv_problem *)plan->problem)->dtype;
    char options[128];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(dtype), configuration->options,
             dtype == HUSK_F64 ? " -DHALF_VECTORS" : "");
    return husk__kernel_get(plan->context, "conv/backward_weights_panels.cl", options, name, kernel, scope);
}

husk_status husk__conv_backward_panels_get(husk_plan *plan, const husk__kernel **reduce, const husk__kernel **bias,
                                           const husk__scope *scope)
{
    const husk__configuration *configuration = find_configuration(husk_context_traits(plan->context));
    husk_status status = get_kernel(plan, configuration, "husk_conv_backward_weights_panels_reduce", reduce, scope);
    return status == HUSK_OK ? get_kernel(plan, configuration, "husk_conv_backward_weights_bias", bias, scope) : status;
}

void husk__conv_backward_panels_layout(const husk__candidate *candidate, int64_t *panels, int64_t *rows, int64_t *width)
{
    const husk__conv_problem *problem = candidate->problem;
    const husk__conv_tile tile = husk__conv_tile_of(find_configuration(candidate->traits));
    *width = tile.vectors * husk__conv_vector_width(candidate);
    *panels = husk__divide_up(problem->geometry.filters, *width);
    *rows = husk__round_up(husk__conv_filter_count(problem), tile.rows);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__candidate candidate = husk__candidate_of(plan);
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->work = divide(&candidate);
    husk_status status =
        get_kernel(plan, plan->configuration, "husk_conv_backward_weights_panels", &s->multiply, scope);
    if (status == HUSK_OK)
        status = husk__conv_backward_panels_get(plan, &s->reduce, &s->bias, scope);
    return status;
}

static husk_status multiply(const husk_plan *plan, husk_queue *queue,
                            const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                            const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    husk__arg list[4 + HUSK__CONV_GEOMETRY_ARGUMENTS + 2 + HUSK__CONV_W_ARGUMENTS];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->x);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = parts;
    list[count++] = HUSK__ARG_TENSOR(arguments->dw);
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    list[count++] = HUSK__ARG_I32(s->work.filter_items);
    list[count++] = HUSK__ARG_I32(s->work.writes_dw);
    count += husk__conv_backward_w_arguments(list + count, problem);
    const husk__range range = {
        {(size_t)s->work.slices, (size_t)s->work.row_items, (size_t)(problem->geometry.groups * s->work.filter_items)},
        {1, 1, 1}};
    return husk__launch(queue, s->multiply, &range, list, count, scope);
}

husk_status husk__conv_backward_panels_reduce(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                              const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                                              int64_t slices, const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const husk__configuration *configuration = find_configuration(traits);
    husk__candidate candidate = husk__candidate_of(plan);
    candidate.configuration = configuration;
    const husk__conv_tile tile = husk__conv_tile_of(configuration);
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t units = husk__max_i64(1, traits->compute_units);
    const int64_t tiles = husk__divide_up(husk__conv_filter_count(problem), tile.rows);
    const int64_t panels = husk__divide_up(g->filters, tile.vectors * husk__conv_vector_width(&candidate));
    husk__arg list[9 + HUSK__CONV_W_ARGUMENTS] = {
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
    const size_t count = 9 + husk__conv_backward_w_arguments(list + 9, problem);
    const husk__range range = {{(size_t)husk__min_i64(2 * units, tiles * panels), (size_t)g->groups, 1}, {1, 1, 1}};
    return husk__launch(queue, kernel, &range, list, count, scope);
}

husk_status husk__conv_backward_panels_bias(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                            const husk__conv_backward_weights_arguments *arguments,
                                            const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const int64_t units = husk__max_i64(1, husk_context_traits(plan->context)->compute_units);
    const husk__range range = {{(size_t)husk__min_i64(4 * units, problem->y.shape[1]), 1, 1}, {1, 1, 1}};
    return husk__conv_backward_bias_launch(plan, queue, kernel, &range, arguments->dy, arguments->dbias, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_weights_arguments *arguments = untyped;
    const state *s = plan->state;
    const bool is_empty = s->work.blocks == 0;
    husk_status status = HUSK_OK;
    if (arguments->dw) {
        const uint64_t size = husk__accumulator_size(((const husk__conv_problem *)plan->problem)->dtype);
        const husk__arg parts = HUSK__ARG_BUFFER(plan->workspace ? scratch->buffer : NULL, 0, size);
        if (!is_empty)
            status = multiply(plan, queue, arguments, parts, scope);
        if (status == HUSK_OK && (is_empty || !s->work.writes_dw))
            status = husk__conv_backward_panels_reduce(plan, queue, s->reduce, arguments, parts,
                                                       is_empty ? 0 : s->work.slices, scope);
    }
    if (status != HUSK_OK || !arguments->dbias)
        return status;
    return husk__conv_backward_panels_bias(plan, queue, s->bias, arguments, scope);
}

const husk__variant husk__conv_backward_weights_panels = {
    .name = "panels",
    .family = HUSK__FAMILY_CPU,
    .configurations = MENU,
    .configuration_count = sizeof MENU / sizeof *MENU,
    .supports = husk__conv_tile_fits,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_weights_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
