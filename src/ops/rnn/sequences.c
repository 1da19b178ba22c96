// SPDX-License-Identifier: MIT
// Sequences do not know of each other: where scratch memory has no room for all of a batch, a plan works on parts of
// it, one after the other. What the rest of a plan sees is a part.
#include <stdlib.h>

#include "base/checked.h"
#include "ops/rnn/problem.h"

// ---- planning ----

husk_status husk__rnn_state_create(husk_plan *plan, int64_t panel_units, bool is_panel, const husk__scope *scope)
{
    husk__rnn_state *state = calloc(1, sizeof *state);
    if (!state)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for a plan");
    plan->state = state;
    husk__rnn_lay_out(plan->problem, panel_units, is_panel, &state->layout);
    state->problem = husk__rnn_part(plan->problem, state->layout.sequences);
    return HUSK_OK;
}

// ---- running ----

// A run's tensors, of some sequences.
typedef struct part_of_run {
    husk_tensor x, lengths, h0, c0, y, h_n, c_n;
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs;
} part_of_run;

static const husk_tensor *take(husk_tensor *part, const husk_tensor *tensor, int32_t dimension, int64_t first,
                               int64_t count)
{
    if (!tensor)
        return NULL;
    *part = husk_tensor_slice(tensor, dimension, first, count, 1);
    return part;
}

static husk_status run_part(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run, int64_t first,
                            const husk__scratch *scratch, const husk__scope *scope)
{
    const int64_t count = husk__rnn_worked(plan)->batch;
    part_of_run part = {.inputs = *run->inputs, .outputs = *run->outputs};
    part.inputs.x = take(&part.x, run->inputs->x, HUSK__RNN_SEQUENCES, first, count);
    part.inputs.lengths = take(&part.lengths, run->inputs->lengths, 0, first, count);
    part.inputs.h0 = take(&part.h0, run->inputs->h0, HUSK__RNN_SEQUENCES, first, count);
    part.inputs.c0 = take(&part.c0, run->inputs->c0, HUSK__RNN_SEQUENCES, first, count);
    part.outputs.y = take(&part.y, run->outputs->y, HUSK__RNN_SEQUENCES, first, count);
    part.outputs.h_n = take(&part.h_n, run->outputs->h_n, HUSK__RNN_SEQUENCES, first, count);
    part.outputs.c_n = take(&part.c_n, run->outputs->c_n, HUSK__RNN_SEQUENCES, first, count);
    const husk__rnn_run own = {&part.inputs, &part.outputs};
    return husk__rnn_run_layers(plan, queue, &own, scratch, scope);
}

// The last part overlaps the one before where the batch is no multiple: the same values are written twice.
husk_status husk__rnn_run_sequences(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                    const husk__scratch *scratch, const husk__scope *scope)
{
    const int64_t batch = ((const husk__rnn_problem *)plan->problem)->batch, part = husk__rnn_worked(plan)->batch;
    husk_status status = HUSK_OK;
    if (part == batch)
        return batch == 0 ? HUSK_OK : husk__rnn_run_layers(plan, queue, arguments, scratch, scope);
    for (int64_t first = 0; first < batch && status == HUSK_OK; first += part)
        status = run_part(plan, queue, arguments, husk__min_i64(first, batch - part), scratch, scope);
    return status;
}
