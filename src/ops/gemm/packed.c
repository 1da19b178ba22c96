// SPDX-License-Identifier: MIT
// Variant packed: operands copied into panels and multiplied in a register tile, for CPU devices.
// The kernels and what they cost are described in cl/gemm/packed.cl.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/gemm/problem.h"

// What the numbers of a configuration mean; the same as its options.
enum { TILE_M, TILE_NV, BLOCK_K, STRIP_FLOATS };

// A strip has room for 256 columns of a full block: runs of B are then asked for without remainder, and the panels and
// those of the next block share a second-level cache of 1 MiB.
static const husk__configuration configurations[] = {
    // AVX-512 and its like: 24 sums and three more in 32 registers.
    {"12x2v", "-DTILE_M=12 -DTILE_NV=2 -DBLOCK_K=384 -DSTRIP_FLOATS=98560", {12, 2, 384, 98560}},
    // At most one vector of columns: nothing is wasted on a second.
    {"16x1v", "-DTILE_M=16 -DTILE_NV=1 -DBLOCK_K=256 -DSTRIP_FLOATS=66048", {16, 1, 256, 66048}},
    // AVX2: 12 sums in 16 registers.
    {"6x2v", "-DTILE_M=6 -DTILE_NV=2 -DBLOCK_K=384 -DSTRIP_FLOATS=98560", {6, 2, 384, 98560}},
    // NEON: 24 sums in 32 registers.
    {"8x3v", "-DTILE_M=8 -DTILE_NV=3 -DBLOCK_K=384 -DSTRIP_FLOATS=98560", {8, 3, 384, 98560}},
};

// Rows below the last full tile are done this many at a time: TAIL_M of the kernel.
enum { TAIL_M = 4 };

static bool is_double(const husk__candidate *candidate)
{
    return ((const husk__gemm_problem *)candidate->problem)->dtype == HUSK_F64;
}

// Elements of a vector: VW of lib/vector.clh, half as many doubles as floats.
static int64_t width_of(const husk__candidate *candidate)
{
    const int64_t width = candidate->traits->vector_width;
    return is_double(candidate) && width > 4 ? width / 2 : width;
}

