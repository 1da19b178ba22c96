// SPDX-License-Identifier: MIT
// Variant packed: operands copied into panels and multiplied in a register tile, for CPU devices.
// The kernels and what they cost are described in cl/gemm_packed.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/gemm_problem.h"

// What the numbers of a configuration mean; the same as its options.
enum { TILE_M, TILE_NV, BLOCK_K, STRIP_PANELS };

static const husk__configuration configurations[] = {
    // AVX-512 and its like: 24 sums and three more in 32 registers.
    {"12x2v", "-DTILE_M=12 -DTILE_NV=2 -DBLOCK_K=256 -DSTRIP_PANELS=12", {12, 2, 256, 12}},
    // At most one vector of columns: nothing is wasted on a second.
    {"16x1v", "-DTILE_M=16 -DTILE_NV=1 -DBLOCK_K=256 -DSTRIP_PANELS=8", {16, 1, 256, 8}},
    // AVX2: 12 sums in 16 registers.
    {"6x2v", "-DTILE_M=6 -DTILE_NV=2 -DBLOCK_K=256 -DSTRIP_PANELS=24", {6, 2, 256, 24}},
    // NEON: 24 sums in 32 registers.
    {"8x3v", "-DTILE_M=8 -DTILE_NV=3 -DBLOCK_K=256 -DSTRIP_PANELS=24", {8, 3, 256, 24}},
};

// Rows below the last full tile are done this many at a time: TAIL_M of the kernel.
enum { TAIL_M = 4 };

typedef struct packed_state {
    const husk__kernel *plain;  /* NULL where the plan was made for packed weights */
    const husk__kernel *packed; /* NULL where it was not */
} packed_state;

static int64_t tile_columns(const husk__candidate *candidate)
{
    return (int64_t)candidate->configuration->values[TILE_NV] * candidate->traits->vector_width;
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
    return husk__gemm_fits_int(&((const husk__gemm_problem *)candidate->problem)->shape, reason);
}

// ---- how the work is divided ----

typedef struct division {
    int64_t group_rows, group_columns;
    int64_t row_parts, column_parts;
} division;

// Multiplying one element costs a unit of time for each k step; copying one costs this many.
static const double COPY_COST = 6.0;
// A problem smaller than this, in multiply-adds, is not worth waking a second core.
static const double LEAST_WORK = 1.0e6;
// One larger than this is cut into two pieces a core, so that a core held up elsewhere costs less.
static const double MUCH_WORK = 16.0e6;

static double division_cost(const division *d, const husk__gemm_shape *shape, int64_t strip, int64_t cores)
{
    const double rows = (double)d->group_rows, columns = (double)d->group_columns;
    const double one = rows * columns + COPY_COST * (rows * ceil(columns / (double)strip) + columns);
    return one * (double)husk__divide_up(d->row_parts * d->column_parts * shape->batch, cores);
}

static division divide(const husk__gemm_shape *shape, int64_t tile_m, int64_t tile_n, int64_t strip,
                       int64_t cores)
{
    const double work =
        (double)shape->batch * (double)shape->m * (double)shape->n * (double)husk__max_i64(shape->k, 1);
    const int64_t groups = work < LEAST_WORK ? 1 : work < MUCH_WORK ? cores : 2 * cores;
    const int64_t parts = husk__max_i64(1, groups / shape->batch);
    const int64_t row_tiles = husk__divide_up(shape->m, tile_m),
                  column_tiles = husk__divide_up(shape->n, tile_n);
    division best = {0};
    double best_cost = INFINITY;
    for (int64_t rows = 1; rows <= husk__min_i64(parts, row_tiles); ++rows) {
        division d;
        d.group_rows = husk__divide_up(row_tiles, rows) * tile_m;
        d.group_columns = husk__divide_up(column_tiles, husk__min_i64(parts / rows, column_tiles)) * tile_n;
        d.row_parts = husk__divide_up(shape->m, d.group_rows);
        d.column_parts = husk__divide_up(shape->n, d.group_columns);
        const double cost = division_cost(&d, shape, strip, cores);
        if (cost < best_cost) {
            best = d;
            best_cost = cost;
        }
    }
    return best;
}

