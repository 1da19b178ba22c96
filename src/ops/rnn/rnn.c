// SPDX-License-Identifier: MIT
// Recurrent layers over whole sequences: the public calls. Validation is in resolve.c and plan.c, the variants are
// panel.c and tile.c, what they share is in sequences.c, layers.c, step.c, pack.c and layout.c.
#include <stdio.h>

#include "base/tensor.h"
#include "ops/rnn/resolve.h"
#include "runtime/call.h"

static const husk__variant *const variants[] = {&husk__rnn_panel, &husk__rnn_tile, NULL};

static void write_case(const void *untyped, const void *untyped_run, husk__case *c)
{
    const husk__rnn_problem *problem = untyped;
    const husk__rnn_run *run = untyped_run;
    husk__rnn_begin_case(problem, c);
    husk__case_integer(c, "packed", run && run->inputs->packed, 0);
    if (problem->has_reserve)
        husk__case_note(c, "keeps a reserve");
}

// ---- the calls ----

husk_status husk_rnn(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                     const husk_rnn_outputs *outputs)
{
    husk__scope scope;
    husk__rnn_problem problem;
    husk__preference preference = {0};
    husk_rnn_inputs own_inputs;
    husk_rnn_outputs own_outputs;
    husk_status status = husk__call_begin(queue, "husk_rnn", &scope);
    if (status == HUSK_OK)
        status = husk__rnn_read(inputs, outputs, &own_inputs, &own_outputs, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_resolve(husk_queue_context(queue), params, &own_inputs, &own_outputs, &problem, &preference,
                                   &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), problem.dtype, "x", &scope);
    if (status != HUSK_OK)
        return status;
    const husk__rnn_run run = {&own_inputs, &own_outputs};
    status = husk__rnn_bind(&problem, queue, &run, &scope);
    if (status != HUSK_OK || problem.batch == 0)
        return status;
    return husk__packed_immediate(queue, &husk__op_rnn, &problem, &preference, own_inputs.packed, &run, &scope);
}

husk_status husk_rnn_plan_create(husk_context *context, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                                 const husk_rnn_outputs *outputs, husk_plan **plan, husk_error *error)
{
    husk__scope scope;
    husk__rnn_problem problem;
    husk__preference preference = {0};
    husk_rnn_inputs own_inputs;
    husk_rnn_outputs own_outputs;
    if (plan)
        *plan = NULL;
    husk_status status = husk__context_call_begin(context, "husk_rnn_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (status == HUSK_OK)
        status = husk__rnn_read(inputs, outputs, &own_inputs, &own_outputs, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_resolve(context, params, &own_inputs, &own_outputs, &problem, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(context, problem.dtype, "x", &scope);
    if (status != HUSK_OK)
        return status;
    return husk__packed_plan_create(context, &husk__op_rnn, &problem, &preference, own_inputs.packed, plan, &scope);
}

husk_status husk_rnn_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_rnn_plan_run", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_rnn, queue, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__rnn_problem *problem = plan->problem;
    husk_rnn_inputs own_inputs;
    husk_rnn_outputs own_outputs;
    status = husk__rnn_read(inputs, outputs, &own_inputs, &own_outputs, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__rnn_run run = {&own_inputs, &own_outputs};
    status = husk__rnn_check_run(problem, &run, &scope);
    if (status == HUSK_OK && own_inputs.weights)
        status = husk__rnn_check_weights(problem, own_inputs.weights, &scope);
    if (status == HUSK_OK && own_inputs.packed)
        status = husk__packed_check(own_inputs.packed, plan, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_bind(problem, queue, &run, &scope);
    return status == HUSK_OK ? husk__plan_execute(plan, queue, &run, &scope) : status;
}

husk_status husk_rnn_plan_pack(husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                               husk_packed **packed)
{
    husk__scope scope;
    husk_status status = husk__call_begin(queue, "husk_rnn_plan_pack", &scope);
    if (packed)
        *packed = NULL;
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_rnn, queue, &scope);
    if (status == HUSK_OK && !weights)
        status = husk__reject(&scope, "weights", "is NULL");
    if (status == HUSK_OK && !packed)
        status = husk__reject(&scope, "packed", "is NULL");
    if (status == HUSK_OK)
        status = husk__rnn_check_weights(plan->problem, weights, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_bind_weights(plan->problem, queue, weights, &scope);
    return status == HUSK_OK ? husk__rnn_pack(plan, queue, weights, packed, &scope) : status;
}

int64_t husk_rnn_reserve_size(const husk_rnn_params *params, const husk_tensor *x)
{
    husk_rnn_params own;
    husk__rnn_problem problem;
    const husk__scope scope = {0};
    if (!x || x->rank != 3 || husk__tensor_check(x, "x", &scope) != HUSK_OK ||
        husk__rnn_read_params(params, &own, &problem, &scope) != HUSK_OK)
        return -1;
    problem.steps = x->shape[0];
    problem.batch = x->shape[1];
    return husk__rnn_reserve_count(&problem);
}

// ---- prewarming ----

enum { WARM_STEPS = 2, WARM_BATCH = 4, WARM_SIZE = 16, WARM_BYTES = 65536 };

// A tiny layer of every cell that is usual, over one buffer of zeros.
static husk_status prewarm_cell(husk_queue *queue, husk_buffer *buffer, husk_rnn_cell cell)
{
    const int64_t rows = WARM_SIZE * (cell == HUSK_RNN_LSTM ? 4 : cell == HUSK_RNN_GRU ? 3 : 1);
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 3, (int64_t[]){WARM_STEPS, WARM_BATCH, WARM_SIZE});
    const husk_tensor matrix = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){rows, WARM_SIZE});
    husk_tensor y = x;
    y.offset = WARM_BYTES / 8; // in elements: the second half
    const husk_rnn_weights weights = {&matrix, &matrix, NULL, NULL};
    const husk_rnn_params params = HUSK_RNN_PARAMS(.cell = cell, .hidden_size = WARM_SIZE);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &x, .weights = &weights);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &y);
    return husk_rnn(queue, &params, &inputs, &outputs);
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    static const husk_rnn_cell cells[] = {HUSK_RNN_LSTM, HUSK_RNN_GRU, HUSK_RNN_TANH};
    const float zero = 0.0f;
    husk_buffer *buffer;
    husk_error error = {0};
    husk_status status = husk_buffer_create(husk_queue_context(queue), WARM_BYTES, &buffer, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "%s", error.text);
    status = husk_buffer_fill(queue, buffer, 0, WARM_BYTES, &zero, sizeof zero);
    for (size_t i = 0; i < sizeof cells / sizeof *cells && status == HUSK_OK; ++i)
        status = prewarm_cell(queue, buffer, cells[i]);
    if (status != HUSK_OK) {
        const husk_error failure = *husk_queue_error(queue);
        husk__fail_opencl(scope, status, failure.opencl_code, "%s", failure.text);
    }
    husk_buffer_release(buffer);
    return status;
}

const husk__op husk__op_rnn = {
    .name = "rnn",
    .problem_size = sizeof(husk__rnn_problem),
    .variants = variants,
    .describe = husk__rnn_describe,
    .prewarm = prewarm,
    .classify = husk__rnn_classify,
    .write_case = write_case,
    .packed_argument = "packed",
    .describe_packed = husk__rnn_describe_packed,
};