static int64_t tile_columns(const husk__candidate *candidate)
{
    return (int64_t)candidate->configuration->values[TILE_NV] * width_of(candidate);
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

// ---- how the work is divided, and what it costs ----

// Groups of rows, columns, matrices and k steps, a work-item each; the strips and blocks that each of them walks.
typedef struct division {
    int64_t rows, columns, matrices, steps; /* of a group */
    int64_t row_parts, column_parts, matrix_parts, splits;
    int64_t strip_width, block_k;
    bool in_place;  // rows of A are read where they lie, not copied
    bool has_parts; // sums wait in scratch memory: those of a split k, or of several blocks where C is too narrow
    double cost;   /* nanoseconds, by typical rates: how a product is divided decides its bits */
} division;

// Cycles, which follow from the kernels' instructions more than from the core:
static const double COPY_A = 5.0;       // to copy a vector of A
static const double TRANSPOSE_A = 6.0;  // a vector of it, of blocks of VW x VW, where rows lie side by side
static const double CUT_LINES = 2.5;    // more, where blocks begin within cache lines
static const double COPY_B = 1.0;       // of B on the way, where its rows are copied as they lie
static const double TRANSPOSE_B = 6.0;  // of B where they are not
static const double FINISH_TILE = 6.0;  // to bring a vector of sums to C, once a block
static const double ENTER_TILE = 40.0;  // to begin a tile
static const double TAIL_FACTOR = 1.15; // small tiles of rows
static const double ENTER_GROUP = 1500.0;
static const double ADD_PART = 1.7; // an element that is added up from a part
// Parts of k are this long at least, and take this many bytes in all at most; with more tiles a core there are none.
enum { LEAST_SPLIT = 256, MOST_PART_BYTES = 16 << 20, FEW_TILES = 16 };
// What one group a core costs above many, as something else may hold up a core: a tenth.
static const double UNEVEN = 0.1;
// What a tile reaches of the multiplications where its sums do not fit the registers; and what it loses, of a
// multiplication's time: for a load too many beside it, and for a load of B.
static const double SPILLED = 0.4, LOAD_LOSS = 0.3, B_LOSS = 0.1;

// Sums, a row of B and an element of A beyond the register file go to memory and back. Beside the multiplications
// there is room for a load each, and those of B come from the second-level cache.
static double tile_efficiency(const husk__candidate *candidate)
{
    const int32_t *values = candidate->configuration->values;
    const int32_t used = values[TILE_M] * values[TILE_NV] + values[TILE_NV] + 1;
    if (used > (int32_t)candidate->machine->registers)
        return SPILLED;
    const double loads = 1.0 / values[TILE_M] + 1.0 / values[TILE_NV];
    return 1.0 / (1.0 + (loads > 1.0 ? LOAD_LOSS * (loads - 1.0) : 0.0) + B_LOSS / values[TILE_M]);
}

// Cycles to copy a vector's worth of A. A tile that is no multiple of a vector transposes more than it keeps.
static double copy_a_cost(const husk__gemm_shape *shape, const husk__candidate *candidate)
{
    const int64_t tile_m = candidate->configuration->values[TILE_M];
    const int64_t width = width_of(candidate);
    if (shape->a_step == 1)
        return COPY_A;
    const double kept = (double)tile_m / (double)husk__round_up(tile_m, width);
    return TRANSPOSE_A / kept * (tile_m % width != 0 ? CUT_LINES : 1.0);
}

// A first-level cache of the devices that these kernels are for: sets, bytes in a line; and how many rows of A, read
// where they lie, may share a set with panels of B and rows of C streaming by.
enum { SETS = 64, LINE_BYTES = 64, MOST_IN_A_SET = 2 };

// Whether a tile reads its rows of A where they lie: side by side, and not so that they drive each other out.
static bool is_in_place(const husk__gemm_shape *shape, int64_t rows, husk_dtype dtype)
{
    int used[SETS] = {0};
    const int64_t size = (int64_t)husk_dtype_size(dtype);
    if (shape->a_step != 1 || size < 4) // what is narrower is widened once, in a copy
        return false;
    if (shape->a_row > INT64_MAX / size / husk__max_i64(rows, 1)) // of a plan without memory, by fewer rows than these
        return false;
    for (int64_t i = 0, last = -1; i < rows; ++i) {
        const int64_t line = i * shape->a_row * size / LINE_BYTES;
        if (line != last && ++used[line % SETS] > MOST_IN_A_SET)
            return false;
        last = line;
    }
    return true;
}

// Cycles of one group.
static double group_cost(const division *d, const husk__gemm_shape *shape, const husk__candidate *candidate,
                         const husk_machine_rates *rates, bool b_is_packed)
{
    const int32_t *values = candidate->configuration->values;
    const double width = (double)width_of(candidate);
    const int64_t tile_m = values[TILE_M], rows = husk__min_i64(d->rows, shape->m);
    const int64_t columns = husk__min_i64(d->columns, shape->n);
    const double k = (double)d->steps;
    const int64_t above = tile_m > 2 * TAIL_M ? tile_m - TAIL_M : TAIL_M;
    const int64_t rest = rows % tile_m;
    const double full = (double)(rows / tile_m + (rest > above)),
                 tails = rest > above ? 0.0 : (double)husk__divide_up(rest, TAIL_M);
    const double tiles = (double)husk__divide_up(columns, tile_columns(candidate)) * (full + tails);
    const double panels = (double)husk__divide_up(columns, tile_columns(candidate)) * values[TILE_NV];
    const double multiply = panels * k * (full * (double)tile_m + tails * TAIL_M * TAIL_FACTOR) /
                            (tile_efficiency(candidate) * rates->fma_per_cycle);
    const double strips = (double)husk__divide_up(columns, d->strip_width);
    const double blocks = (double)husk__divide_up(husk__max_i64(d->steps, 1), d->block_k);
    const double copy_a =
        d->in_place ? 0.0
                    : strips * (full * (double)tile_m + tails * TAIL_M) * k / width * copy_a_cost(shape, candidate);
    const double copy_b = b_is_packed ? 0.0 : panels * k * (shape->b_column == 1 ? COPY_B : TRANSPOSE_B);
    const double finish = blocks * tiles * (ENTER_TILE + (double)(tile_m * values[TILE_NV]) * FINISH_TILE);
    const double cycles = (double)d->matrices * (multiply + copy_a + copy_b + finish) + ENTER_GROUP;
    // Bound by memory where there is too little to do for each element read.
    const double size = (double)husk_dtype_size(((const husk__gemm_problem *)candidate->problem)->dtype);
    const double elements = (double)d->matrices * ((double)rows + (double)columns) * k;
    const double all = (double)shape->batch * (double)(shape->m + shape->n) * (double)shape->k;
    const double read = elements * size / husk__read_rate(candidate->machine, rates, all * size) * rates->clock_ghz;
    return cycles > read ? cycles : read;
}

// Nanoseconds.
static double time_of(const division *d, const husk__gemm_shape *shape, const husk__candidate *candidate,
                      const husk_machine_rates *rates, bool b_is_packed)
{
    const int64_t units = candidate->traits->compute_units;
    const int64_t groups = d->row_parts * d->column_parts * d->matrix_parts * d->splits;
    const double rounds = (double)husk__divide_up(groups, units);
    const double group = group_cost(d, shape, candidate, rates, b_is_packed) * (1.0 + UNEVEN / rounds);
    double time = husk__launch_time(candidate->machine, rates, husk__cycles_ns(rates, group), groups);
    if (d->has_parts)
        time += rates->launch_ns + husk__cycles_ns(rates, ADD_PART * (double)(shape->batch * shape->m * shape->n) *
                                                              (double)d->splits / (double)units);
    return time;
}

static void complete(division *d, const husk__gemm_shape *shape, const husk__candidate *candidate, bool b_is_packed)
{
    const husk__gemm_problem *problem = candidate->problem;
    const int32_t *values = candidate->configuration->values;
    const int64_t tile_n = tile_columns(candidate), width = width_of(candidate);
    d->in_place = is_in_place(shape, values[TILE_M], problem->dtype);
    // Strips of one width, and blocks of one depth: a narrow last strip costs as much copying of A as a wide one.
    // Doubles take twice the room: half the depth, and strips of the same width.
    const int64_t room = values[STRIP_FLOATS] / (is_double(candidate) ? 2 : 1);
    const int64_t blocks =
        husk__max_i64(1, husk__divide_up(d->steps, values[BLOCK_K] / (is_double(candidate) ? 2 : 1)));
    d->block_k = husk__round_up(husk__divide_up(husk__max_i64(d->steps, 1), blocks), width);
    const int64_t panels = room / (d->block_k * tile_n + width);
    const int64_t columns = husk__min_i64(d->columns, shape->n);
    const int64_t strips = husk__divide_up(columns, panels * tile_n);
    d->strip_width = husk__round_up(husk__divide_up(columns, strips), tile_n);

    d->has_parts = d->splits > 1 || (d->steps > d->block_k && husk__gemm_is_narrow(problem));
    d->cost = time_of(d, shape, candidate, &candidate->machine->typical, b_is_packed);
}

// The cheapest of the ways to make some one, two or four groups a core; a part of k each where that is allowed.
static division divide(const husk__gemm_shape *shape, const husk__candidate *candidate, bool b_is_packed,
                       uint64_t most_part_bytes)
{
    const int64_t tile_m = candidate->configuration->values[TILE_M], tile_n = tile_columns(candidate);
    const int64_t row_tiles = husk__divide_up(shape->m, tile_m), column_tiles = husk__divide_up(shape->n, tile_n);
    const int64_t units = candidate->traits->compute_units;
    const int64_t targets[] = {1, units, 2 * units, 4 * units};
    const uint64_t element = husk__accumulator_size(((const husk__gemm_problem *)candidate->problem)->dtype);
    const uint64_t part_bytes = (uint64_t)(shape->batch * shape->m * shape->n) * element;
    division best = {.cost = INFINITY};
    for (int t = units > 1 ? 0 : 1; t < 4; ++t) {
        const int64_t matrix_parts = husk__min_i64(shape->batch, targets[t]);
        const int64_t parts = targets[t] / matrix_parts;
        for (int64_t splits = 1; splits <= parts; splits *= 2) {
            if (splits > 1 && (shape->k < splits * LEAST_SPLIT || part_bytes > most_part_bytes / (uint64_t)splits))
                break;
            for (int64_t rows = 1; rows <= husk__min_i64(parts / splits, row_tiles); ++rows) {
                if ((parts / splits) % rows != 0 && rows != row_tiles)
                    continue;
                division d = {0};
                d.matrices = husk__divide_up(shape->batch, matrix_parts);
                d.matrix_parts = husk__divide_up(shape->batch, d.matrices);
                d.rows = husk__divide_up(row_tiles, rows) * tile_m;
                d.columns = husk__divide_up(column_tiles, husk__min_i64(parts / splits / rows, column_tiles)) * tile_n;
                d.row_parts = husk__divide_up(shape->m, d.rows);
                d.column_parts = husk__divide_up(shape->n, d.columns);
                d.steps =
                    splits == 1 ? shape->k : husk__round_up(husk__divide_up(shape->k, splits), width_of(candidate));
                d.splits = splits == 1 ? 1 : husk__divide_up(shape->k, d.steps);
                complete(&d, shape, candidate, b_is_packed);
                if (d.cost < best.cost)
                    best = d;
            }
        }
    }
    return best;
}

static uint64_t part_bytes_of(const division *d, const husk__gemm_shape *shape, const husk__gemm_problem *problem)
{
    const uint64_t sums = (uint64_t)(d->splits * shape->batch * shape->m * shape->n);
    return d->has_parts ? sums * husk__accumulator_size(problem->dtype) : 0;
}

static bool is_nothing(const husk__gemm_shape *shape)
{
    return shape->batch == 0 || shape->m == 0 || shape->n == 0;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape shape = shape_of(problem, problem->b_is_packed);
    if (is_nothing(&shape))
        return 0;
    const division d = divide(&shape, candidate, problem->b_is_packed, MOST_PART_BYTES);
    return part_bytes_of(&d, &shape, problem);
}

static double cost(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape shape = shape_of(problem, problem->b_is_packed);
    if (is_nothing(&shape))
        return 0.0;
    const division d = divide(&shape, candidate, problem->b_is_packed, MOST_PART_BYTES);
    return time_of(&d, &shape, candidate, &candidate->machine->rates, problem->b_is_packed);
}

// ---- plans ----

// By whether B is packed: a plan runs with both. The kernel of the form that it was not made for is built with the
// packing, and looked up.
typedef struct packed_state {
    division divisions[2];
    const husk__kernel *kernels[2];
} packed_state;

// The configuration in which a variant without panels of its own has them.
static const husk__configuration *configuration_for(const husk_device_traits *traits)
{
    const uint32_t width = traits->vector_width;
    return &configurations[width == 16 ? 0 : width == 8 ? 2 : 3];
}

// The configuration in which a plan's packed weights lie: its own, or for a plan of another variant the one
// that fits the device's registers.
static const husk__configuration *configuration_of(const husk_plan *plan)
{
    return plan->variant == &husk__gemm_packed ? plan->configuration
                                               : configuration_for(husk_context_traits(plan->context));
}

static husk_status kernel_of(const husk_plan *plan, bool b_is_packed, const char *name, const husk__kernel **kernel,
                             const husk__scope *scope)
{
    char configuration[160], options[240];
    snprintf(configuration, sizeof configuration, "%s%s", configuration_of(plan)->options,
             b_is_packed ? " -DB_PACKED" : "");
    husk__gemm_options(plan->problem, configuration, options, sizeof options);
    return husk__kernel_get(plan->context, "gemm/packed.cl", options, name, kernel, scope);
}

static husk__candidate candidate_of(const husk_plan *plan)
{
    husk__candidate candidate = husk__candidate_of(plan);
    candidate.configuration = configuration_of(plan);
    return candidate;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__candidate candidate = candidate_of(plan);
    packed_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    for (int packed = 0; packed < 2 && !is_nothing(&problem->shape); ++packed) {
        const husk__gemm_shape shape = shape_of(problem, packed);
        // The scratch memory is what the plan's own form of B takes.
        const uint64_t most = packed == problem->b_is_packed ? MOST_PART_BYTES : plan->workspace;
        state->divisions[packed] = divide(&shape, &candidate, packed, most);
    }
    return kernel_of(plan, problem->b_is_packed, "husk_gemm_packed", &state->kernels[problem->b_is_packed], scope);
}

static int64_t panel_stride(const husk__gemm_shape *shape, const husk__candidate *candidate)
{
    return shape->k * tile_columns(candidate);
}

// Adds up the parts of a split k.
static husk_status launch_add_parts(const husk_plan *plan, husk_queue *queue, const husk__gemm_shape *shape,
                                    const division *d, husk__arg parts, const husk__gemm_run *given,
                                    const husk__scope *scope)
{
    const husk__kernel *kernel;
    const husk_status status = kernel_of(plan, given->b->packed != NULL, "husk_gemm_add_parts", &kernel, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t units = husk_context_traits(plan->context)->compute_units;
    const int64_t groups = shape->m * shape->n * d->splits < 1 << 16 ? 1 : units;
    const int64_t group_rows = husk__divide_up(shape->m, groups);
    const husk__range range = {{(size_t)husk__divide_up(shape->m, group_rows), (size_t)shape->batch, 1}, {1, 1, 1}};
    const int64_t split = shape->batch * shape->m * shape->n;
    return HUSK__LAUNCH(queue, kernel, &range, scope, parts, HUSK__ARG_I64(shape->m * shape->n), HUSK__ARG_I64(split),
                        HUSK__GEMM_BIAS_ARGUMENTS(shape, given), HUSK__ARG_TENSOR(given->c),
                        HUSK__ARG_I64(shape->c_row), HUSK__ARG_I64(shape->c_column), HUSK__ARG_I64(shape->c_batch),
                        HUSK__ARG_I32(((const husk__gemm_problem *)plan->problem)->wide), HUSK__ARG_I32(shape->m),
                        HUSK__ARG_I32(shape->n), HUSK__ARG_I32(d->splits), HUSK__ARG_I32(group_rows),
                        HUSK__ARG_F32(given->alpha), HUSK__ARG_F32(given->beta),
                        HUSK__GEMM_ACTIVATION_ARGUMENTS((const husk__gemm_problem *)plan->problem));
}

static husk_status launch(const husk_plan *plan, const husk__kernel *kernel, husk_queue *queue,
                          const husk__gemm_run *given, const division *d, const husk__scratch *scratch,
                          const husk__scope *scope)
{
    const bool b_is_packed = given->b->packed != NULL;
    const husk__candidate candidate = candidate_of(plan);
    husk__gemm_problem inner = *(const husk__gemm_problem *)plan->problem; // the multiplication, or parts of it
    husk__gemm_run part = *given;
    husk__gemm_shape shape = shape_of(&inner, b_is_packed);
    const husk__gemm_shape whole = shape;
    const bool is_exchanged = !b_is_packed && husk__gemm_is_by_columns(&inner.shape);
    husk__arg a = HUSK__ARG_TENSOR(is_exchanged ? given->b : given->a);
    husk__arg b = HUSK__ARG_TENSOR(is_exchanged ? given->a : given->b);
    husk__arg c = HUSK__ARG_TENSOR(given->c);
    int32_t wide = is_exchanged ? husk__gemm_wide_exchanged(inner.wide) : inner.wide;
    husk_status status = HUSK_OK;
    if (!kernel)
        status = kernel_of(plan, b_is_packed, "husk_gemm_packed", &kernel, scope);
    if (status != HUSK_OK)
        return status;
    if (b_is_packed) {
        b = HUSK__ARG_BUFFER(given->b->packed->buffer, 0, (uint32_t)husk_dtype_size(inner.dtype));
        shape.b_step = panel_stride(&shape, &candidate);
        shape.b_batch = 0;
    }
    if (d->has_parts) {
        wide |= HUSK__GEMM_WIDE_C;
        c = HUSK__ARG_BUFFER(scratch->buffer, 0, husk__accumulator_size(inner.dtype));
        shape.c_row = shape.n;
        shape.c_column = 1;
        shape.c_batch = shape.m * shape.n;
        shape.bias = HUSK__GEMM_BIAS_NONE;
        inner.activation = HUSK_ACT_NONE;
        inner.low = -INFINITY;
        inner.slope = 1.0f;
        inner.high = INFINITY;
        part.alpha = 1.0f;
        part.beta = 0.0f;
        part.bias = NULL;
    }
    const husk__range range = {{(size_t)d->column_parts, (size_t)d->row_parts, (size_t)(d->matrix_parts * d->splits)},
                               {1, 1, 1}};
    status = HUSK__LAUNCH(queue, kernel, &range, scope, a, HUSK__ARG_I64(shape.a_row), HUSK__ARG_I64(shape.a_step),
                          HUSK__ARG_I64(shape.a_batch), b, HUSK__ARG_I64(shape.b_step), HUSK__ARG_I64(shape.b_column),
                          HUSK__ARG_I64(shape.b_batch), HUSK__GEMM_BIAS_ARGUMENTS(&shape, &part), c,
                          HUSK__ARG_I64(shape.c_row), HUSK__ARG_I64(shape.c_column), HUSK__ARG_I64(shape.c_batch),
                          HUSK__ARG_I64(shape.batch * shape.m * shape.n), HUSK__ARG_I32(wide), HUSK__ARG_I32(shape.m),
                          HUSK__ARG_I32(shape.n), HUSK__ARG_I32(shape.k), HUSK__ARG_I32(shape.batch),
                          HUSK__ARG_I32(d->rows), HUSK__ARG_I32(d->columns), HUSK__ARG_I32(d->matrices),
                          HUSK__ARG_I32(d->splits), HUSK__ARG_I32(d->steps), HUSK__ARG_I32(d->strip_width),
                          HUSK__ARG_I32(d->block_k), HUSK__ARG_I32(d->in_place), HUSK__ARG_F32(part.alpha),
                          HUSK__ARG_F32(part.beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(&inner));
    if (status != HUSK_OK || !d->has_parts)
        return status;
    return launch_add_parts(plan, queue, &whole, d, c, given, scope);
}

// Multiply-adds of one row that are worth waking the other cores for, and that are cut into two groups a core.
static const double FEW_WORTH = 2.5e5;
static const double FEW_MUCH = 16.0e6;

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
    const husk__candidate candidate = candidate_of(plan);
    const husk__kernel *kernel;
    const husk_status status = kernel_of(plan, true, "husk_gemm_few", &kernel, scope);
    if (status != HUSK_OK)
        return status;
    const double work = (double)shape->n * (double)husk__max_i64(shape->k, 1);
    const int64_t units = candidate.traits->compute_units, tile_n = tile_columns(&candidate);
    const int64_t groups = work < FEW_WORTH ? 1 : work < FEW_MUCH ? units : 2 * units;
    const int64_t group_columns = husk__round_up(husk__divide_up(shape->n, groups), tile_n);
    const husk__range range = {{(size_t)husk__divide_up(shape->n, group_columns), 1, 1}, {1, 1, 1}};
    return HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_TENSOR(given->a), HUSK__ARG_I64(shape->a_row),
                        HUSK__ARG_I64(shape->a_step),
                        HUSK__ARG_BUFFER(given->b->packed->buffer, 0, (uint32_t)husk_dtype_size(problem->dtype)),
                        HUSK__ARG_I64(panel_stride(shape, &candidate)), HUSK__GEMM_BIAS_ARGUMENTS(shape, given),
                        HUSK__ARG_TENSOR(given->c), HUSK__ARG_I64(shape->c_row), HUSK__ARG_I64(shape->c_column),
                        HUSK__ARG_I32(problem->wide), HUSK__ARG_I32(shape->m), HUSK__ARG_I32(shape->n),
                        HUSK__ARG_I32(shape->k), HUSK__ARG_I32(group_columns), HUSK__ARG_F32(given->alpha),
                        HUSK__ARG_F32(given->beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(problem));
}

// Reading the panels, or multiplying them: a vector of them is read for each of the rows' products.
static double few_cost(const husk__gemm_shape *shape, const husk__candidate *candidate)
{
    static const double READ_CYCLES = 1.0, FINISH_CYCLES = 20.0; // of a vector that is read, of one of sums
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const double vectors = (double)husk__divide_up(shape->n, width_of(candidate)), rows = (double)shape->m;
    const double size = (double)husk_dtype_size(((const husk__gemm_problem *)candidate->problem)->dtype);
    const double bytes = vectors * (double)width_of(candidate) * (double)shape->k * size;
    const double cycles =
        vectors * ((double)shape->k * (READ_CYCLES + rows / rates->fma_per_cycle) + rows * FINISH_CYCLES);
    const int64_t groups = rows * (double)shape->n * (double)shape->k < FEW_WORTH ? 1 : machine->cores;
    const double work = fmax(husk__cycles_ns(rates, cycles), bytes / husk__read_rate(machine, rates, bytes));
    return husk__launch_time(machine, rates, work / (double)groups, groups);
}

uint64_t husk__gemm_panels_workspace(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    husk__candidate own = *candidate;
    own.configuration = configuration_for(candidate->traits);
    if (is_few(&problem->shape) || is_nothing(&problem->shape))
        return 0;
    const division d = divide(&problem->shape, &own, true, 0);
    return part_bytes_of(&d, &problem->shape, problem);
}

double husk__gemm_panels_cost(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk__gemm_shape *shape = &problem->shape;
    husk__candidate own = *candidate;
    own.configuration = configuration_for(candidate->traits);
    if (is_nothing(shape))
        return 0.0;
    if (is_few(shape))
        return few_cost(shape, &own);
    const division d = divide(shape, &own, true, 0);
    return time_of(&d, shape, &own, &own.machine->rates, true);
}

husk_status husk__gemm_panels_run(const husk_plan *plan, husk_queue *queue, const husk__gemm_run *given,
                                  const husk__scratch *scratch, const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__candidate candidate = candidate_of(plan);
    if (is_few(&problem->shape))
        return launch_few(plan, queue, given, scope);
    const division d = divide(&problem->shape, &candidate, true, 0);
    return launch(plan, NULL, queue, given, &d, scratch, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const packed_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    const bool b_is_packed = given->b->packed != NULL;
    if (b_is_packed && is_few(&((const husk__gemm_problem *)plan->problem)->shape))
        return launch_few(plan, queue, given, scope);
    return launch(plan, state->kernels[b_is_packed], queue, given, &state->divisions[b_is_packed], scratch, scope);
}

// ---- packed weights ----

husk_status husk__gemm_panels_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *b, husk_packed **packed,
                                   const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const husk__gemm_shape *shape = &problem->shape;
    const husk__candidate candidate = candidate_of(plan);
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
    const uint32_t element = (uint32_t)husk_dtype_size(problem->b.dtype);
    status = husk__packed_create(plan, (uint64_t)elements * element, &problem->b, packed, scope);
    if (status != HUSK_OK || elements == 0)
        return status;
    // The given tensor's strides: a plan made for packed weights has none of its own.
    husk_tensor plain = *b;
    husk__tensor_resolve(&plain);
    const int64_t step = plain.strides[problem->transpose_b ? 1 : 0];
    const int64_t column = plain.strides[problem->transpose_b ? 0 : 1];
    const husk__range range = {{(size_t)panels, 1, 1}, {1, 1, 1}};
    status =
        HUSK__LAUNCH(queue, kernel, &range, scope, HUSK__ARG_TENSOR(b), HUSK__ARG_I64(step), HUSK__ARG_I64(column),
                     HUSK__ARG_BUFFER((*packed)->buffer, 0, element), HUSK__ARG_I32(shape->n), HUSK__ARG_I32(shape->k));
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
    .workspace = workspace,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};
