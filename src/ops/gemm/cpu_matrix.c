// SPDX-License-Identifier: MIT
// Variant cpu_matrix: bf16, and f32 in parts of bf16, by the matrix engines of CPUs. The kernels are described in
// cl/gemm/cpu_matrix.cl; an engine that passes its probe is asked for when a plan is made.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/gemm/problem.h"
#include "select/engine.h"

// What the numbers of a configuration mean: most tiles of K in a block, and room for a strip of B, in words.
enum { BLOCK_TILES, STRIP_WORDS };

// Room for 512 columns of 512 steps of bf16, or fewer of longer: a quarter of a second-level cache of 2 MiB.
#define ROOM "-DBLOCK_TILES=32 -DSTRIP_WORDS=131072"
static const husk__configuration configurations[] = {
    {"512", ROOM, {16, 131072}},
    {"1024", ROOM, {32, 131072}},
};

// Of lib/amx.clh: rows and columns multiplied at once, rows of A or columns of B in a tile, its steps, its words.
enum { BLOCK = 32, SIDE = 16, STEPS = 32, TILE_WORDS = 256, SUMS = BLOCK * BLOCK };

static int64_t parts_of(husk__product product)
{
    return product == HUSK__PRODUCT_BF16X3 ? 2 : 1;
}

static bool is_nothing(const husk__gemm_shape *shape)
{
    return shape->batch == 0 || shape->m == 0 || shape->n == 0;
}

// Packed weights lie as columns of C, so rows and columns are only exchanged without them.
static husk__gemm_shape shape_of(const husk__gemm_problem *problem, bool b_is_packed)
{
    if (!b_is_packed && husk__gemm_is_by_columns(&problem->shape))
        return husk__gemm_transposed(&problem->shape);
    return problem->shape;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    if (problem->wide & (HUSK__GEMM_WIDE_A | HUSK__GEMM_WIDE_B)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "engines of CPUs multiply A and B of one dtype");
        return false;
    }
    if (!husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, problem->dtype, problem->precision)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no engine of CPUs for this dtype and precision on this device");
        return false;
    }
    return husk__gemm_fits_int(&problem->shape, reason);
}

// ---- how the work is divided, and what it costs ----

typedef struct division {
    int64_t rows, columns, matrices; /* of a group */
    int64_t row_parts, column_parts, matrix_parts;
    int64_t block_tiles, strip_columns;
    int64_t group_sums; /* that wait in scratch memory; 0: K is one block */
    bool packs;         // panels of A are made beforehand, in scratch memory
    double cost;        /* nanoseconds, by typical rates */
} division;

// Cycles, as measured on a CPU without tiles: to copy 64 bytes of the panels, of bf16, of f32, of either where it is
// turned besides; to bring a vector of sums to C.
static const double COPY_BF16 = 3.0, COPY_F32 = 10.0, TURN = 6.0, FINISH = 4.0;
static const double ENTER_TILE = 60.0, WAIT = 50.0, ENTER_GROUP = 1500.0; // WAIT: a tile of sums in memory
static const double APART = 16.0;         // times as long takes a copy element by element: neither stride is 1
static const double SUM_VECTORS = 16.0;   // of a tile of sums, each a row of 16
static const double PARTS_PRODUCTS = 3.0; // of f32 in two parts, of which low * low is left out

static double copy_cost(husk_dtype dtype, int64_t line, int64_t step, bool is_a)
{
    const double copy = dtype == HUSK_F32 ? COPY_F32 : COPY_BF16;
    if (line != 1 && step != 1)
        return APART * copy;
    return copy + ((step == 1) == is_a ? 0.0 : TURN);
}

// Cycles to make all panels of so many lines once.
static double packing_cost(int64_t lines, int64_t k, husk__product product, double copy)
{
    return (double)(husk__divide_up(lines, SIDE) * husk__divide_up(k, STEPS) * SIDE * parts_of(product)) * copy;
}

