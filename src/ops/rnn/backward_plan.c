// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: the tensors of a run against those that its plan was made for.
#include "ops/rnn/backward_problem.h"
#include "ops/rnn/resolve.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_run arguments;

enum { PARTS = HUSK__RNN_BACKWARD_WEIGHT_PARTS, NAME = HUSK__RNN_BACKWARD_NAME, OPTIONAL = 6 };

static husk_status refuse_presence(bool is_planned, const char *name, const husk__scope *scope)
{
    return husk__reject(scope, name,
                        is_planned ? "is NULL, the plan was made for one" : "is given, the plan was made for none");
}

// What forward read and left.
static husk_status check_forward(const problem *own, const arguments *run, const husk__scope *scope)
{
    const husk__rnn_run forward = {run->inputs, run->outputs};
    if (run->inputs->packed)
        return husk__fail(scope, HUSK_UNSUPPORTED, "packed: the gradients take weights as they are");
    husk_status status = husk__rnn_check_run(&own->forward, &forward, scope);
    return status == HUSK_OK ? husk__rnn_check_weights(&own->forward, run->inputs->weights, scope) : status;
}

// The optional tensors, in the problem's order.
static husk_status check_optional(const problem *own, const arguments *run, const husk__scope *scope)
{
    static const char *const names[OPTIONAL] = {"output_gradients.y", "output_gradients.h_n", "output_gradients.c_n",
                                                "gradients.x",        "gradients.h0",         "gradients.c0"};
    const bool is_planned[OPTIONAL] = {own->has_dy, own->has_dh_n, own->has_dc_n,
                                       own->has_dx, own->has_dh0,  own->has_dc0};
    const husk_tensor *const given[OPTIONAL] = {run->output_gradients->y,   run->output_gradients->h_n,
                                                run->output_gradients->c_n, run->gradients->x,
                                                run->gradients->h0,         run->gradients->c0};
    husk_status status = HUSK_OK;
    for (int i = 0; i < OPTIONAL && status == HUSK_OK; ++i) {
        if (is_planned[i] != (given[i] != NULL))
            status = refuse_presence(is_planned[i], names[i], scope);
        else if (given[i])
            status = husk__plan_check_tensor(&own->given[i], given[i], names[i], scope);
    }
    return status;
}

// What the gradient of a weight has to look like.
static husk_tensor planned_weight(const problem *own, int64_t index, int part)
{
    const husk__rnn_problem *forward = &own->forward;
    const int64_t rows = forward->gates * forward->hidden;
    const int64_t columns = part == 0 ? husk__rnn_layer_inputs(forward, index / forward->directions) : forward->hidden;
    husk_tensor made = husk_tensor_make(NULL, forward->dtype, part < 2 ? 2 : 1, (int64_t[]){rows, columns});
    made.strides[0] = part == 0 ? own->given_rows[index].input : part == 1 ? own->given_rows[index].hidden : 1;
    if (part < 2)
        made.strides[1] = 1;
    return made;
}

static husk_status check_weight(const problem *own, const husk_rnn_weights *given, int64_t index,
                                const husk__scope *scope)
{
    const husk__rnn_wanted *wanted = &own->wanted[index];
    const bool is_planned[PARTS] = {wanted->input, wanted->hidden, wanted->input_bias, wanted->hidden_bias};
    const husk_tensor *const tensors[PARTS] = {given->input, given->hidden, given->input_bias, given->hidden_bias};
    husk_status status = HUSK_OK;
    for (int part = 0; part < PARTS && status == HUSK_OK; ++part) {
        char name[NAME];
        if (!is_planned[part] && !tensors[part])
            continue;
        husk__rnn_backward_weight_name(index, part, name);
        const husk_tensor planned = planned_weight(own, index, part);
        status = is_planned[part] != (tensors[part] != NULL)
                     ? refuse_presence(is_planned[part], name, scope)
                     : husk__plan_check_tensor(&planned, tensors[part], name, scope);
    }
    return status;
}

husk_status husk__rnn_backward_check_run(const problem *own, const arguments *run, const husk__scope *scope)
{
    static const husk_rnn_weights none = {0};
    const husk_rnn_weights *weights = run->gradients->weights;
    husk_status status = check_forward(own, run, scope);
    if (status == HUSK_OK)
        status = check_optional(own, run, scope);
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward) && status == HUSK_OK; ++i)
        status = check_weight(own, weights ? &weights[i] : &none, i, scope);
    return status;
}
