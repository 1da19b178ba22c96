// SPDX-License-Identifier: MIT
// Variant cpu_matrix: bytes by the matrix engines of CPUs. The kernels and what they cost:
// cl/quantized/gemm_cpu_matrix.cl; an engine that passes its probe is asked for when a plan is made.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "machine/predict.h"
#include "ops/quantized/gemm_problem.h"
#include "select/engine.h"

typedef husk__quantized_gemm_problem problem;
typedef husk__quantized_run arguments;

// What the number of a configuration means: most tiles of K in a block.
enum { BLOCK_TILES };

#define ROOM "-DBLOCK_TILES=32"
static const husk__configuration menu[] = {{"1024", ROOM, {16}}, {"2048", ROOM, {32}}};

// Of lib/amx.clh: rows and columns multiplied at once, those of a tile, which has as many lines of 64 bytes, steps of
// a tile, words of 32 columns of one; of the kernels: room for a strip's block of B, in words, a quarter of a
// second-level cache of 2 MiB; panels packed at once.
enum { BLOCK = 32, SIDE = 16, STEPS = 64, STEP_WORDS = 512, STRIP_WORDS = 131072, PACKED_AT_ONCE = 2 };

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (!husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, own->products.a_dtype, HUSK_PRECISION_HIGHEST)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no engine of CPUs for bytes on this device");
        return false;
    }
    return husk__products_supports(&own->products, reason);
}

enum { LAST = 3 }; // of husk__products' strides of a, b and c: the one of a plain matrix, whose numbers are not split

// ---- how the work is divided, and what it costs ----

typedef struct division {
    int64_t rows, columns; // of a group
    int64_t row_parts, column_parts;
    int64_t block_tiles, strip_columns;
    int64_t group_sums; // that wait in scratch memory; 0: K is one block
    double cost; // nanoseconds, by typical rates
} division;

// Cycles as measured of like code on a CPU without tiles, see gemm/cpu_matrix.c: to copy 64 bytes of a panel, side by
// side or turned, or one by one, and to add them up; to bring a vector of sums to C as it is or as floats, or divided;
// for a tile of sums, and one that waits.
static const double COPY = 3.0, TURN = 6.0, SPREAD = 128.0, TOTAL = 4.0;
static const double FINISH = 5.0, DIVIDE = 16.0, ENTER_TILE = 60.0, WAIT = 50.0, ENTER_GROUP = 1500.0;

// Nanoseconds.
static double cost_of(const division *d, const husk__products *own, const husk__candidate *candidate,
                      const husk_machine_rates *rates)
{
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_TILES, candidate->traits, own->a_dtype, HUSK_PRECISION_HIGHEST);
    const double multiply = husk__engine_tile_cycles(engine, rates);
    const int64_t groups = d->row_parts * d->column_parts * own->groups;
    const double rows = (double)husk__divide_up(husk__min_i64(d->rows, own->m), SIDE);
    const double columns = (double)husk__divide_up(husk__min_i64(d->columns, own->n), SIDE);
    const double steps = (double)husk__divide_up(own->k, STEPS), blocks = ceil(steps / (double)d->block_tiles);
    const double strips = (double)husk__divide_up(d->columns, d->strip_columns);
    const double finish = own->c_dtype == HUSK_I8 || own->c_dtype == HUSK_U8 ? DIVIDE : FINISH;
    const double copy = own->strides[2] == 1 ? COPY : own->a[LAST] == 1 ? COPY + TURN : SPREAD;
    const double waits = blocks > 1.0 ? (blocks - 1.0) * (ENTER_TILE + WAIT) : 0.0;
    const double cycles = rows * columns * (steps * multiply + SIDE * finish + ENTER_TILE + waits) +
                          strips * rows * steps * SIDE * copy + ENTER_GROUP;
    return husk__launch_time(candidate->machine, rates, husk__cycles_ns(rates, cycles), groups);
}

static void complete(division *d, const husk__products *own, const husk__candidate *candidate)
{
    const int64_t tiles = husk__max_i64(1, husk__divide_up(own->k, STEPS));
    // Blocks of one depth, strips of one width.
    d->block_tiles = husk__divide_up(tiles, husk__divide_up(tiles, candidate->configuration->values[BLOCK_TILES]));
    const int64_t room = STRIP_WORDS / (d->block_tiles * STEP_WORDS) * BLOCK;
    const int64_t columns = husk__round_up(husk__min_i64(d->columns, own->n), BLOCK);
    d->strip_columns = husk__round_up(husk__divide_up(columns, husk__divide_up(columns, room)), BLOCK);
    const int64_t rows = husk__round_up(husk__min_i64(d->rows, own->m), BLOCK);
    d->group_sums = tiles > d->block_tiles ? rows * d->strip_columns : 0;
    d->cost = cost_of(d, own, candidate, &candidate->machine->typical);
}