static const husk__engine *engine_of(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    return husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, problem->dtype, problem->precision);
}

// Nanoseconds of all groups, of which so many come one after the other.
static double cost_of(const division *d, const husk__gemm_shape *shape, const husk__candidate *candidate,
                      husk__product product, bool b_is_packed, const husk_machine_rates *rates)
{
    const husk_machine *machine = candidate->machine;
    const husk_dtype dtype = ((const husk__gemm_problem *)candidate->problem)->dtype;
    const double multiply = husk__engine_tile_cycles(engine_of(candidate), rates);
    const int64_t units = machine->cores, groups = d->row_parts * d->column_parts * d->matrix_parts;
    const int64_t rows = husk__min_i64(d->rows, shape->m), columns = husk__min_i64(d->columns, shape->n);
    const double tiles = (double)(husk__divide_up(rows, SIDE) * husk__divide_up(columns, SIDE));
    const double steps = (double)husk__divide_up(shape->k, STEPS), parts = (double)parts_of(product);
    const double blocks = (double)husk__divide_up(husk__max_i64(shape->k, 1), d->block_tiles * STEPS);
    const double strips = (double)husk__divide_up(columns, d->strip_columns);
    const double copy_a = copy_cost(dtype, shape->a_row, shape->a_step, true);
    const double copy_b = copy_cost(dtype, shape->b_column, shape->b_step, false);
    double cycles = tiles * (steps * (parts > 1 ? PARTS_PRODUCTS : 1.0) * multiply + SUM_VECTORS * FINISH + ENTER_TILE +
                             (blocks - 1.0) * (ENTER_TILE + WAIT));
    double before = 0.0; // in a launch of its own
    if (d->packs)
        before = rates->launch_ns + husk__cycles_ns(rates, (double)shape->batch / (double)units *
                                                               packing_cost(shape->m, shape->k, product, copy_a));
    else
        cycles += strips * packing_cost(rows, shape->k, product, copy_a);
    if (!b_is_packed)
        cycles += packing_cost(columns, shape->k, product, copy_b);
    const double compute = husk__cycles_ns(rates, (double)d->matrices * cycles + ENTER_GROUP);
    // Bound by memory where there is too little to do for each element read.
    const double size = (double)husk_dtype_size(dtype), depth = (double)shape->k;
    const double all = (double)shape->batch * (double)(shape->m + shape->n) * depth * size;
    const double read =
        (double)d->matrices * (double)(rows + columns) * depth * size / husk__read_rate(machine, rates, all);
    return before + husk__launch_time(machine, rates, compute > read ? compute : read, groups);
}

static void complete(division *d, const husk__gemm_shape *shape, const husk__candidate *candidate,
                     husk__product product, bool b_is_packed)
{
    const int32_t *values = candidate->configuration->values;
    const int64_t step = parts_of(product) * 2 * TILE_WORDS; // words of 32 columns of a tile of K
    const int64_t tiles = husk__max_i64(1, husk__divide_up(shape->k, STEPS));
    // Blocks of one depth, strips of one width.
    d->block_tiles = husk__divide_up(tiles, husk__divide_up(tiles, values[BLOCK_TILES]));
    const int64_t columns = husk__round_up(husk__min_i64(d->columns, shape->n), BLOCK);
    const int64_t room = values[STRIP_WORDS] / (d->block_tiles * step) * BLOCK;
    d->strip_columns = husk__round_up(husk__divide_up(columns, husk__divide_up(columns, room)), BLOCK);
    const int64_t rows = husk__round_up(husk__min_i64(d->rows, shape->m), BLOCK);
    d->group_sums = tiles > d->block_tiles ? rows * d->strip_columns : 0;
    d->packs = true;
    const husk_machine_rates *rates = &candidate->machine->typical;
    const double beforehand = cost_of(d, shape, candidate, product, b_is_packed, rates);
    d->packs = false;
    d->cost = cost_of(d, shape, candidate, product, b_is_packed, rates);
    if (beforehand < d->cost) {
        d->packs = true;
        d->cost = beforehand;
    }
}

