// SPDX-License-Identifier: MIT
// Variant matrix: bytes by a matrix engine of GPUs. The kernel: cl/quantized/gemm_matrix.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/quantized/gemm_problem.h"
#include "select/engine.h"

typedef husk__quantized_gemm_problem problem;
typedef husk__quantized_run arguments;

// What the numbers of a configuration mean: the side of a tile, and how well it uses a busy device, in percent.
enum { TILE, EFFICIENCY };

#define MATRIX(side, efficiency) {#side "x" #side, "", {side, efficiency}}
static const husk__configuration menu[] = {MATRIX(128, 100), MATRIX(64, 60), MATRIX(32, 30)};

static const double PERCENT = 100.0; // what EFFICIENCY is counted in
static const double FASTER = 8.0;    // than the variant tiled, at full efficiency, very roughly

typedef struct matrix_state {
    const husk__kernel *kernel;
    int64_t items;
} matrix_state;

// Whether an engine may be there: prepare() sees whether it is.
static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    const int32_t tile = candidate->configuration->values[TILE];
    if (own->tensors.is_packed) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it takes B as it is");
        return false;
    }
    const husk__engine *engine =
        husk__engine_claimed(HUSK__ENGINE_FRAGMENTS, candidate->traits, own->products.a_dtype, HUSK_PRECISION_HIGHEST);
    if (!engine) {
        snprintf(reason, HUSK__REASON_CAPACITY, "no matrix engine for %s on this device",
                 husk_dtype_name(own->products.a_dtype));
        return false;
    }
    const uint64_t items = (uint64_t)husk__engine_items(engine, tile);
    const uint64_t local = HUSK__ENGINE_LINE * 2 * (uint64_t)tile + items * sizeof(int32_t);
    if (items > candidate->traits->work_group || local > candidate->traits->local_memory) {
        snprintf(reason, HUSK__REASON_CAPACITY, "needs %d work-items a group and %d bytes of local memory", (int)items,
                 (int)local);
        return false;
    }
    return husk__products_supports(&own->products, reason);
}

// By how much faster than tiled an engine is: it wins where it is there.
static double cost(const husk__candidate *candidate)
{
    const int32_t *v = candidate->configuration->values;
    return husk__quantized_gemm_tiles_cost(candidate, v[TILE]) * (PERCENT / v[EFFICIENCY]) / FASTER;
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__products *p = &own->products;
    const bool is_narrow = p->c_dtype == HUSK_F16 || p->c_dtype == HUSK_BF16;
    husk__text options = {0};
    matrix_state *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    husk__text_format(&options, "%s %s", husk__dtype_option(is_narrow ? p->c_dtype : HUSK_F32),
                      p->activation_is_smooth ? "-DACT_SMOOTH " : "");
    const int32_t tile = plan->configuration->values[TILE];
    husk_status status =
        husk__engine_configure(plan, p->a_dtype, HUSK_PRECISION_HIGHEST, tile, p->k, &options, &state->items, scope);
    // Tiles reach up to a tile beyond the matrix before they are cut off.
    if (husk__needs_index_64(plan->context, husk__max_i64(husk__tensor_last(&own->tensors.input),
                                                          husk__tensor_last(&own->tensors.weights))))
        husk__text_format(&options, " -DINDEX_64");
    if (status == HUSK_OK && options.failed)
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, "quantized/gemm_matrix.cl", options.bytes,
                                  "husk_quantized_gemm_matrix", &state->kernel, scope);
    husk__text_free(&options);
    return status;
}

// Whether all whole fours along the contiguous dimension are aligned if the first one is.
static bool is_aligned(int64_t step, int64_t line, int64_t group)
{
    return (step == 1 || line == 1) && (step == 1 ? line : step) % 4 == 0 && group % 4 == 0;
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const matrix_state *state = plan->state;
    const husk__products *own = &((const problem *)plan->problem)->products;
    const arguments *given = untyped;
    const int64_t tile = plan->configuration->values[TILE];
    husk__arg list[24 + HUSK__PRODUCTS_FINISH_ARGS], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->input);
    *end++ = HUSK__ARG_I64(own->a[3]);
    *end++ = HUSK__ARG_I64(own->strides[2]);
    *end++ = HUSK__ARG_I64(own->a_group);
    *end++ = HUSK__ARG_I32(is_aligned(own->strides[2], own->a[3], own->a_group));
    *end++ = HUSK__ARG_TENSOR(given->weights);
    *end++ = HUSK__ARG_I64(own->b_strides[3]);
    *end++ = HUSK__ARG_I64(own->b_column);
    *end++ = HUSK__ARG_I64(own->b_group);
    *end++ = HUSK__ARG_I32(is_aligned(own->b_strides[3], own->b_column, own->b_group));
    *end++ = HUSK__ARG_TENSOR(given->output);
    *end++ = HUSK__ARG_I64(own->c[3]);
    *end++ = HUSK__ARG_I64(own->c_column);
    *end++ = HUSK__ARG_I64(own->c_group);
    *end++ = HUSK__ARG_I32(own->m);
    *end++ = HUSK__ARG_I32(own->n);
    *end++ = HUSK__ARG_I32(own->k);
    end = husk__quantized_gemm_write_finish(own, given, end);
    const int64_t tiles = husk__divide_up(own->n, tile) * husk__divide_up(own->m, tile) * own->groups;
    const husk__range range = {{(size_t)tiles, 1, 1}, {(size_t)state->items, 1, 1}};
    return husk__launch(queue, state->kernel, &range, list, (size_t)(end - list), scope);
}

const husk__variant husk__quantized_gemm_matrix = {
    .name = "matrix",
    .family = HUSK__FAMILY_GPU,
    .configurations = menu,
    .configuration_count = sizeof menu / sizeof *menu,
    .supports = supports,
    .cost = cost,
    .flops = husk__quantized_gemm_flops,
    .prepare = prepare,
    .run = run,
};
