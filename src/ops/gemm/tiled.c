// SPDX-License-Identifier: MIT
// Variants tiled and matrix: local-memory tiles, for GPUs, multiplied by plain arithmetic or by a matrix engine; with a
// split of K where there are too few tiles. The kernels are described in cl/gemm/tiled.cl and, for engines whose tiles
// are filled by asynchronous copies, cl/gemm/async.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/gemm/problem.h"
#include "select/engine.h"

// What the numbers of a configuration mean: its options, and how well it uses a busy device, in percent.
enum { BLOCK_M, BLOCK_N, BLOCK_K, ITEM_M, ITEM_N, EFFICIENCY, STAGES };

#define TILE(m, n, k, i, j) \
    "-DBLOCK_M=" #m " -DBLOCK_N=" #n " -DBLOCK_K=" #k " -DITEM_M=" #i " -DITEM_N=" #j

static const husk__configuration configurations[] = {
    {"128x128", TILE(128, 128, 8, 8, 8), {128, 128, 8, 8, 8, 100}},
    {"64x64", TILE(64, 64, 16, 4, 4), {64, 64, 16, 4, 4, 70}},
    // 64 work-items, for devices that allow no more.
    {"64x64_64", TILE(64, 64, 16, 8, 8), {64, 64, 16, 8, 8, 60}},
    // 64 work-items and 9 KiB of local memory: fits everywhere.
    {"32x32", TILE(32, 32, 16, 4, 4), {32, 32, 16, 4, 4, 45}},
};

// Of an engine, whose file knows its items and whose product knows how many steps lie in local memory: K is split in
// whole tiles of any product. No ITEM_M marks them.
#define MATRIX(side, efficiency) {#side "x" #side, "", {side, side, 64, 0, 0, efficiency}}
// Of pairs of tiles that asynchronous copies fill. More than three have half the steps. Three of 128 would be 48 KiB,
// of which NVIDIA's driver keeps 16 bytes.
#define ASYNC(side, efficiency, stages) \
    {#side "x" #side "_async" #stages, " -DSTAGES=" #stages, {side, side, 64, 0, 0, efficiency, stages}}

enum { MOST_WHOLE_STAGES = 3 };

static const husk__configuration matrix_configurations[] = {MATRIX(128, 100),   MATRIX(64, 60),     MATRIX(32, 30),
                                                            ASYNC(128, 300, 2), ASYNC(128, 290, 5), ASYNC(64, 200, 3)};

// TILE_PAD of lib/fragment.clh.
enum { TILE_PAD = 4, MAX_SPLITS = 16, LEAST_TILES_A_SPLIT = 8 };

typedef struct tiled_state {
    const husk__kernel *multiply; /* with B as the plan was made for it */
    const husk__kernel *reduce; /* NULL where K is not split */
    int64_t items; /* of a work-group */
    char options[256]; /* of the configuration */
} tiled_state;

static bool is_matrix(const husk__configuration *configuration)
{
    return configuration->values[ITEM_M] == 0;
}

static bool is_async(const husk__configuration *configuration)
{
    return is_matrix(configuration) && configuration->values[STAGES] > 0;
}

static int32_t tile_of(const husk__configuration *configuration)
{
    const int32_t stages = is_async(configuration) ? configuration->values[STAGES] : 0;
    return configuration->values[BLOCK_M] | (stages ? HUSK__ENGINE_ASYNC : 0) |
           (stages > MOST_WHOLE_STAGES ? HUSK__ENGINE_HALF_STEPS : 0);
}

static int64_t items_of(const husk__configuration *configuration, const husk__engine *engine)
{
    const int32_t *v = configuration->values;
    return engine ? husk__engine_items(engine, tile_of(configuration))
                  : (int64_t)(v[BLOCK_M] / v[ITEM_M]) * (v[BLOCK_N] / v[ITEM_N]);
}

static int64_t matrix_tiles(const husk__gemm_shape *shape, const husk__configuration *configuration)
{
    return husk__divide_up(shape->m, configuration->values[BLOCK_M]) *
           husk__divide_up(shape->n, configuration->values[BLOCK_N]);
}

static int64_t tiles_of(const husk__gemm_shape *shape, const husk__configuration *configuration)
{
    return matrix_tiles(shape, configuration) * shape->batch;
}

// Work-groups that share the K of a tile, and the steps of each: enough to give every unit two groups.
static int64_t splits_of(const husk__candidate *candidate, int64_t *steps)
{
    const husk__gemm_shape *shape = &((const husk__gemm_problem *)candidate->problem)->shape;
    const int64_t block = candidate->configuration->values[BLOCK_K];
    const int64_t tiles = husk__max_i64(1, tiles_of(shape, candidate->configuration));
    const int64_t k_tiles = husk__divide_up(shape->k, block);
    int64_t splits = 2 * (int64_t)candidate->traits->compute_units / tiles;
    splits = husk__min_i64(husk__min_i64(splits, MAX_SPLITS), k_tiles / LEAST_TILES_A_SPLIT);
    splits = husk__max_i64(splits, 1);
    *steps = husk__max_i64(1, husk__divide_up(k_tiles, splits)) * block;
    return husk__max_i64(1, husk__divide_up(shape->k, *steps));
}

static bool fits(const husk__candidate *candidate, const husk__engine *engine, uint64_t local,
                 char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    const int64_t items = items_of(candidate->configuration, engine);
    if ((uint64_t)items > candidate->traits->work_group || local > candidate->traits->local_memory) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs %lld work-items a group and %llu bytes of local memory",
                 (long long)items, (unsigned long long)local);
        return false;
    }
    return husk__gemm_fits_int(&problem->shape, reason);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const uint64_t line = (uint64_t)(v[BLOCK_M] + v[BLOCK_N] + 2 * TILE_PAD) * husk__accumulator_size(problem->dtype);
    if (problem->dtype == HUSK_F64 && v[ITEM_M] == 8 && v[BLOCK_K] > 8) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs more registers for f64 than work-items have");
        return false;
    }
    return fits(candidate, NULL, 2 * (uint64_t)v[BLOCK_K] * line, reason);
}