// The cheapest of the ways to make one group, or some one or two a core.
static division divide(const husk__gemm_shape *shape, const husk__candidate *candidate, husk__product product,
                       bool b_is_packed)
{
    const int64_t units = candidate->traits->compute_units;
    const int64_t row_tiles = husk__divide_up(shape->m, BLOCK), column_tiles = husk__divide_up(shape->n, BLOCK);
    const int64_t targets[] = {1, units, 2 * units};
    division best = {.cost = INFINITY};
    for (int t = units > 1 ? 0 : 1; t < 3; ++t) {
        const int64_t matrix_parts = husk__min_i64(shape->batch, targets[t]);
        const int64_t parts = targets[t] / matrix_parts;
        for (int64_t rows = 1; rows <= husk__min_i64(parts, row_tiles); ++rows) {
            if (parts % rows != 0 && rows != row_tiles)
                continue;
            division d = {0};
            d.matrices = husk__divide_up(shape->batch, matrix_parts);
            d.matrix_parts = husk__divide_up(shape->batch, d.matrices);
            d.rows = husk__divide_up(row_tiles, rows) * BLOCK;
            d.row_parts = husk__divide_up(shape->m, d.rows);
            d.columns = husk__divide_up(column_tiles, husk__min_i64(parts / rows, column_tiles)) * BLOCK;
            d.column_parts = husk__divide_up(shape->n, d.columns);
            complete(&d, shape, candidate, product, b_is_packed);
            if (d.cost < best.cost)
                best = d;
        }
    }
    return best;
}

// What an engine multiplies for a problem; it does not depend on whether the engine is there.
static husk__product product_of(const husk__gemm_problem *problem)
{
    return husk__engine_amx_product(problem->dtype, problem->precision);
}

// Words from a panel to the next.
static int64_t panel_stride(const husk__gemm_shape *shape, husk__product product)
{
    return husk__divide_up(shape->k, STEPS) * parts_of(product) * 2 * TILE_WORDS;
}

// Scratch memory, in words: sums, then panels of A.
static int64_t sums_of(const division *d)
{
    return d->group_sums * d->row_parts * d->column_parts * d->matrix_parts;
}

static int64_t panels_of(const division *d, const husk__gemm_shape *shape, husk__product product)
{
    return d->packs ? shape->batch * husk__divide_up(shape->m, BLOCK) * panel_stride(shape, product) : 0;
}

// A plan runs with packed weights and with plain ones: the more of both.
static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    uint64_t most = 0;
    for (int packed = 0; packed < 2 && !is_nothing(&problem->shape); ++packed) {
        const husk__gemm_shape shape = shape_of(problem, packed);
        const division d = divide(&shape, candidate, product_of(problem), packed);
        const uint64_t words = (uint64_t)(sums_of(&d) + panels_of(&d, &shape, product_of(problem)));
        most = words > most ? words : most;
    }
    return most * sizeof(uint32_t);
}

static double cost(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape shape = shape_of(problem, problem->b_is_packed);
    if (is_nothing(&shape))
        return 0.0;
    const division d = divide(&shape, candidate, product_of(problem), problem->b_is_packed);
    return cost_of(&d, &shape, candidate, product_of(problem), problem->b_is_packed, &candidate->machine->rates);
}

// ---- plans ----

// By whether B is packed: a plan runs with both. The kernels of the form that it was not made for are built with the
// packing.
typedef struct cpu_matrix_state {
    const husk__engine *engine;
    husk__product product;
    division divisions[2];
    const husk__kernel *multiply[2], *pack[2];
} cpu_matrix_state;

