// SPDX-License-Identifier: MIT
// Variant skinny: at most 16 rows or columns, so that the large operand is read once and nothing is packed.
// For CPU devices; the kernels are described in cl/gemm/skinny.cl. Packed weights are panels, and are multiplied
// by variant packed's kernel, which reads them faster than anything reads plain ones.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "machine/predict.h"
#include "ops/gemm/problem.h"

enum { MAX_COUNT = 16, DOT = 0, AXPY = 1 };

static const husk__configuration configurations[] = {{"vectors", "", {0}}};

typedef struct skinny_state {
    const husk__kernel *kernel;
    bool is_exchanged; /* C^T = B^T A^T is computed */
    int kind;          /* DOT or AXPY */
} skinny_state;

// The orientation in which n is small and A's memory can be read in vectors; false where there is none.
static bool orient(const husk__gemm_problem *problem, husk__gemm_shape *shape, skinny_state *state)
{
    for (int exchanged = 0; exchanged < 2; ++exchanged) {
        const husk__gemm_shape s = exchanged ? husk__gemm_transposed(&problem->shape) : problem->shape;
        if (s.n > MAX_COUNT || (s.a_step != 1 && s.a_row != 1) || (exchanged == 0 && s.m < s.n))
            continue;
        *shape = s;
        state->is_exchanged = exchanged;
        state->kind = s.a_step == 1 ? DOT : AXPY;
        return true;
    }
    return false;
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__gemm_problem *problem = candidate->problem;
    husk__gemm_shape shape;
    skinny_state state;
    if (!problem->b_is_packed && !orient(problem, &shape, &state)) {
        snprintf(reason, HUSK__REASON_CAPACITY, "neither m nor n is at most %d with a contiguous large operand",
                 MAX_COUNT);
        return false;
    }
    if (problem->dtype == HUSK_F64) {
        snprintf(reason, HUSK__REASON_CAPACITY, "sums are f32");
        return false;
    }
    if (!problem->b_is_packed && (problem->wide & (HUSK__GEMM_WIDE_A | HUSK__GEMM_WIDE_B))) {
        snprintf(reason, HUSK__REASON_CAPACITY, "a and b are of two dtypes");
        return false;
    }
    return husk__gemm_fits_int(&problem->shape, reason);
}

// Two groups a core, or one where rows lie side by side and long runs are read faster; fewer where there is little to
// do: products that a core computes before another has woken, and while two groups a core would be dealt.
static const double FEW_PRODUCTS = 2.0e5, MANY_PRODUCTS = 2.0e6;

static int64_t group_count(const husk__gemm_shape *shape, const husk_device_traits *traits, int kind)
{
    const double work = (double)shape->batch * (double)shape->m * (double)shape->k * (double)shape->n;
    return work < FEW_PRODUCTS    ? 1
           : work < MANY_PRODUCTS ? traits->compute_units
                                  : (kind == AXPY ? 1 : 2) * (int64_t)traits->compute_units;
}

// Cycles, as measured on AVX-512 and with vectors of 8, which agree. DOT: a row of one vector, and a vector of its
// steps; a step of 4 rows by 4 vectors, and an output, which is added up across lanes. AXPY: a vector of products, a
// vector of W that is read for them, an output.
static const double LINE_CYCLES = 30.0, LINE_STEP_CYCLES = 2.0, TILE_STEP_CYCLES = 17.5, SUM_CYCLES = 5.3;
static const double PRODUCT_CYCLES = 0.93, READ_CYCLES = 2.0, OUTPUT_CYCLES = 3.7;
enum { TILE = 4 }; // rows and vectors of DOT's tile

// Of the whole, on one core. Vectors that rows or steps do not fill are as dear as whole ones.
static double cycles_of(const husk__gemm_shape *shape, int kind, double width)
{
    const double m = (double)shape->m, n = (double)shape->n, k = (double)shape->k, batch = (double)shape->batch;
    if (kind == AXPY)
        return batch *
               (ceil(m / width) * k * (n * PRODUCT_CYCLES + READ_CYCLES) + ceil(m / width) * width * n * OUTPUT_CYCLES);
    if (shape->n == 1)
        return batch * m * (LINE_CYCLES + ceil(k / width) * LINE_STEP_CYCLES);
    return batch * (ceil(m / TILE) * ceil(n / TILE) * ceil(k / width) * TILE_STEP_CYCLES + m * n * SUM_CYCLES);
}