static division divide_for(const husk__gemm_shape *shape, const husk__candidate *candidate)
{
    const int32_t *values = candidate->configuration->values;
    const int64_t tile_n = tile_columns(candidate);
    return divide(shape, values[TILE_M], tile_n, tile_n * values[STRIP_PANELS],
                  candidate->traits->compute_units);
}

// ---- prediction ----

// Multiply-adds of a core in a nanosecond while everything lies in registers: two vectors at some 3.5 GHz.
static double core_speed(const husk_device_traits *traits)
{
    return 7.0 * traits->vector_width;
}

// Sums, a row of B and an element of A beyond the register file go to memory and back.
static double tile_efficiency(const husk__candidate *candidate)
{
    const int32_t *values = candidate->configuration->values;
    const int32_t used = values[TILE_M] * values[TILE_NV] + values[TILE_NV] + 1;
    const int32_t registers = candidate->traits->vector_width == 8 ? 16 : 32;
    if (used > registers)
        return 0.4;
    // Loads that a multiply-add takes: of B, from the second-level cache, and all that go beyond what fits
    // beside the multiplications.
    const double of_b = 1.0 / values[TILE_M], all = of_b + 1.0 / values[TILE_NV];
    return 1.0 / (1.0 + of_b + (all > 0.6 ? all - 0.6 : 0.0));
}

static double cost(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape shape = shape_of(problem, problem->b_is_packed);
    const int32_t *values = candidate->configuration->values;
    const int64_t tile_m = values[TILE_M], tile_n = tile_columns(candidate);
    if (shape.batch == 0 || shape.m == 0 || shape.n == 0)
        return 0.0;
    const division d = divide_for(&shape, candidate);
    const double speed = core_speed(candidate->traits);
    const int64_t rest = d.group_rows < shape.m ? 0 : shape.m % tile_m;
    // Four rows at a time keep the multipliers busy two thirds of the time.
    const double rows =
        (double)(husk__min_i64(d.group_rows, shape.m) - rest + husk__round_up(rest, TAIL_M) * 3 / 2);
    const double columns = (double)husk__round_up(husk__min_i64(d.group_columns, shape.n), tile_n);
    const double strips = ceil(columns / (double)(tile_n * values[STRIP_PANELS]));
    const double multiply = rows * columns / (speed * tile_efficiency(candidate));
    const double copied = rows * strips + (problem->b_is_packed ? 0.0 : columns);
    const double read =
        (double)(husk__min_i64(d.group_rows, shape.m) + husk__min_i64(d.group_columns, shape.n)) *
        HUSK__GEMM_READ_COST;
    const double groups =
        (double)husk__divide_up(d.row_parts * d.column_parts * shape.batch, candidate->traits->compute_units);
    return (multiply + copied * COPY_COST / speed + read) * (double)husk__max_i64(shape.k, 1) * groups;
}

// ---- plans ----

// The configuration in which a plan's packed weights lie: its own, or for a plan of another variant the one
// that fits the device's registers.
static const husk__configuration *configuration_of(const husk_plan *plan)
{
    if (plan->variant == &husk__gemm_packed)
        return plan->configuration;
    const uint32_t width = husk_context_traits(plan->context)->vector_width;
    return &configurations[width == 16 ? 0 : width == 8 ? 2 : 3];
}

static husk_status kernel_of(const husk_plan *plan, bool b_is_packed, const char *name,
                             const husk__kernel **kernel, const husk__scope *scope)
{
    char configuration[160], options[240];
    snprintf(configuration, sizeof configuration, "%s%s", configuration_of(plan)->options,
             b_is_packed ? " -DB_PACKED" : "");
    husk__gemm_options(plan->problem, configuration, options, sizeof options);
    return husk__kernel_get(plan->context, "gemm_packed.cl", options, name, kernel, scope);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    packed_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    return kernel_of(plan, problem->b_is_packed, "husk_gemm_packed",
                     problem->b_is_packed ? &state->packed : &state->plain, scope);
}

