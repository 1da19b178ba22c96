// SPDX-License-Identifier: MIT
// Recurrent layers of f16 and bf16: what lies in memory becomes f32 in scratch at the border, once a run, and results
// are rounded when they go out. Inside, in the states from step to step too, everything is f32.
#include "ops/rnn/border.h"

#include <husk/ops/copy.h>

const husk_tensor *husk__rnn_border_place(husk__rnn_border *border, const husk_tensor *tensor)
{
    if (!tensor)
        return NULL;
    husk_tensor *made = &border->tensors[border->count++];
    *made = husk__rnn_as_f32(tensor);
    made->packed = NULL;
    made->buffer = border->buffer;
    made->offset = border->next;
    border->next += husk__rnn_border_room(made);
    return made;
}

const husk_tensor *husk__rnn_border_in(husk__rnn_border *border, husk_queue *queue, const husk_tensor *tensor)
{
    const husk_tensor *made = husk__rnn_border_place(border, tensor);
    if (made && border->status == HUSK_OK)
        border->status = husk_copy(queue, NULL, tensor, made);
    return made;
}

void husk__rnn_border_out(husk__rnn_border *border, husk_queue *queue, const husk_tensor *made,
                          const husk_tensor *tensor)
{
    if (made && border->status == HUSK_OK)
        border->status = husk_copy(queue, NULL, made, tensor);
}

void husk__rnn_border_weights(husk__rnn_border *border, husk_queue *queue, const husk_rnn_weights *weights,
                              int64_t count, husk_rnn_weights *made)
{
    for (int64_t i = 0; i < count; ++i)
        made[i] = (husk_rnn_weights){husk__rnn_border_in(border, queue, weights[i].input),
                                     husk__rnn_border_in(border, queue, weights[i].hidden),
                                     husk__rnn_border_in(border, queue, weights[i].input_bias),
                                     husk__rnn_border_in(border, queue, weights[i].hidden_bias)};
}

husk_status husk__rnn_enter(const husk__rnn_problem *problem, husk_queue *queue, const husk__rnn_run *run,
                            husk__rnn_border *border)
{
    const husk_rnn_inputs *inputs = run->inputs;
    const husk_rnn_outputs *outputs = run->outputs;
    border->inputs = *inputs;
    border->outputs = *outputs;
    border->inputs.x = husk__rnn_border_in(border, queue, inputs->x);
    border->inputs.h0 = husk__rnn_border_in(border, queue, inputs->h0);
    border->inputs.c0 = husk__rnn_border_in(border, queue, inputs->c0);
    border->outputs.y = husk__rnn_border_place(border, outputs->y);
    border->outputs.h_n = husk__rnn_border_place(border, outputs->h_n);
    border->outputs.c_n = husk__rnn_border_place(border, outputs->c_n);
    if (inputs->weights) {
        husk__rnn_border_weights(border, queue, inputs->weights, husk__rnn_weight_count(problem), border->weights);
        border->inputs.weights = border->weights;
    }
    border->run = (husk__rnn_run){&border->inputs, &border->outputs};
    return border->status;
}

husk_status husk__rnn_leave(husk_queue *queue, const husk__rnn_run *run, husk__rnn_border *border)
{
    husk__rnn_border_out(border, queue, border->outputs.y, run->outputs->y);
    husk__rnn_border_out(border, queue, border->outputs.h_n, run->outputs->h_n);
    husk__rnn_border_out(border, queue, border->outputs.c_n, run->outputs->c_n);
    return border->status;
}