// Reading the large operand, or multiplying it.
static double cost(const husk__candidate *candidate)
{
    const husk__gemm_problem *problem = candidate->problem;
    const husk_machine *machine = candidate->machine;
    const husk_machine_rates *rates = &machine->rates;
    husk__gemm_shape shape;
    skinny_state state;
    if (problem->b_is_packed)
        return husk__gemm_panels_cost(candidate);
    if (!orient(problem, &shape, &state))
        return 0.0;
    const double bytes =
        (double)husk_dtype_size(problem->dtype) * (double)shape.batch * (double)shape.m * (double)shape.k;
    const double multiply = husk__cycles_ns(rates, cycles_of(&shape, state.kind, machine->vector_width));
    const int64_t groups = shape.batch * husk__max_i64(1, group_count(&shape, candidate->traits, state.kind) /
                                                              husk__max_i64(1, shape.batch));
    const double work = fmax(bytes / husk__read_rate(machine, rates, bytes), multiply);
    return groups == 0 ? 0.0 : husk__launch_time(machine, rates, work / (double)groups, groups);
}

// Rows for a work-group, whole vectors.
static int64_t rows_of_group(const husk__gemm_shape *shape, const husk_device_traits *traits, int kind)
{
    const int64_t groups = husk__max_i64(1, group_count(shape, traits, kind) / shape->batch);
    return husk__round_up(husk__divide_up(shape->m, groups), traits->vector_width);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    static const char *const names[] = {"husk_gemm_skinny_dot", "husk_gemm_skinny_axpy"};
    skinny_state *state = calloc(1, sizeof *state);
    husk__gemm_shape shape;
    char options[64];
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    if (((const husk__gemm_problem *)plan->problem)->b_is_packed)
        return HUSK_OK; // built with the packing
    if (!orient(plan->problem, &shape, state))
        return husk__fail(scope, HUSK_UNSUPPORTED, "variant skinny does not compute this");
    husk__gemm_options(plan->problem, "", options, sizeof options);
    return husk__kernel_get(plan->context, "gemm/skinny.cl", options, names[state->kind], &state->kernel, scope);
}

static husk_status run(const husk_plan *plan, husk_queue *queue, const void *arguments, const husk__scratch *scratch,
                       const husk__scope *scope)
{
    const husk__gemm_problem *problem = plan->problem;
    const skinny_state *state = plan->state;
    const husk__gemm_run *given = arguments;
    if (given->b->packed)
        return husk__gemm_panels_run(plan, queue, given, scratch, scope);
    const husk__gemm_shape shape = state->is_exchanged ? husk__gemm_transposed(&problem->shape) : problem->shape;
    const int64_t group_rows = rows_of_group(&shape, husk_context_traits(plan->context), state->kind);
    const husk__range range = {{(size_t)husk__divide_up(shape.m, group_rows), (size_t)shape.batch, 1}, {1, 1, 1}};
    const husk_tensor *large = state->is_exchanged ? given->b : given->a;
    const husk_tensor *small = state->is_exchanged ? given->a : given->b;
    const int64_t bias_row = shape.bias == HUSK__GEMM_BIAS_ROW ? shape.bias_stride : 0;
    const int64_t bias_vector = shape.bias == HUSK__GEMM_BIAS_COLUMN ? shape.bias_stride : 0;
    return HUSK__LAUNCH(queue, state->kernel, &range, scope, HUSK__ARG_TENSOR(large), HUSK__ARG_I64(shape.a_row),
                        HUSK__ARG_I64(shape.a_step), HUSK__ARG_I64(shape.a_batch), HUSK__ARG_TENSOR(small),
                        HUSK__ARG_I64(shape.b_step), HUSK__ARG_I64(shape.b_column), HUSK__ARG_I64(shape.b_batch),
                        HUSK__ARG_TENSOR(given->bias), HUSK__ARG_I64(bias_row), HUSK__ARG_I64(bias_vector),
                        HUSK__ARG_I32(problem->has_bias), HUSK__ARG_TENSOR(given->c), HUSK__ARG_I64(shape.c_row),
                        HUSK__ARG_I64(shape.c_column), HUSK__ARG_I64(shape.c_batch), HUSK__ARG_I32(problem->wide),
                        HUSK__ARG_I32(shape.m), HUSK__ARG_I32(shape.n), HUSK__ARG_I32(shape.k),
                        HUSK__ARG_I32(group_rows), HUSK__ARG_F32(given->alpha), HUSK__ARG_F32(given->beta),
                        HUSK__GEMM_ACTIVATION_ARGUMENTS(problem));
}

const husk__variant husk__gemm_skinny = {
    .name = "skinny",
    .family = HUSK__FAMILY_CPU,
    .configurations = configurations,
    .configuration_count = 1,
    .supports = supports,
    .cost = cost,
    .workspace = husk__gemm_panels_workspace,
    .flops = husk__gemm_flops,
    .prepare = prepare,
    .run = run,
};