// The cheapest of the ways to make one group, or some one or two a core.
static division divide(const husk__products *own, const husk__candidate *candidate)
{
    const int64_t units = candidate->traits->compute_units;
    const int64_t row_tiles = husk__divide_up(own->m, BLOCK), column_tiles = husk__divide_up(own->n, BLOCK);
    division best = {.cost = INFINITY};
    for (int64_t target = 1; target <= 2 * units; target = target == 1 && units > 1 ? units : 2 * target) {
        const int64_t parts = husk__divide_up(target, own->groups);
        for (int64_t rows = 1; rows <= husk__min_i64(parts, row_tiles); ++rows) {
            if (parts % rows != 0 && rows != row_tiles)
                continue;
            division d = {0};
            d.rows = husk__divide_up(row_tiles, rows) * BLOCK;
            d.row_parts = husk__divide_up(own->m, d.rows);
            d.columns = husk__divide_up(column_tiles, husk__min_i64(parts / rows, column_tiles)) * BLOCK;
            d.column_parts = husk__divide_up(own->n, d.columns);
            complete(&d, own, candidate);
            if (d.cost < best.cost)
                best = d;
        }
    }
    return best;
}

static bool is_nothing(const husk__products *own)
{
    return own->groups == 0 || own->m == 0 || own->n == 0;
}

// Words of the panels of a matrix.
static int64_t matrix_words(const husk__products *own)
{
    return husk__divide_up(own->n, BLOCK) * (husk__divide_up(own->k, STEPS) * STEP_WORDS + BLOCK);
}

// Scratch memory, in words: sums, then panels of B.
static int64_t sums_of(const division *d, const husk__products *own)
{
    return d->group_sums * d->row_parts * d->column_parts * own->groups;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    if (is_nothing(&own->products))
        return 0;
    const division d = divide(&own->products, candidate);
    const int64_t panels = own->tensors.is_packed ? 0 : own->products.b_groups * matrix_words(&own->products);
    return (uint64_t)(sums_of(&d, &own->products) + panels) * sizeof(int32_t);
}

static double cost(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const husk__products *p = &own->products;
    if (is_nothing(p))
        return 0.0;
    const double lines = (double)(husk__divide_up(p->n, SIDE) * husk__divide_up(p->k, STEPS) * p->b_groups) * SIDE;
    const double copy = p->b_column == 1 ? COPY + TURN : p->b_strides[LAST] == 1 ? COPY + TURN : SPREAD;
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    const division d = divide(p, candidate);
    const double packing = rates->launch_ns + husk__cycles_ns(rates, lines * (copy + TOTAL) / machine->cores);
    return cost_of(&d, p, candidate, rates) + (own->tensors.is_packed ? 0.0 : packing);
}

// ---- plans ----

typedef struct cpu_matrix_state {
    division division;
    const husk__kernel *multiply, *pack;
} cpu_matrix_state;

static husk_status kernel_of(const husk_plan *plan, const husk__text *engine, const char *name,
                             const husk__kernel **kernel, const husk__scope *scope)
{
    const husk__products *own = &((const problem *)plan->problem)->products;
    const bool is_narrow = own->c_dtype == HUSK_F16 || own->c_dtype == HUSK_BF16;
    char options[200];
    snprintf(options, sizeof options, "%s %s%s %s", husk__dtype_option(is_narrow ? own->c_dtype : HUSK_F32),
             own->activation_is_smooth ? "-DACT_SMOOTH " : "", engine->bytes, plan->configuration->options);
    return husk__kernel_get(plan->context, "quantized/gemm_cpu_matrix.cl", options, name, kernel, scope);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__products *own = &((const problem *)plan->problem)->products;
    const husk__candidate candidate = husk__candidate_of(plan);
    const husk__engine *engine;
    husk__product product;
    husk__text options = {0};
    cpu_matrix_state *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk_status status = husk__engine_find(plan->context, HUSK__ENGINE_TILES, own->a_dtype, HUSK_PRECISION_HIGHEST,
                                           &engine, &product, scope);
    if (status != HUSK_OK)
        return status;
    if (!is_nothing(own))
        state->division = divide(own, &candidate);
    husk__engine_product_options(engine, product, &options);
    status = options.failed ? husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan")
                            : kernel_of(plan, &options, "husk_quantized_gemm_cpu_matrix", &state->multiply, scope);
    if (status == HUSK_OK)
        status = kernel_of(plan, &options, "husk_quantized_gemm_cpu_matrix_pack", &state->pack, scope);
    husk__text_free(&options);
    return status;
}