static husk_status kernel_of(const husk_plan *plan, bool b_is_packed, const char *name, const husk__kernel **kernel,
                             const husk__scope *scope)
{
    const cpu_matrix_state *state = plan->state;
    const bool packs = state->divisions[b_is_packed].packs;
    husk__text configuration = {0};
    char options[400];
    husk__engine_product_options(state->engine, state->product, &configuration);
    husk__text_format(&configuration, " %s%s%s", plan->configuration->options, packs ? " -DA_PACKED" : "",
                      b_is_packed ? " -DB_PACKED" : "");
    const bool failed = configuration.failed;
    if (!failed)
        husk__gemm_options(plan->problem, configuration.bytes, options, sizeof options);
    husk__text_free(&configuration);
    return failed ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan")
                  : husk__kernel_get(plan->context, "gemm/cpu_matrix.cl", options, name, kernel, scope);
}

static husk_status kernels_of(const husk_plan *plan, bool b_is_packed, const husk__kernel **multiply,
                              const husk__kernel **pack, const husk__scope *scope)
{
    husk_status status = kernel_of(plan, b_is_packed, "husk_gemm_cpu_matrix", multiply, scope);
    if (status == HUSK_OK && ((const cpu_matrix_state *)plan->state)->divisions[b_is_packed].packs)
        status = kernel_of(plan, b_is_packed, "husk_gemm_cpu_matrix_pack", pack, scope);
    return status;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__candidate candidate = husk__candidate_of(plan);
    cpu_matrix_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    const husk_status status = husk__engine_find(plan->context, HUSK__ENGINE_TILES, problem->dtype, problem->precision,
                                                 &state->engine, &state->product, scope);
    if (status != HUSK_OK)
        return status;
    plan->error_factor = husk__engine_error_factor(state->engine, state->product, problem->shape.k);
    for (int packed = 0; packed < 2 && !is_nothing(&problem->shape); ++packed) {
        const husk__gemm_shape shape = shape_of(problem, packed);
        state->divisions[packed] = divide(&shape, &candidate, state->product, packed);
    }
    return kernels_of(plan, problem->b_is_packed, &state->multiply[problem->b_is_packed],
                      &state->pack[problem->b_is_packed], scope);
}

