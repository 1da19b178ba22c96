// SPDX-License-Identifier: MIT
// Variants tiled and matrix of the gradients of convolution by weights and bias, for GPUs: multiplied by plain
// arithmetic or by a matrix engine. The kernels are described in cl/conv/backward_weights_tiled.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv/backward_problem.h"
#include "ops/conv/tiles.h"

enum { ITEMS = 64, GROUPS_WANTED = 256, MOST_SLICES = 64, BLOCKS_A_SLICE = 16 };

typedef struct state {
    const husk__kernel *multiply, *reduce, *bias;
    int64_t slices;
    husk__range range;
} state;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    if (problem->dtype != HUSK_F64 || candidate->configuration->values[HUSK__TILE_ITEM_M] < 8)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs more registers for f64 than work-items have");
    return false;
}

// Filters by elements of them.
static husk__conv_tiles whole_tiles_of(const husk__conv_problem *problem)
{
    return (husk__conv_tiles){problem->geometry.groups, problem->geometry.filters, husk__conv_filter_count(problem),
                              husk__conv_backward_weights_products(problem), 1};
}

// Slices by the shape alone: the order of the sums must not depend on the device.
static husk__conv_tiles tiles_of(const husk__conv_problem *problem, const husk__configuration *configuration)
{
    husk__conv_tiles tiles = whole_tiles_of(problem);
    const husk__range range = husk__conv_tiles_range(configuration, &tiles, 1);
    const int64_t count = husk__max_i64(1, (int64_t)(range.groups[0] * range.groups[1] * range.groups[2]));
    const int64_t blocks = tiles.steps / (configuration->values[HUSK__TILE_STEPS] * BLOCKS_A_SLICE);
    const int64_t slices = husk__min_i64(MOST_SLICES, husk__divide_up(GROUPS_WANTED, count));
    tiles.slices = husk__max_i64(1, husk__min_i64(slices, blocks));
    return tiles;
}

static double cost(const husk__candidate *candidate)
{
    const husk__conv_tiles tiles = tiles_of(candidate->problem, candidate->configuration);
    return husk__conv_tiles_cost(candidate, &tiles);
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int64_t slices = tiles_of(problem, candidate->configuration).slices;
    return slices == 1 || problem->is_bias_alone
               ? 0
               : husk__accumulator_size(problem->dtype) * (uint64_t)(slices * husk__tensor_count(&problem->w));
}

static bool is_long(const husk_plan *plan)
{
    const husk__conv_problem *problem = plan->problem;
    int64_t furthest = (int64_t)(plan->workspace / husk__accumulator_size(problem->dtype));
    const husk_tensor *const tensors[] = {&problem->x, &problem->w, &problem->y};
    for (int i = 0; i < 3; ++i)
        furthest = husk__max_i64(furthest, husk__tensor_last(tensors[i]));
    return husk__needs_index_64(plan->context, furthest);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char *const file = "conv/backward_weights_tiled.cl";
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_tiles tiles = tiles_of(problem, plan->configuration);
    husk__text configuration = {0};
    char options[400];
    int64_t items;
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    husk_status status = husk__conv_tiles_configure(plan, tiles.steps, &configuration, &items, scope);
    if (status != HUSK_OK)
        goto cleanup;
    s->slices = tiles.slices;
    s->range = husk__conv_tiles_range(plan->configuration, &tiles, items);
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(problem->dtype), configuration.bytes,
             is_long(plan) ? " -DINDEX_64" : "");
    status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled", &s->multiply, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled_reduce", &s->reduce,
                                  scope);
    if (status == HUSK_OK)
        status =
            husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled_bias", &s->bias, scope);
cleanup:
    husk__text_free(&configuration);
    return status;
}

static husk_status multiply(const husk_plan *plan, husk_queue *queue,
                            const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                            const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    husk__arg list[4 + HUSK__CONV_GEOMETRY_ARGUMENTS + 1 + HUSK__CONV_W_ARGUMENTS];
    size_t count = 0;
    list[count++] = HUSK__ARG_TENSOR(arguments->x);
    list[count++] = HUSK__ARG_TENSOR(arguments->dy);
    list[count++] = parts;
    list[count++] = HUSK__ARG_TENSOR(arguments->dw);
    count += husk__conv_geometry_arguments(list + count, &problem->geometry);
    list[count++] = HUSK__ARG_I32(s->slices);
    count += husk__conv_backward_w_arguments(list + count, problem);
    return husk__launch(queue, s->multiply, &s->range, list, count, scope);
}

static husk_status reduce(const husk_plan *plan, husk_queue *queue,
                          const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                          const husk__scope *scope)
{
    const state *s = plan->state;
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    const int64_t columns = husk__conv_filter_count(problem);
    husk__arg list[8 + HUSK__CONV_W_ARGUMENTS] = {
        parts,
        HUSK__ARG_TENSOR(arguments->dw),
        HUSK__ARG_I32(s->slices),
        HUSK__ARG_I32(g->groups * g->filters),
        HUSK__ARG_I32(columns),
        HUSK__ARG_I32(g->kernel[0]),
        HUSK__ARG_I32(g->kernel[1]),
        HUSK__ARG_I32(g->kernel[2]),
    };
    const size_t count = 8 + husk__conv_backward_w_arguments(list + 8, problem);
    const husk__range range = {{(size_t)husk__divide_up(columns, ITEMS), (size_t)(g->groups * g->filters), 1},
                               {ITEMS, 1, 1}};
    return husk__launch(queue, s->reduce, &range, list, count, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__conv_backward_weights_arguments *arguments = untyped;
    const state *s = plan->state;
    husk_status status = HUSK_OK;
    if (arguments->dw) {
        const uint64_t size = husk__accumulator_size(((const husk__conv_problem *)plan->problem)->dtype);
        const husk__arg parts = HUSK__ARG_BUFFER(plan->workspace ? scratch->buffer : NULL, 0, size);
        status = multiply(plan, queue, arguments, parts, scope);
        if (status == HUSK_OK && s->slices > 1)
            status = reduce(plan, queue, arguments, parts, scope);
    }
    if (status != HUSK_OK || !arguments->dbias)
        return status;
    const husk__range range = {{(size_t)((const husk__conv_problem *)plan->problem)->y.shape[1], 1, 1}, {ITEMS, 1, 1}};
    return husk__conv_backward_bias_launch(plan, queue, s->bias, &range, arguments->dy, arguments->dbias, scope);
}

const husk__variant husk__conv_backward_weights_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__conv_tiled_menu,
    .configuration_count = HUSK__CONV_TILED_MENU,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_weights_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__conv_backward_weights_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = husk__conv_matrix_menu,
    .configuration_count = HUSK__CONV_MATRIX_MENU,
    .supports = husk__conv_matrix_supports,
    .cost = cost,
    .workspace = workspace,
    .error_factor = husk__conv_backward_weights_error_factor,
    .flops = husk__conv_flops,
    .prepare = prepare,
    .run = run,
};
