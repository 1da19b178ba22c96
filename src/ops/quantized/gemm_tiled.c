// SPDX-License-Identifier: MIT
// Variant tiled: for GPUs. The kernel and what it costs: cl/quantized/gemm_tiled.cl.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/tensor.h"
#include "ops/quantized/gemm_problem.h"

typedef husk__quantized_gemm_problem problem;
typedef husk__quantized_run arguments;

enum { TILE = 64, ITEMS = 64, LOCAL_BYTES = 8192 };

typedef struct tiled_state {
    const husk__kernel *kernel;
} tiled_state;

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const problem *own = candidate->problem;
    if (own->tensors.is_packed) {
        snprintf(reason, HUSK__REASON_CAPACITY, "it takes B as it is");
        return false;
    }
    if (!husk__products_supports(&own->products, reason))
        return false;
    snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d and %d bytes of local memory", ITEMS, LOCAL_BYTES);
    return candidate->traits->work_group >= ITEMS && candidate->traits->local_memory >= LOCAL_BYTES;
}

static double cost(const husk__candidate *candidate)
{
    return husk__quantized_gemm_tiles_cost(candidate, TILE);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__products *own = &((const problem *)plan->problem)->products;
    tiled_state *state = calloc(1, sizeof *state);
    plan->state = state; // freed with the plan
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    const bool is_narrow = own->c_dtype == HUSK_F16 || own->c_dtype == HUSK_BF16;
    char options[128];
    snprintf(options, sizeof options, "%s %s%s", husk__dtype_option(is_narrow ? own->c_dtype : HUSK_F32),
             own->activation_is_smooth ? "-DACT_SMOOTH " : "", plan->configuration->options);
    return husk__kernel_get(plan->context, "quantized/gemm_tiled.cl", options, "husk_quantized_gemm_tiled",
                            &state->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *untyped, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const tiled_state *state = plan->state;
    const husk__products *own = &((const problem *)plan->problem)->products;
    const arguments *given = untyped;
    husk__arg list[20 + HUSK__PRODUCTS_FINISH_ARGS], *end = list;
    (void)scratch;
    *end++ = HUSK__ARG_TENSOR(given->input);
    *end++ = HUSK__ARG_I64(own->a[3]);
    *end++ = HUSK__ARG_I64(own->strides[2]);
    *end++ = HUSK__ARG_I64(own->a_group);
    *end++ = HUSK__ARG_I32(own->a_dtype == HUSK_I8 ? 128 : 0);
    *end++ = HUSK__ARG_TENSOR(given->weights);
    *end++ = HUSK__ARG_I64(own->b_strides[3]);
    *end++ = HUSK__ARG_I64(own->b_column);
    *end++ = HUSK__ARG_I64(own->b_group);
    *end++ = HUSK__ARG_TENSOR(given->output);
    *end++ = HUSK__ARG_I64(own->c[3]);
    *end++ = HUSK__ARG_I64(own->c_column);
    *end++ = HUSK__ARG_I64(own->c_group);
    *end++ = HUSK__ARG_I32(own->m);
    *end++ = HUSK__ARG_I32(own->n);
    *end++ = HUSK__ARG_I32(own->k);
    end = husk__products_write_finish(own, given->scale, given->bias, &given->input_quantization,
                                      &given->output_quantization, end);
    const int64_t tiles = husk__divide_up(own->n, TILE) * husk__divide_up(own->m, TILE) * own->groups;
    const husk__range range = {{(size_t)tiles, 1, 1}, {ITEMS, 1, 1}};
    return husk__launch(queue, state->kernel, &range, list, (size_t)(end - list), scope);
}

static const husk__configuration menu[] = {{.name = "64x64", .options = "-DWG=64"}};

const husk__variant husk__quantized_gemm_tiled = {
    .name = "tiled",
    .family = HUSK__FAMILY_GPU,
    .configurations = menu,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost,
    .flops = husk__quantized_gemm_flops,
    .prepare = prepare,
    .run = run,
};
