// SPDX-License-Identifier: MIT
// Variants tiled and matrix: attention for GPUs whose two products are multiplied by plain arithmetic or by a matrix
// engine. The kernel is described in cl/attention/tiled.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/attention/problem.h"
#include "ops/attention/totals.h"
#include "select/engine.h"

typedef husk__attention_problem problem;
typedef husk__attention_arguments arguments;

enum { BATCH = HUSK__ATTENTION_BATCH, HEADS, LENGTH, COLUMNS };

// What the numbers of a configuration mean: queries and keys of a tile, the columns of y that a work-group computes,
// and how well it uses a busy device, in percent.
enum { BLOCK, WIDTH, EFFICIENCY };

#define TILED(side, width, efficiency) \
    { \
        #side "x" #width, \
            "-DBLOCK_M=" #side " -DBLOCK_N=" #side " -DBLOCK_K=16 -DITEM_M=4 -DITEM_N=4 -DCOLUMNS=" #width, \
        { \
            side, width, efficiency \
        } \
    }
static const husk__configuration tiled_menu[] = {
    TILED(64, 64, 50),
    TILED(64, 128, 50),
    // 64 work-items and 14 KiB of local memory.
    TILED(32, 64, 35),
    TILED(32, 128, 35),
};

// Of an engine, whose file knows its items and whose product knows how many steps lie in local memory.
#define MATRIX(side, width, efficiency) \
    {#side "x" #width, "-DHOLDS_QUERIES -DCOLUMNS=" #width, {side, width, efficiency}}
static const husk__configuration matrix_menu[] = {
    MATRIX(64, 64, 60),
    MATRIX(64, 128, 60),
    MATRIX(32, 64, 30),
    MATRIX(32, 128, 30),
};

// BLOCK_K of tiled; TILE_PAD of lib/fragment_simt.clh.
enum { STEPS = 16, TILE_PAD = 4 };

typedef struct state {
    const husk__kernel *kernel;
    husk__range range;
    husk__attention_totals totals;
} state;

static bool fits(const husk__candidate *candidate, int64_t items, uint64_t local, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    if ((uint64_t)items <= candidate->traits->work_group && local <= candidate->traits->local_memory)
        return husk__attention_can_launch(&own->q, v[BLOCK], husk__divide_up(own->v.shape[COLUMNS], v[WIDTH]), items,
                                          reason);
    snprintf(reason, HUSK__REASON_CAPACITY, "needs %lld work-items a group and %llu bytes of local memory",
             (long long)items, (unsigned long long)local);
    return false;
}

static bool supports_tiled(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const uint64_t side = (uint64_t)candidate->configuration->values[BLOCK];
    if (own->q.dtype == HUSK_F64) {
        snprintf(reason, HUSK__REASON_CAPACITY, "leaves f64 to workgroup, whose tiles take half as many registers");
        return false;
    }
    // Two tiles of queries and two of keys, the weights, two numbers of each row and one more.
    const uint64_t line = (side + TILE_PAD) * sizeof(float), tiles = (4 * STEPS + side) * line;
    return fits(candidate, (int64_t)(side * side / 16), tiles + (2 * side + 1) * sizeof(float), reason);
}

// Whether an engine may be there: prepare() sees whether it is.
static bool supports_matrix(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, candidate->traits, own->q.dtype, own->precision);
    if (!engine) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no matrix engine for this dtype and precision on this device");
        return false;
    }
    if (own->q.shape[COLUMNS] > v[WIDTH]) {
        snprintf(reason, HUSK__REASON_CAPACITY, "holds queries of at most %d columns", (int)v[WIDTH]);
        return false;
    }
    // The queries, two tiles of keys, what the mask adds, which is at least as much as the weights take, and the rest.
    const uint64_t side = (uint64_t)v[BLOCK], steps = own->q.dtype == HUSK_F32 ? 16 : 32;
    const uint64_t tile = HUSK__ENGINE_LINE / 2 * side;
    const uint64_t local = ((uint64_t)v[WIDTH] / steps + 2) * tile + ((side + 2) * side + 1) * sizeof(float);
    return fits(candidate, husk__engine_items(engine, v[BLOCK]), local, reason);
}

static husk__range range_of(const problem *own, const husk__configuration *configuration, int64_t items)
{
    const int32_t *v = configuration->values;
    const int64_t heads = own->q.shape[BATCH] * own->q.shape[HEADS];
    return (husk__range){{(size_t)(husk__divide_up(own->q.shape[LENGTH], v[BLOCK]) * heads),
                          (size_t)husk__divide_up(husk__max_i64(own->v.shape[COLUMNS], 1), v[WIDTH]), 1},
                         {(size_t)items, 1, 1}};
}

