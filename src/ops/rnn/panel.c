// SPDX-License-Identifier: MIT
// Variant panel: explicit vectors on CPU devices. cl/rnn/panel.cl describes the kernel.
#include <stdio.h>

#include "base/checked.h"
#include "machine/predict.h"
#include "ops/rnn/problem.h"

// What the numbers of a configuration mean: rows of a register tile of two vectors and, for a GRU with its reset
// after the product, of three.
enum { ROWS_OF_TWO, ROWS_OF_THREE, BLOCK_K };

// Fewer weights are packed in less time than gemm's launch takes.
enum { FEW_WEIGHTS = 16384 };

static const husk__configuration configurations[] = {
    {"8x2", "", {8, 7, 512}}, // 16 or 21 sums: 32 vector registers (AVX-512, NEON)
    {"6x2", "", {6, 4, 512}}, // 12 sums: 16 vector registers (AVX2, SSE)
};

static int64_t unit_vectors(const husk__rnn_problem *problem)
{
    if (problem->gates == 1)
        return 4;
    return husk__rnn_has_two_passes(problem) ? 2 : 1;
}

static int64_t strip_vectors(const husk__rnn_problem *problem)
{
    return problem->gates == 3 && !husk__rnn_has_two_passes(problem) ? 3 : 2;
}

static int64_t panel_units(const husk__rnn_problem *problem, const husk_device_traits *traits)
{
    return unit_vectors(problem) * husk__rnn_vector_width(problem, traits);
}

// For few rows of inputs it takes longer to pack the weights than to read them where they lie, by a launch of gemm's;
// unless the weights are few as well, so that the launch takes longer.
static bool takes_few(const husk__rnn_problem *problem)
{
    const int64_t above = problem->layers > 1 ? problem->directions * problem->hidden : 0;
    const int64_t inputs = husk__max_i64(problem->inputs, above);
    return husk__rnn_takes_few(problem) && problem->gates * problem->hidden * inputs > FEW_WEIGHTS;
}

// ---- the row ----

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    return husk__rnn_fits_int(candidate->problem, reason);
}

// The tile that fits the registers: 1 for it, 2 for the other.
static double cost(const husk__candidate *candidate)
{
    const bool has_many = candidate->machine->registers > HUSK__FEW_REGISTERS;
    return (candidate->configuration == &configurations[0]) == has_many ? 1.0 : 2.0;
}

static husk__rnn_layout lay_out(const husk__candidate *candidate)
{
    husk__rnn_layout layout;
    husk__rnn_lay_out(candidate->problem, panel_units(candidate->problem, candidate->traits), true, &layout);
    return layout;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    return lay_out(candidate).total;
}

static double flops(const husk__candidate *candidate)
{
    const husk__rnn_layout layout = lay_out(candidate);
    return husk__rnn_flops(candidate->problem, &layout);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(plan->context);
    const int32_t *values = plan->configuration->values;
    husk_status status = husk__rnn_state_create(plan, panel_units(plan->problem, traits), true, scope);
    if (status != HUSK_OK)
        return status;
    husk__rnn_state *state = plan->state;
    const husk__rnn_problem *problem = &state->problem;
    state->takes_few = takes_few(problem);
    state->is_far = husk__rnn_is_far(problem, traits);
    if (problem->batch > 0)
        husk__rnn_divide(problem, state->layout.pitch / state->layout.panel_units, traits->compute_units, &state->grid);
    if (problem->batch > 0 && problem->steps > 0)
        husk__rnn_divide_inputs(problem, &state->layout, traits->compute_units, &state->grid);
    state->unit_vectors = (int32_t)unit_vectors(problem);
    state->strip_vectors = (int32_t)strip_vectors(problem);
    const bool is_three = state->strip_vectors == 3;
    const int cell = problem->gates == 1 ? 0 : problem->gates == 4 ? 1 : is_three ? 2 : 3;
    char options[160];
    snprintf(options, sizeof options, "%s -DCELL=%d -DUNIT_VECTORS=%d -DTILE_ROWS=%d -DBLOCK_K=%d",
             husk__rnn_dtype_options(problem), cell, (int)state->unit_vectors,
             values[is_three ? ROWS_OF_THREE : ROWS_OF_TWO], values[BLOCK_K]);
    status = husk__kernel_get(plan->context, "rnn/panel.cl", options, "husk_rnn_panel", &state->step, scope);
    return status == HUSK_OK ? husk__rnn_prepare(plan, state, scope) : status;
}

const husk__variant husk__rnn_panel = {
    .name = "panel",
    .family = HUSK__FAMILY_CPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = flops,
    .prepare = prepare,
    .unprepare = husk__rnn_unprepare,
    .run = husk__rnn_run_sequences,
};
