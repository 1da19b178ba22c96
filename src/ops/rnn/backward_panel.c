// SPDX-License-Identifier: MIT
// Variant panel: explicit vectors on CPU devices. cl/rnn/backward_panel.cl describes the kernel.
#include <stdio.h>
#include <stdlib.h>

#include "base/checked.h"
#include "machine/predict.h"
#include "ops/rnn/backward_problem.h"

enum { TILE_ROWS, BLOCK_K, STRIP_VECTORS = 2 };

static const husk__configuration configurations[] = {
    {"8x2", "-DTILE_ROWS=8 -DBLOCK_K=512", {8, 512}}, // 16 sums: 32 vector registers (AVX-512, NEON)
    {"6x2", "-DTILE_ROWS=6 -DBLOCK_K=512", {6, 512}}, // 12 sums: 16 vector registers (AVX2, SSE)
};

static int64_t panel_units(const husk__rnn_backward_problem *problem, const husk_device_traits *traits)
{
    return STRIP_VECTORS * husk__rnn_vector_width(&problem->forward, traits);
}

static bool supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const husk__rnn_backward_problem *problem = candidate->problem;
    return husk__rnn_fits_int(&problem->forward, reason);
}

// The tile that fits the registers: 1 for it, 2 for the other.
static double cost(const husk__candidate *candidate)
{
    const bool has_many = candidate->machine->registers > HUSK__FEW_REGISTERS;
    return (candidate->configuration == &configurations[0]) == has_many ? 1.0 : 2.0;
}

static uint64_t workspace(const husk__candidate *candidate)
{
    husk__rnn_backward_layout layout;
    const int64_t units = panel_units(candidate->problem, candidate->traits);
    husk__rnn_backward_lay_out(candidate->problem, units, &layout);
    return layout.total;
}

// Chunks are done one after the other, and each is divided alike.
static void divide(const husk__rnn_backward_problem *problem, const husk_device_traits *traits,
                   husk__rnn_backward_state *state)
{
    const husk__rnn_problem launched = husk__rnn_backward_launched(problem, &state->layout);
    husk__rnn_divide(&launched, state->layout.pitch / state->layout.panel_units, traits->compute_units, &state->grid);
}

static husk_status prepare(husk_plan *plan, const husk__scope *scope)
{
    const husk__rnn_backward_problem *problem = plan->problem;
    const husk_device_traits *traits = husk_context_traits(plan->context);
    husk__rnn_backward_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    husk__rnn_backward_lay_out(problem, panel_units(problem, traits), &state->layout);
    state->is_far = husk__rnn_is_far(&problem->forward, traits);
    if (problem->forward.batch > 0)
        divide(problem, traits, state);
    char options[96];
    snprintf(options, sizeof options, "%s %s", husk__rnn_dtype_options(&problem->forward),
             plan->configuration->options);
    static const char file[] = "rnn/backward_panel.cl";
    husk_status status = husk__kernel_get(plan->context, file, options, "husk_rnn_backward_panel", &state->step, scope);
    if (status == HUSK_OK)
        status = husk__kernel_get(plan->context, file, options, "husk_rnn_backward_pack", &state->pack, scope);
    return status == HUSK_OK ? husk__rnn_backward_prepare(plan, state, scope) : status;
}

const husk__variant husk__rnn_backward_panel = {
    .name = "panel",
    .family = HUSK__FAMILY_CPU,
    .configurations = configurations,
    .configuration_count = sizeof configurations / sizeof *configurations,
    .supports = supports,
    .cost = cost,
    .workspace = workspace,
    .flops = husk__rnn_backward_flops,
    .prepare = prepare,
    .unprepare = husk__rnn_backward_unprepare,
    .run = husk__rnn_backward_run_layers,
};