static husk__attention_totals totals_of(const problem *own, const husk__configuration *configuration,
                                        const husk_device_traits *traits, const husk__range *range)
{
    return husk__attention_totals_of(traits, range,
                                     husk__divide_up(own->k.shape[LENGTH], configuration->values[BLOCK]));
}

// An item's outputs, and two numbers of each of its rows, which at most as many items share as a tile has keys.
static uint64_t workspace(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const husk__range range = range_of(own, candidate->configuration, 1);
    const husk__attention_totals totals = totals_of(own, candidate->configuration, candidate->traits, &range);
    return husk__attention_totals_bytes(&totals, &range, (int64_t)v[BLOCK] * (v[WIDTH] + 2 * v[BLOCK]), own->q.dtype);
}

static const double PERCENT = 0.01; // in which a configuration's EFFICIENCY counts

static double cost_tiled(const husk__candidate *candidate)
{
    const int32_t *v = candidate->configuration->values;
    return husk__attention_cost_groups(candidate, v[BLOCK], v[WIDTH], PERCENT * v[EFFICIENCY]);
}

// How much faster than plain arithmetic an engine is taken to be, very roughly, where it multiplies once, and where f32
// is multiplied in parts: it wins where it is there.
static const double ONE_PRODUCT = 6.0, IN_PARTS = 2.0;

static double cost_matrix(const husk__candidate *candidate)
{
    const problem *own = candidate->problem;
    const int32_t *v = candidate->configuration->values;
    const bool has_one_product = own->q.dtype != HUSK_F32 || own->precision == HUSK_PRECISION_MEDIUM;
    return husk__attention_cost_groups(candidate, v[BLOCK], v[WIDTH],
                                       PERCENT * v[EFFICIENCY] * (has_one_product ? ONE_PRODUCT : IN_PARTS));
}

// Weights lose this much on their way to an engine, in units of 2^-24; of f32 its product says what they lose.
static double rounding_of(husk_dtype dtype)
{
    return dtype == HUSK_F16 ? 0x1p13 : dtype == HUSK_BF16 ? 0x1p16 : 0.0;
}

static husk_status prepare(husk_plan *plan, bool is_matrix, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int32_t *v = plan->configuration->values;
    const int64_t terms = husk__max_i64(own->q.shape[COLUMNS], own->k.shape[LENGTH]);
    const int64_t last = husk__max_i64(husk__max_i64(husk__tensor_last(&own->q), husk__tensor_last(&own->k)),
                                       husk__tensor_last(&own->v));
    husk__text options = {0};
    int64_t items = (int64_t)v[BLOCK] * v[BLOCK] / 16;
    husk_status status = HUSK_OK;
    state *made = calloc(1, sizeof *made);
    if (!made)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = made; // freed with the plan
    husk__text_format(&options, "%s ", husk__dtype_option(own->q.dtype));
    if (is_matrix) {
        status = husk__engine_configure(plan, own->q.dtype, own->precision, v[BLOCK], terms, &options, &items, scope);
        plan->error_factor += rounding_of(own->q.dtype);
        husk__text_format(&options, " ");
    }
    husk__text_format(&options, "%s%s", plan->configuration->options,
                      husk__needs_index_64(plan->context, last) ? " -DINDEX_64" : "");
    if (status == HUSK_OK && options.failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    made->range = range_of(own, plan->configuration, items);
    made->totals = totals_of(own, plan->configuration, husk_context_traits(plan->context), &made->range);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, "attention/tiled.cl", options.bytes, "husk_attention_tiled",
                                  &made->kernel, scope);
    husk__text_free(&options);
    return status;
}

static husk_status prepare_tiled(husk_plan *plan, const husk__scope *scope)
{
    return prepare(plan, false, scope);
}

static husk_status prepare_matrix(husk_plan *plan, const husk__scope *scope)
{
    return prepare(plan, true, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const state *made = plan->state;
    const arguments *given = untyped;
    const problem *own = plan->problem;
    husk__arg list[HUSK__ATTENTION_OUTPUT_ARGS + HUSK__ATTENTION_ARGS + HUSK__ATTENTION_TOTALS_ARGS];
    husk__arg *end = husk__attention_write_outputs(own, given, list);
    end = husk__attention_write_args(own, &given->inputs, end);
    return husk__attention_totals_launch(&made->totals, queue, made->kernel, &made->range, list, end, scratch,
                                         own->q.dtype, scope);
}

const husk__variant husk__attention_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = tiled_menu,
    .configuration_count = sizeof tiled_menu / sizeof *tiled_menu,
    .supports = supports_tiled,
    .cost = cost_tiled,
    .workspace = workspace,
    .prepare = prepare_tiled,
    .run = run,
};

const husk__variant husk__attention_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = matrix_menu,
    .configuration_count = sizeof matrix_menu / sizeof *matrix_menu,
    .supports = supports_matrix,
    .cost = cost_matrix,
    .workspace = workspace,
    .prepare = prepare_matrix,
    .run = run,
};