static int64_t panel_stride(const husk__gemm_shape *shape, const husk__candidate *candidate)
{
    return shape->k * tile_columns(candidate);
}

static husk_status launch(const husk_plan *plan, const husk__kernel *kernel, husk_queue *queue,
                          const husk__gemm_run *given, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const bool b_is_packed = given->b->packed != NULL;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), configuration_of(plan)};
    husk__gemm_shape shape = shape_of(problem, b_is_packed);
    const bool is_exchanged = !b_is_packed && husk__gemm_is_by_columns(&problem->shape);
    husk__arg a = HUSK__ARG_TENSOR(is_exchanged ? given->b : given->a);
    husk__arg b = HUSK__ARG_TENSOR(is_exchanged ? given->a : given->b);
    if (b_is_packed) {
        b = HUSK__ARG_BUFFER(given->b->packed->buffer, 0, sizeof(float));
        shape.b_step = panel_stride(&shape, &candidate);
        shape.b_batch = 0;
    }
    const division d = divide_for(&shape, &candidate);
    const husk__range range = {{(size_t)d.column_parts, (size_t)d.row_parts, (size_t)shape.batch}, {1, 1, 1}};
    const int32_t *values = configuration_of(plan)->values;
    const int64_t tile_n = tile_columns(&candidate);
    // Strips of one width, and blocks of one depth: a narrow last strip costs as much copying of A as a wide one.
    const int64_t columns = husk__min_i64(d.group_columns, shape.n);
    const int64_t strips = husk__divide_up(columns, tile_n * values[STRIP_PANELS]);
    const int64_t strip_width = husk__round_up(husk__divide_up(columns, strips), tile_n);
    const int64_t blocks = husk__max_i64(1, husk__divide_up(shape.k, values[BLOCK_K]));
    const int64_t block_k = husk__round_up(husk__divide_up(husk__max_i64(shape.k, 1), blocks), 8);
    return HUSK__LAUNCH(queue, kernel, &range, scope, a, HUSK__ARG_I64(shape.a_row),
                        HUSK__ARG_I64(shape.a_step), HUSK__ARG_I64(shape.a_batch), b,
                        HUSK__ARG_I64(shape.b_step), HUSK__ARG_I64(shape.b_column),
                        HUSK__ARG_I64(shape.b_batch), HUSK__GEMM_BIAS_ARGUMENTS(&shape, given),
                        HUSK__ARG_TENSOR(given->c), HUSK__ARG_I64(shape.c_row), HUSK__ARG_I64(shape.c_column),
                        HUSK__ARG_I64(shape.c_batch), HUSK__ARG_I32(shape.m), HUSK__ARG_I32(shape.n),
                        HUSK__ARG_I32(shape.k), HUSK__ARG_I32(d.group_rows), HUSK__ARG_I32(d.group_columns),
                        HUSK__ARG_I32(strip_width), HUSK__ARG_I32(block_k), HUSK__ARG_F32(given->alpha),
                        HUSK__ARG_F32(given->beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(problem));
}

// At most so many rows of one matrix have a kernel of their own: FEW_ROWS of it.
enum { FEW_ROWS = 8 };

static bool is_few(const husk__gemm_shape *shape)
{
    return shape->batch == 1 && shape->m <= FEW_ROWS;
}

