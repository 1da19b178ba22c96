// SPDX-License-Identifier: MIT
// How a run of recurrent layers' gradients goes through layers and time. For each layer, the top one first, and each
// chunk of time steps that scratch memory has room for, the last steps first: the steps leave the gates' gradients of
// the chunk (backward_steps.c); gemm's gradients, one for each direction and side, make of them those of the
// layer's inputs, weights and biases (backward_products.c).
//
// With all steps in one chunk both directions are done at once. Else one follows the other, which halves what a step
// takes, and adds to the inputs' gradients in the same order.
#include <stdlib.h>

#include "ops/rnn/backward_problem.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_state state;
typedef husk__rnn_backward_run arguments;
typedef husk__rnn_backward_span span;

double husk__rnn_backward_flops(const husk__candidate *candidate)
{
    const husk__rnn_problem *forward = &((const problem *)candidate->problem)->forward;
    const husk__rnn_layout whole = {.sequences = forward->batch, .chunk = forward->steps}; // nothing is done twice
    return 2.0 * husk__rnn_flops(forward, &whole);
}

husk_status husk__rnn_backward_prepare(husk_plan *plan, state *made, const husk__scope *scope)
{
    return husk__rnn_backward_plan_products(plan, made, scope);
}

void husk__rnn_backward_unprepare(husk_plan *plan)
{
    state *made = plan->state;
    if (!made)
        return;
    husk__rnn_backward_release_products(made);
    free(made);
}

// A chunk of one direction, or of all: the steps, and what is made of them.
static husk_status run_span(const husk_plan *plan, husk_queue *queue, const arguments *run,
                            const husk__scratch *scratch, int64_t layer, const span *at, const husk__scope *scope)
{
    const problem *own = plan->problem;
    husk_status status = HUSK_OK;
    if (own->forward.batch > 0)
        status = husk__rnn_backward_run_steps(plan, queue, run, scratch, layer, at, scope);
    for (int64_t d = 0; d < at->count && status == HUSK_OK; ++d)
        status = husk__rnn_backward_multiply(plan, queue, run, scratch,
                                             layer * own->forward.directions + at->direction + d, at);
    return status;
}

static husk_status run_layer(const husk_plan *plan, husk_queue *queue, const arguments *run,
                             const husk__scratch *scratch, int64_t layer, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const state *made = plan->state;
    const husk__rnn_backward_layout *places = &made->layout;
    husk_status status = HUSK_OK;
    for (int64_t d = 0; d < own->forward.directions && status == HUSK_OK; d += places->at_once) {
        span at = husk__rnn_backward_span_of(own, places, 0, d);
        if (own->forward.batch > 0 && made->pack)
            status = husk__rnn_backward_pack(plan, queue, run, scratch, layer, &at, scope);
        for (int64_t chunk = 0; chunk < places->chunks && status == HUSK_OK; ++chunk) {
            at = husk__rnn_backward_span_of(own, places, chunk, d);
            status = run_span(plan, queue, run, scratch, layer, &at, scope);
        }
    }
    return status;
}

// All tensors of f32 or all of f64.
static husk_status run_layers(const husk_plan *plan, husk_queue *queue, const arguments *run,
                              const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t lowest = husk__rnn_backward_lowest(own);
    husk_status status = HUSK_OK;
    for (int64_t layer = own->forward.layers - 1; layer >= lowest && status == HUSK_OK; --layer)
        status = run_layer(plan, queue, run, scratch, layer, scope);
    return status;
}

husk_status husk__rnn_backward_run_layers(const husk_plan *plan, husk_queue *queue, const void *untyped,
                                          const husk__scratch *scratch, const husk__scope *scope)
{
    const problem *own = plan->problem;
    return husk__rnn_is_narrow(&own->forward)
               ? husk__rnn_backward_run_narrow(plan, queue, untyped, scratch, run_layers, scope)
               : run_layers(plan, queue, untyped, scratch, scope);
}