// Panels of an operand of `lines` lines, `batch` apart, into a buffer from word `to` on.
static husk_status launch_pack(const husk__kernel *kernel, husk_queue *queue, const husk_tensor *from, bool is_a,
                               const husk__gemm_shape *shape, int64_t line, int64_t step, int64_t batch,
                               int64_t matrices, husk_buffer *buffer, int64_t to, const husk__scope *scope)
{
    const int64_t lines = is_a ? shape->m : shape->n;
    const bool by_steps = line == 1 && step != 1;
    const int64_t groups = by_steps ? husk__divide_up(shape->k, STEPS) : husk__divide_up(lines, BLOCK);
    const husk__range range = {{(size_t)groups, (size_t)matrices, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_TENSOR(from), HUSK__ARG_I64(line), HUSK__ARG_I64(step),
                        HUSK__ARG_I64(batch),
                        HUSK__ARG_BUFFER(buffer, (uint64_t)to * sizeof(uint32_t), sizeof(uint32_t)),
                        HUSK__ARG_I32(is_a), HUSK__ARG_I32(lines), HUSK__ARG_I32(shape->k), HUSK__ARG_I32(by_steps));
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const cpu_matrix_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    const bool b_is_packed = given->b->packed != NULL;
    const bool is_exchanged = !b_is_packed && husk__gemm_is_by_columns(&problem->shape);
    const husk_tensor *left = is_exchanged ? given->b : given->a, *right = is_exchanged ? given->a : given->b;
    const division *d = &state->divisions[b_is_packed];
    const husk__kernel *multiply = state->multiply[b_is_packed], *pack = state->pack[b_is_packed];
    husk__gemm_shape shape = shape_of(problem, b_is_packed);
    const int64_t stride = panel_stride(&shape, state->product);
    husk__arg a = HUSK__ARG_TENSOR(left), b = HUSK__ARG_TENSOR(right);
    husk_status status = HUSK_OK;
    if (!multiply)
        status = kernels_of(plan, b_is_packed, &multiply, &pack, scope);
    if (status == HUSK_OK && d->packs) {
        const int64_t to = sums_of(d);
        status = launch_pack(pack, queue, left, true, &shape, shape.a_row, shape.a_step, shape.a_batch, shape.batch,
                             scratch->buffer, to, scope);
        a = HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)to * sizeof(uint32_t), sizeof(uint32_t));
        shape.a_row = stride;
        shape.a_batch = husk__divide_up(shape.m, BLOCK) * stride;
    }
    if (status != HUSK_OK)
        return status;
    if (b_is_packed) {
        b = HUSK__ARG_BUFFER(given->b->packed->buffer, 0, sizeof(uint32_t));
        shape.b_step = stride;
        shape.b_batch = 0;
    }
    // Where no sums wait the argument is any buffer.
    const husk__arg sums =
        d->group_sums > 0 ? HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(float)) : HUSK__ARG_TENSOR(given->c);
    const husk__range range = {{(size_t)d->column_parts, (size_t)d->row_parts, (size_t)d->matrix_parts}, {1, 1, 1}};
    const int32_t wide = is_exchanged ? husk__gemm_wide_exchanged(problem->wide) : problem->wide;
    return HUSK__LAUNCH(
        queue, multiply, &range, scope, a, HUSK__ARG_I64(shape.a_row), HUSK__ARG_I64(shape.a_step),
        HUSK__ARG_I64(shape.a_batch), b, HUSK__ARG_I64(shape.b_step), HUSK__ARG_I64(shape.b_column),
        HUSK__ARG_I64(shape.b_batch), HUSK__GEMM_BIAS_ARGUMENTS(&shape, given), HUSK__ARG_TENSOR(given->c),
        HUSK__ARG_I64(shape.c_row), HUSK__ARG_I64(shape.c_column), HUSK__ARG_I64(shape.c_batch), sums,
        HUSK__ARG_I64(d->group_sums), HUSK__ARG_I32(wide), HUSK__ARG_I32(shape.m), HUSK__ARG_I32(shape.n),
        HUSK__ARG_I32(shape.k), HUSK__ARG_I32(shape.batch), HUSK__ARG_I32(d->rows), HUSK__ARG_I32(d->columns),
        HUSK__ARG_I32(d->matrices), HUSK__ARG_I32(d->strip_columns), HUSK__ARG_I32(d->block_tiles),
        HUSK__ARG_F32(given->alpha), HUSK__ARG_F32(given->beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(problem));
}

// ---- packed weights ----

husk_status husk__gemm_cpu_matrix_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                       husk_packed **packed, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__gemm_shape *shape = &problem->shape;
    const cpu_matrix_state *state = plan->state;
    int64_t words;
    if (!husk__mul_i64(husk__divide_up(shape->n, BLOCK), panel_stride(shape, state->product), &words) ||
        words > INT64_MAX / 4)
        return husk__reject(scope, "b", "is too large to pack");
    const husk__kernel *pack = NULL, *multiply;
    husk_status status = kernels_of(plan, true, &multiply, &pack, scope);
    if (status == HUSK_OK && !pack)
        status = kernel_of(plan, true, "husk_gemm_cpu_matrix_pack", &pack, scope);
    if (status != HUSK_OK)
        return status;
    status = husk__packed_create(plan, (uint64_t)words * sizeof(uint32_t), &problem->b, packed, scope);
    if (status != HUSK_OK || words == 0)
        return status;
    // The given tensor's strides: a plan made for packed weights has none of its own.
    husk_tensor plain = *b;
    husk__tensor_resolve(&plain);
    status = launch_pack(pack, queue, b, false, shape, plain.strides[problem->transpose_b ? 0 : 1],
                         plain.strides[problem->transpose_b ? 1 : 0], 0, 1, (*packed)->buffer, 0, scope);
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

const husk__variant husk__gemm_cpu_matrix = {
    .name = "cpu_matrix",
    .family = HUSK__FAMILY_CPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};