static husk_status launch_few(const husk_plan *plan, husk_queue *queue, const husk__gemm_run *given,
                              const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__gemm_shape *shape = &problem->shape;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), configuration_of(plan)};
    const husk__kernel *kernel;
    const husk_status status = kernel_of(plan, true, "husk_gemm_few", &kernel, scope);
    if (status != HUSK_OK)
        return status;
    const double work = (double)shape->n * (double)husk__max_i64(shape->k, 1);
    const int64_t units = candidate.traits->compute_units, tile_n = tile_columns(&candidate);
    const int64_t groups = work < LEAST_WORK / 4 ? 1 : work < MUCH_WORK ? units : 2 * units;
    const int64_t group_columns = husk__round_up(husk__divide_up(shape->n, groups), tile_n);
    const husk__range range = {{(size_t)husk__divide_up(shape->n, group_columns), 1, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_TENSOR(given->a), HUSK__ARG_I64(shape->a_row),
                        HUSK__ARG_I64(shape->a_step),
                        HUSK__ARG_BUFFER(given->b->packed->buffer, 0, sizeof(float)),
                        HUSK__ARG_I64(panel_stride(shape, &candidate)),
                        HUSK__GEMM_BIAS_ARGUMENTS(shape, given), HUSK__ARG_TENSOR(given->c),
                        HUSK__ARG_I64(shape->c_row), HUSK__ARG_I64(shape->c_column), HUSK__ARG_I32(shape->m),
                        HUSK__ARG_I32(shape->n), HUSK__ARG_I32(shape->k), HUSK__ARG_I32(group_columns),
                        HUSK__ARG_F32(given->alpha), HUSK__ARG_F32(given->beta),
                        HUSK__GEMM_ACTIVATION_ARGUMENTS(problem));
}

husk_status husk__gemm_panels_run(const husk_plan *plan, husk_queue *queue, const husk__gemm_run *given,
                                  const husk__scope *scope)
{
    const husk__kernel *kernel;
    if (is_few(&((const husk__gemm_problem *)plan->problem)->shape))
        return launch_few(plan, queue, given, scope);
    husk_status status = kernel_of(plan, true, "husk_gemm_packed", &kernel, scope);
    return status == HUSK_OK ? launch(plan, kernel, queue, given, scope) : status;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments,
                       const husk__scratch *scratch, const husk__scope *scope)
{
    (void)scratch;
    const packed_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    if (given->b->packed && is_few(&((const husk__gemm_problem *)plan->problem)->shape))
        return launch_few(plan, queue, given, scope);
    const husk__kernel *kernel = given->b->packed ? state->packed : state->plain;
    // Weights packed for a plan of plain ones: the kernel was built with the packing and is looked up.
    return kernel ? launch(plan, kernel, queue, given, scope)
                  : husk__gemm_panels_run(plan, queue, given, scope);
}

// ---- packed weights ----

husk_status husk__gemm_panels_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b,
                                   husk_packed **packed, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__gemm_shape *shape = &problem->shape;
    const husk__candidate candidate = {problem, husk_context_traits(plan->context), configuration_of(plan)};
    const int64_t panels = husk__divide_up(shape->n, tile_columns(&candidate));
    int64_t elements;
    if (!husk__mul_i64(panels, panel_stride(shape, &candidate), &elements) || elements > INT64_MAX / 4)
        return husk__reject(scope, "b", "is too large to pack");
    const husk__kernel *kernel, *multiply;
    husk_status status = kernel_of(plan, true, "husk_gemm_pack_b", &kernel, scope);
    if (status == HUSK_OK)
        status = kernel_of(plan, true, "husk_gemm_packed", &multiply, scope);
    if (status != HUSK_OK)
        return status;
    husk__key key = {0};
    husk__gemm_packed_key(problem, &key);
    status = husk__packed_create(plan, (uint64_t)elements * sizeof(float), &problem->b, &key, packed, scope);
    if (status != HUSK_OK || elements == 0)
        return status;
    // The given tensor's strides: a plan made for packed weights has none of its own.
    husk_tensor plain = *b;
    husk__tensor_resolve(&plain);
    const int64_t step = plain.strides[problem->transpose_b ? 1 : 0];
    const int64_t column = plain.strides[problem->transpose_b ? 0 : 1];
    const husk__range range = {{(size_t)panels, 1, 1}, {1, 1, 1}};
    status = HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_TENSOR(b), HUSK__ARG_I64(step),
                          HUSK__ARG_I64(column), HUSK__ARG_BUFFER((*packed)->buffer, 0, sizeof(float)),
                          HUSK__ARG_I32(shape->n), HUSK__ARG_I32(shape->k));
    if (status != HUSK_OK) {
        husk_packed_release(*packed);
        *packed = NULL;
    }
    return status;
}

const husk__variant husk__gemm_packed = {
    .name = "packed",
    .family = HUSK__FAMILY_CPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};