// Whether an operand can be copied in chunks of 16 bytes, if its first element begins one: the stride along one
// dimension is 1, and those from chunk to chunk, where there are several, multiples of that.
static bool is_copyable(const husk__gemm_shape *shape, bool is_a, husk_dtype dtype)
{
    const int64_t chunk = 16 / (int64_t)husk_dtype_size(dtype);
    const int64_t step = is_a ? shape->a_step : shape->b_step, line = is_a ? shape->a_row : shape->b_column;
    const int64_t batch = is_a ? shape->a_batch : shape->b_batch;
    const bool along_k = step == 1; // as add_layouts() has it
    const int64_t others = along_k ? (is_a ? shape->m : shape->n) : shape->k;
    return (along_k || line == 1) && (others <= 1 || (along_k ? line : step) % chunk == 0) &&
           (shape->batch <= 1 || batch % chunk == 0);
}

// Packed weights go with any A: what cannot be copied is read element by element.
static bool supports_async(const husk__gemm_problem *problem, const husk__engine *engine,
                           char reason[HUSK__REASON_CAPACITY])
{
    if (!engine->copies) {
        snprintf(reason, HUSK__REASON_CAPACITY, "this device's engine has no asynchronous copies");
        return false;
    }
    if (!problem->b_is_packed &&
        (!is_copyable(&problem->shape, true, problem->dtype) || !is_copyable(&problem->shape, false, problem->dtype))) {
        snprintf(reason, HUSK__REASON_CAPACITY,
                 "copies 16 bytes at a time: one stride of A and of B has to be 1, the "
                 "others multiples of that");
        return false;
    }
    return true;
}

// Whether an engine may be there: prepare() sees whether it is.
static bool supports_matrix(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    if (problem->wide & (HUSK__GEMM_WIDE_A | HUSK__GEMM_WIDE_B)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "an engine multiplies A and B of one dtype");
        return false;
    }
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, candidate->traits, problem->dtype, problem->precision);
    if (!engine) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no matrix engine for this dtype and precision on this device");
        return false;
    }
    if (is_async(candidate->configuration) && !supports_async(problem, engine, reason))
        return false;
    uint64_t line = HUSK__ENGINE_LINE; // of two stages
    if (is_async(candidate->configuration))
        line = line / (v[STAGES] > MOST_WHOLE_STAGES ? 4 : 2) * (uint64_t)v[STAGES];
    return fits(candidate, engine, line * (uint64_t)(v[BLOCK_M] + v[BLOCK_N]), reason);
}

// Whether sums wait in scratch memory for gemm/reduce.cl: those of a split K, and those that are activated in a second
// pass where C is too narrow to hold them until then.
static bool has_parts(const husk__candidate *candidate, int64_t splits)
{
    const husk__gemm_problem *problem = candidate->problem;
    return splits > 1 ||
           (husk__gemm_is_narrow(problem) && problem->activation_is_smooth && !is_async(candidate->configuration));
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape *shape = &problem->shape;
    int64_t steps;
    const int64_t splits = splits_of(candidate, &steps);
    const uint64_t sums = (uint64_t)(splits * shape->batch * shape->m * shape->n);
    return has_parts(candidate, splits) ? sums * husk__accumulator_size(problem->dtype) : 0;
}

// A unit of a GPU does some 128 multiply-adds in a nanosecond, so many for each percent of EFFICIENCY. GPUs are not
// measured: it is a scale that the variants share.
static const double PERCENT_RATE = 1.28;
// How much faster than that an engine is: with one product for each multiplication, with several, of parts of f32.
static const double ONE_PRODUCT_GAIN = 6.0, PARTS_GAIN = 2.0;

