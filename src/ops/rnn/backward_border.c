// SPDX-License-Identifier: MIT
// The gradients of recurrent layers of f16 and bf16: everything is f32 in scratch memory meanwhile (border.c).
#include "ops/rnn/backward_problem.h"
#include "ops/rnn/border.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_run arguments;

enum { PARTS = HUSK__RNN_BACKWARD_WEIGHT_PARTS };

// A run's stand-ins.
typedef struct stand_ins {
    husk__rnn_border border;
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs, output_gradients;
    husk_rnn_gradients gradients;
    husk_rnn_weights weights[HUSK__RNN_MAX_WEIGHTS];
} stand_ins;

// A gradient's stand-in, with what is there where it is added to.
static const husk_tensor *enter_gradient(husk__rnn_border *border, husk_queue *queue, const husk_tensor *gradient,
                                         bool adds)
{
    return adds ? husk__rnn_border_in(border, queue, gradient) : husk__rnn_border_place(border, gradient);
}

static void enter_inputs(const problem *own, husk_queue *queue, const arguments *run, stand_ins *made)
{
    husk__rnn_border *border = &made->border;
    made->inputs = *run->inputs;
    made->outputs = *run->outputs;
    made->output_gradients = *run->output_gradients;
    made->inputs.x = husk__rnn_border_in(border, queue, made->inputs.x);
    made->inputs.h0 = husk__rnn_border_in(border, queue, made->inputs.h0);
    made->inputs.c0 = husk__rnn_border_in(border, queue, made->inputs.c0);
    husk__rnn_border_weights(border, queue, made->inputs.weights, husk__rnn_weight_count(&own->forward),
                             border->weights);
    made->inputs.weights = border->weights;
    made->outputs.y = husk__rnn_border_in(border, queue, made->outputs.y);
    made->output_gradients.y = husk__rnn_border_in(border, queue, made->output_gradients.y);
    made->output_gradients.h_n = husk__rnn_border_in(border, queue, made->output_gradients.h_n);
    made->output_gradients.c_n = husk__rnn_border_in(border, queue, made->output_gradients.c_n);
}

static void enter_gradients(const problem *own, husk_queue *queue, const arguments *run, stand_ins *made)
{
    husk__rnn_border *border = &made->border;
    const bool adds = (own->accumulate & HUSK_ACCUMULATE_INPUTS) != 0;
    const bool sums = (own->accumulate & HUSK_ACCUMULATE_PARAMETERS) != 0;
    made->gradients = *run->gradients;
    made->gradients.x = enter_gradient(border, queue, made->gradients.x, adds);
    made->gradients.h0 = enter_gradient(border, queue, made->gradients.h0, adds);
    made->gradients.c0 = enter_gradient(border, queue, made->gradients.c0, adds);
    const husk_rnn_weights *weights = run->gradients->weights;
    for (int64_t i = 0; weights && i < husk__rnn_weight_count(&own->forward); ++i)
        made->weights[i] = (husk_rnn_weights){enter_gradient(border, queue, weights[i].input, sums),
                                              enter_gradient(border, queue, weights[i].hidden, sums),
                                              enter_gradient(border, queue, weights[i].input_bias, sums),
                                              enter_gradient(border, queue, weights[i].hidden_bias, sums)};
    made->gradients.weights = weights ? made->weights : NULL;
}

static void leave_gradients(const problem *own, husk_queue *queue, stand_ins *made, const husk_rnn_gradients *to)
{
    husk__rnn_border *border = &made->border;
    husk__rnn_border_out(border, queue, made->gradients.x, to->x);
    husk__rnn_border_out(border, queue, made->gradients.h0, to->h0);
    husk__rnn_border_out(border, queue, made->gradients.c0, to->c0);
    for (int64_t i = 0; to->weights && i < husk__rnn_weight_count(&own->forward); ++i) {
        const husk_rnn_weights *from = &made->weights[i], *there = &to->weights[i];
        const husk_tensor *const stands[PARTS] = {from->input, from->hidden, from->input_bias, from->hidden_bias};
        const husk_tensor *const given[PARTS] = {there->input, there->hidden, there->input_bias, there->hidden_bias};
        for (int p = 0; p < PARTS; ++p)
            husk__rnn_border_out(border, queue, stands[p], given[p]);
    }
}

husk_status husk__rnn_backward_run_narrow(const husk_plan *plan, husk_queue *queue, const arguments *run,
                                          const husk__scratch *scratch, husk__rnn_backward_runner runner,
                                          const husk__scope *scope)
{
    const problem *own = plan->problem;
    const husk__rnn_backward_state *state = plan->state;
    stand_ins made;
    husk__rnn_border_begin(&made.border, scratch->buffer, state->layout.border);
    enter_inputs(own, queue, run, &made);
    enter_gradients(own, queue, run, &made);
    const arguments inside = {&made.inputs, &made.outputs, &made.output_gradients, &made.gradients};
    husk_status status = made.border.status;
    if (status == HUSK_OK)
        status = runner(plan, queue, &inside, scratch, scope);
    if (status != HUSK_OK)
        return status;
    leave_gradients(own, queue, &made, run->gradients);
    return made.border.status;
}
