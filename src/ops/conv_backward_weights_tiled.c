// SPDX-License-Identifier: MIT
// cl/conv_backward_weights_tiled.cl: the gradients of convolution by weights and bias, on GPUs.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/conv_backward_problem.h"

// Named for the work-group's tile, filters x columns. values: BLOCK_M, BLOCK_N, ITEM_M, ITEM_N, BLOCK_K.
static const husk__configuration MENU[] = {
    {"128x128", "-DBLOCK_M=128 -DBLOCK_N=128 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {128, 128, 8, 8, 8}},
    {"64x64", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=16 -DITEM_M=4 -DITEM_N=4", {64, 64, 4, 4, 16}},
    {"64x64_small", "-DBLOCK_M=64 -DBLOCK_N=64 -DBLOCK_K=8 -DITEM_M=8 -DITEM_N=8", {64, 64, 8, 8, 8}},
    {"32x32", "-DBLOCK_M=32 -DBLOCK_N=32 -DBLOCK_K=8 -DITEM_M=4 -DITEM_N=4", {32, 32, 4, 4, 8}},
};

enum { ITEMS = 64, GROUPS_WANTED = 256, MOST_SLICES = 64, BLOCKS_A_SLICE = 16 };

typedef struct state {
    const husk__kernel *multiply, *reduce, *bias;
    int64_t slices;
    husk__range range;
} state;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__conv_problem *problem = candidate->problem;
    if (problem->dtype != HUSK_F64 || candidate->configuration->values[2] < 8)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs more registers for f64 than work-items have");
    return false;
}

static double efficiency(const int32_t *tile)
{
    return tile[0] >= 128 ? 0.8 : tile[2] == 8 ? 0.6 : tile[0] >= 64 ? 0.55 : 0.35;
}

static int64_t tile_count(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int32_t *tile = candidate->configuration->values;
    return husk__divide_up(husk__conv_filter_count(problem), tile[1]) *
           husk__divide_up(problem->geometry.filters, tile[0]) * problem->geometry.groups;
}

// By the shape alone: the order of the sums must not depend on the device.
static int64_t slice_count(const husk__candidate *candidate)
{
    const int64_t tiles = husk__max_i64(1, tile_count(candidate));
    const int64_t blocks = husk__conv_backward_weights_products(candidate->problem) /
                           (candidate->configuration->values[4] * BLOCKS_A_SLICE);
    const int64_t slices = husk__min_i64(MOST_SLICES, husk__divide_up(GROUPS_WANTED, tiles));
    return husk__max_i64(1, husk__min_i64(slices, blocks));
}

static double cost(const husk__candidate *candidate)
{
    const int32_t *tile = candidate->configuration->values;
    const int64_t units = husk__max_i64(1, candidate->traits->compute_units), slices = slice_count(candidate);
    const double rounds = (double)husk__divide_up(tile_count(candidate) * slices, units);
    const double depth = (double)husk__conv_backward_weights_products(candidate->problem) / (double)slices;
    return 5000.0 + rounds * (double)tile[0] * tile[1] * depth / (128.0 * efficiency(tile));
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__conv_problem *problem = candidate->problem;
    const int64_t slices = slice_count(candidate);
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
    static const char *const file = "conv_backward_weights_tiled.cl";
    const husk__conv_problem *problem = plan->problem;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), plan->configuration};
    const int32_t *tile = plan->configuration->values;
    char options[256];
    state *s = calloc(1, sizeof *s);
    if (!s)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = s; // freed with the plan
    s->slices = slice_count(&candidate);
    s->range = (husk__range){{(size_t)husk__divide_up(husk__conv_filter_count(problem), tile[1]),
                              (size_t)husk__divide_up(problem->geometry.filters, tile[0]),
                              (size_t)(problem->geometry.groups * s->slices)},
                             {(size_t)(tile[1] / tile[3]), (size_t)(tile[0] / tile[2]), 1}};
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(problem->dtype), plan->configuration->options,
             is_long(plan) ? " -DINDEX_64" : "");
    husk_status status =
        husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled", &s->multiply, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled_reduce",
                                  &s->reduce, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_conv_backward_weights_tiled_bias", &s->bias,
                                  scope);
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
    const husk__range range = {{(size_t)((const husk__conv_problem *)plan->problem)->y.shape[1], 1, 1},
                               {ITEMS, 1, 1}};
    return husk__conv_backward_bias_launch(plan, queue, s->bias, &range, arguments->dy, arguments->dbias, scope);
}

const husk__variant husk__conv_backward_weights_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
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