static husk_status launch_pack(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                               const husk_tensor *b, const husk__arg *to, const husk__scope *scope)
{
    const cpu_matrix_state *state = plan->state;
    const husk__range range = {{(size_t)husk__divide_up(own->n, BLOCK * PACKED_AT_ONCE), (size_t)own->b_groups, 1},
                               {1, 1, 1}};
    return HUSK__LAUNCH(queue, state->pack, &range, scope, HUSK__ARG_TENSOR(b), HUSK__ARG_I64(own->b_strides[LAST]),
                        HUSK__ARG_I64(own->b_column), HUSK__ARG_I64(own->b_group), *to, HUSK__ARG_I32(own->n),
                        HUSK__ARG_I32(own->k));
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const cpu_matrix_state *state = plan->state;
    const division *d = &state->division;
    const husk__products *own = &((const problem *)plan->problem)->products;
    const arguments *given = untyped;
    husk__arg panels;
    if (given->weights->packed) {
        panels = HUSK__ARG_BUFFER(given->weights->packed->buffer, 0, sizeof(int32_t));
    } else {
        panels = HUSK__ARG_BUFFER(scratch->buffer, (uint64_t)sums_of(d, own) * sizeof(int32_t), sizeof(int32_t));
        const husk_status status = launch_pack(plan, queue, own, given->weights, &panels, scope);
        if (status != HUSK_OK)
            return status;
    }
    husk__arg list[24 + HUSK__PRODUCTS_FINISH_ARGS], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->input);
    *end++ = HUSK__ARG_I64(own->a[LAST]);
    *end++ = HUSK__ARG_I64(own->strides[2]);
    *end++ = HUSK__ARG_I64(own->a_group);
    *end++ = panels;
    *end++ = HUSK__ARG_I64(own->b_groups == 1 ? 0 : matrix_words(own));
    *end++ = HUSK__ARG_TENSOR(given->output);
    *end++ = HUSK__ARG_I64(own->c[LAST]);
    *end++ = HUSK__ARG_I64(own->c_column);
    *end++ = HUSK__ARG_I64(own->c_group);
    // Where no sums wait the argument is any buffer.
    *end++ = d->group_sums > 0 ? HUSK__ARG_BUFFER(scratch->buffer, 0, sizeof(int32_t)) : panels;
    *end++ = HUSK__ARG_I64(d->group_sums);
    *end++ = HUSK__ARG_I32(own->m);
    *end++ = HUSK__ARG_I32(own->n);
    *end++ = HUSK__ARG_I32(own->k);
    *end++ = HUSK__ARG_I32(d->rows);
    *end++ = HUSK__ARG_I32(d->columns);
    *end++ = HUSK__ARG_I32(d->strip_columns);
    *end++ = HUSK__ARG_I32(d->block_tiles);
    end = husk__quantized_gemm_write_finish(own, given, end);
    const husk__range range = {{(size_t)d->column_parts, (size_t)d->row_parts, (size_t)own->groups}, {1, 1, 1}};
    return husk__launch(queue, state->multiply, &range, list, (size_t)(end - list), scope);
}

// ---- packed weights ----

uint64_t husk__quantized_gemm_cpu_matrix_bytes(const husk__products *own)
{
    return (uint64_t)matrix_words(own) * sizeof(int32_t);
}

husk_status husk__quantized_gemm_cpu_matrix_pack(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                                 const husk_tensor *b, const husk__arg *to, const husk__scope *scope)
{
    return launch_pack(plan, queue, own, b, to, scope);
}

const husk__variant husk__quantized_gemm_cpu_matrix = {
    .name = "cpu_matrix",
    .family = HUSK__FAMILY_CPU,
    .configurations = menu,
    .configuration_count = sizeof menu / sizeof *menu,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__quantized_gemm_flops,
    .prepare = prepare,
    .run = run,
};