static double cost(const husk__candidate *candidate)
{
    const husk__gemm_shape *shape = &((const husk__gemm_problem *)candidate->problem)->shape;
    const int32_t *v = candidate->configuration->values;
    int64_t steps;
    const double groups = (double)(tiles_of(shape, candidate->configuration) * splits_of(candidate, &steps));
    const double units = candidate->traits->compute_units;
    const double rounds = ceil(groups / units);
    const double tile = (double)v[BLOCK_M] * v[BLOCK_N] * (double)husk__min_i64(steps, husk__max_i64(shape->k, 1));
    return rounds * tile / (PERCENT_RATE * v[EFFICIENCY]);
}

// How much faster than plain multiply-adds an engine is, very roughly: the engine wins where it is there.
static double cost_matrix(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const bool has_one_product = problem->dtype != HUSK_F32 || problem->precision == HUSK_PRECISION_MEDIUM;
    return cost(candidate) / (has_one_product ? ONE_PRODUCT_GAIN : PARTS_GAIN);
}

// The options of the configuration; an engine's where the variant wants one.
static husk_status configure(husk_plan *plan, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__configuration *configuration = plan->configuration;
    tiled_state *state = plan->state;
    husk__text options = {0};
    husk_status status = HUSK_OK;
    if (is_matrix(configuration))
        status = husk__engine_configure(plan, problem->dtype, problem->precision, tile_of(configuration),
                                        problem->shape.k, &options, &state->items, scope);
    else
        state->items = items_of(configuration, NULL);
    husk__text_format(&options, "%s", configuration->options);
    if (status == HUSK_OK && options.failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    if (status == HUSK_OK)
        snprintf(state->options, sizeof state->options, "%s", options.bytes);
    husk__text_free(&options);
    return status;
}

// Operands as a kernel that copies them has to be built for them.
static void add_layouts(const husk__gemm_shape *shape, husk__text *options)
{
    if (shape->a_step != 1)
        husk__text_format(options, " -DA_ACROSS");
    if (shape->b_step != 1)
        husk__text_format(options, " -DB_ACROSS");
}

// The kernel for B as a run gives it: a plan that was made for plain weights takes packed ones, too.
static husk_status get_kernel(const husk_plan *plan, bool b_is_packed, const husk__kernel **kernel,
                              const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const tiled_state *state = plan->state;
    const bool copies = is_async(plan->configuration);
    husk__text configuration = {0};
    char options[400];
    husk__gemm_shape rows = problem->shape;
    husk__gemm_use_rows(&rows);
    const int64_t last_of_b = husk__max_i64(husk__tensor_last(&problem->b), rows.k * rows.b_step);
    const int64_t last =
        husk__max_i64(husk__max_i64(husk__tensor_last(&problem->a), last_of_b), husk__tensor_last(&problem->c));
    husk__text_format(&configuration, "%s", state->options);
    if (copies)
        add_layouts(b_is_packed ? &rows : &problem->shape, &configuration);
    // Tiles reach up to a tile beyond the matrix before they are cut off.
    else if (husk__needs_index_64(plan->context, last))
        husk__text_format(&configuration, " -DINDEX_64");
    husk_status status = HUSK_OK;
    if (configuration.failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    if (status == HUSK_OK) {
        husk__gemm_options(problem, configuration.bytes, options, sizeof options);
        status = husk__kernel_get(plan->context, copies ? "gemm/async.cl" : "gemm/tiled.cl", options,
                                  copies ? "husk_gemm_async" : "husk_gemm_tiled", kernel, scope);
    }
    husk__text_free(&configuration);
    return status;
}

husk_status husk__gemm_matrix_expect_packed(const husk_plan *plan, const husk__scope *scope)
{
    const husk__kernel *kernel;
    return is_async(plan->configuration) ? get_kernel(plan, true, &kernel, scope) : HUSK_OK;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    tiled_state *state = calloc(1, sizeof *state);
    int64_t steps;
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    husk_status status = configure(plan, scope);
    if (status == HUSK_OK)
        status = get_kernel(plan, problem->b_is_packed, &state->multiply, scope);
    if (status == HUSK_OK && has_parts(&candidate, splits_of(&candidate, &steps)))
        status = husk__gemm_reduce_get(plan, &state->reduce, scope);
    return status;
}

// Whether all whole fours along the contiguous dimension are aligned if the first one is.
static bool is_aligned(int64_t step, int64_t line, int64_t batch)
{
    return (step == 1 || line == 1) && (step == 1 ? line : step) % 4 == 0 && batch % 4 == 0;
}

static husk__arg from_matrix(husk__arg operand, int64_t elements)
{
    operand.value.i64 += elements;
    return operand;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const tiled_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    husk__gemm_shape with_rows = problem->shape;
    const husk__gemm_shape *shape = &with_rows;
    husk__arg b = HUSK__ARG_TENSOR(given->b);
    if (given->b->packed) {
        husk__gemm_use_rows(&with_rows);
        b = HUSK__ARG_BUFFER(given->b->packed->buffer, 0, (uint32_t)husk_dtype_size(problem->b.dtype));
    }
    const husk__candidate candidate = husk__candidate_of(plan);
    int64_t steps;
    const int64_t splits = splits_of(&candidate, &steps);
    husk__gemm_problem inner = *problem; // what the multiplication itself does: everything, or partial sums
    husk__gemm_run part = *given;
    husk__arg c = HUSK__ARG_TENSOR(given->c);
    const bool in_parts = has_parts(&candidate, splits);
    if (in_parts) {
        inner.wide |= HUSK__GEMM_WIDE_C;
        inner.shape.c_row = shape->n;
        inner.shape.c_column = 1;
        inner.shape.c_batch = shape->m * shape->n;
        inner.shape.bias = HUSK__GEMM_BIAS_NONE;
        inner.activation = HUSK_ACT_NONE;
        inner.low = -INFINITY;
        inner.slope = 1.0f;
        inner.high = INFINITY;
        part.alpha = 1.0f;
        part.beta = 0.0f;
        part.bias = NULL;
        c = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(problem->dtype));
    }
    const bool copies = is_async(plan->configuration);
    const bool a_is_aligned =
        copies ? is_copyable(shape, true, problem->dtype) : is_aligned(shape->a_step, shape->a_row, shape->a_batch);
    const bool b_is_aligned =
        copies ? is_copyable(shape, false, problem->dtype) : is_aligned(shape->b_step, shape->b_column, shape->b_batch);
    const husk__kernel *multiply = state->multiply;
    husk_status status = HUSK_OK;
    if (copies && given->b->packed && !problem->b_is_packed)
        status = get_kernel(plan, true, &multiply, scope);
    // Of a matrix. No batch is too large for a launch.
    const int64_t groups = matrix_tiles(shape, plan->configuration) * splits;
    const int64_t most = husk__max_i64(husk__most_items(plan->context) / husk__max_i64(groups * state->items, 1), 1);
    for (int64_t first = 0; first < shape->batch && status == HUSK_OK; first += most) {
        const size_t matrices = (size_t)husk__min_i64(shape->batch - first, most);
        const husk__range range = {{matrices * (size_t)groups, 1, 1}, {(size_t)state->items, 1, 1}};
        status = HUSK__LAUNCH(
            queue, multiply, &range, scope, from_matrix(HUSK__ARG_TENSOR(given->a), first * shape->a_batch),
            HUSK__ARG_I64(shape->a_row), HUSK__ARG_I64(shape->a_step), HUSK__ARG_I64(shape->a_batch),
            HUSK__ARG_I32(a_is_aligned), from_matrix(b, first * shape->b_batch), HUSK__ARG_I64(shape->b_step),
            HUSK__ARG_I64(shape->b_column), HUSK__ARG_I64(shape->b_batch), HUSK__ARG_I32(b_is_aligned),
            HUSK__GEMM_BIAS_ARGUMENTS(&inner.shape, &part), from_matrix(c, first * splits * inner.shape.c_batch),
            HUSK__ARG_I64(inner.shape.c_row), HUSK__ARG_I64(inner.shape.c_column), HUSK__ARG_I64(inner.shape.c_batch),
            HUSK__ARG_I32(inner.wide), HUSK__ARG_I32(shape->m), HUSK__ARG_I32(shape->n), HUSK__ARG_I32(shape->k),
            HUSK__ARG_I32(splits), HUSK__ARG_I32(husk__min_i64(steps, INT32_MAX)), HUSK__ARG_F32(part.alpha),
            HUSK__ARG_F32(part.beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(&inner));
    }
    if (status != HUSK_OK || !in_parts)
        return status;
    const husk__gemm_reduce reduce = {.parts = c,
                                      .row = shape->n,
                                      .column = 1,
                                      .split = shape->m * shape->n,
                                      .batch = splits * shape->m * shape->n,
                                      .splits = (int32_t)splits,
                                      .alpha = given->alpha,
                                      .beta = given->beta,
                                      .wide_parts = true};
    return husk__gemm_reduce_launch(state->reduce, queue, problem, &reduce, given, scope);
}

const husk__variant husk__gemm_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};

const husk__variant husk__gemm_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = matrix_configurations,
    .configuration_count = sizeof matrix_configurations / sizeof *matrix_configurations,
    .supports = supports_matrix,
    .cost = cost_matrix,
    .workspace = workspace,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};
