// SPDX-License-Identifier: MIT
// The gradients of recurrent layers: the operator and the public calls. Validation is in backward_problem.c and
// backward_plan.c, how a run goes in backward_layers.c; the variants are backward_panel.c and
// backward_tile.c.
#include "base/tensor.h"
#include "ops/rnn/backward_problem.h"
#include "runtime/call.h"

typedef husk__rnn_backward_problem problem;
typedef husk__rnn_backward_run arguments;

// ---- the operator ----

static void classify(const void *untyped, husk__text *text)
{
    const problem *own = untyped;
    husk__rnn_classify(&own->forward, text);
}

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const problem *own = untyped;
    const bool has_h0 = own->forward.has_h0, has_c0 = own->forward.has_c0;
    bool wants_weights = false;
    (void)given;
    husk__rnn_begin_case(&own->forward, c);
    husk__case_word(c, "dir", "bwd", NULL);
    for (int64_t i = 0; i < husk__rnn_weight_count(&own->forward); ++i)
        wants_weights = wants_weights || own->wanted[i].input || own->wanted[i].hidden;
    if (!own->has_dx)
        husk__case_note(c, "without dx");
    if (!wants_weights)
        husk__case_note(c, "without the weights' gradients");
    if ((has_h0 && !own->has_dh0) || (has_c0 && !own->has_dc0))
        husk__case_note(c, "without the states' gradients");
    if (own->accumulate)
        husk__case_note(c, "accumulates");
}

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static const husk__variant *const variants[] = {&husk__rnn_backward_panel, &husk__rnn_backward_tile, NULL};

const husk__op husk__op_rnn_backward = {
    .name = "rnn_backward",
    .problem_size = sizeof(problem),
    .variants = variants,
    .describe = husk__rnn_backward_describe,
    .prewarm = prewarm,
    .classify = classify,
    .write_case = write_case,
};

// ---- the calls ----

husk_status husk_rnn_backward(husk_queue *queue, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs, const husk_rnn_outputs *output_gradients,
                              const husk_rnn_gradients *gradients)
{
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk__rnn_backward_call given;
    husk_status status = husk__call_begin(queue, "husk_rnn_backward", &scope);
    if (status == HUSK_OK)
        status = husk__rnn_backward_read(inputs, outputs, output_gradients, gradients, &given, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_backward_resolve(husk_queue_context(queue), params, &given, &own, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(husk_queue_context(queue), own.forward.dtype, "x", &scope);
    if (status != HUSK_OK)
        return status;
    const arguments run = {&given.inputs, &given.outputs, &given.output_gradients, &given.gradients};
    status = husk__rnn_backward_bind(&own, queue, &run, &scope);
    return status == HUSK_OK ? husk__plan_immediate(queue, &husk__op_rnn_backward, &own, &preference, &run, &scope)
                             : status;
}

husk_status husk_rnn_backward_plan_create(husk_context *context, const husk_rnn_params *params,
                                          const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                          const husk_rnn_outputs *output_gradients, const husk_rnn_gradients *gradients,
                                          husk_plan **plan, husk_error *error)
{
    husk__scope scope;
    problem own;
    husk__preference preference = {0};
    husk__rnn_backward_call given;
    if (plan)
        *plan = NULL;
    husk_status status = husk__context_call_begin(context, "husk_rnn_backward_plan_create", error, &scope);
    if (status == HUSK_OK && !plan)
        return husk__reject(&scope, "plan", "is NULL");
    if (status == HUSK_OK)
        status = husk__rnn_backward_read(inputs, outputs, output_gradients, gradients, &given, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_backward_resolve(context, params, &given, &own, &preference, &scope);
    if (status == HUSK_OK)
        status = husk__dtype_check(context, own.forward.dtype, "x", &scope);
    return status == HUSK_OK ? husk__plan_create(context, &husk__op_rnn_backward, &own, &preference, plan, &scope)
                             : status;
}

husk_status husk_rnn_backward_plan_run(husk_plan *plan, husk_queue *queue, const husk_rnn_inputs *inputs,
                                       const husk_rnn_outputs *outputs, const husk_rnn_outputs *output_gradients,
                                       const husk_rnn_gradients *gradients)
{
    husk__scope scope;
    husk__rnn_backward_call given;
    husk_status status = husk__call_begin(queue, "husk_rnn_backward_plan_run", &scope);
    if (status == HUSK_OK)
        status = husk__plan_check(plan, &husk__op_rnn_backward, queue, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_backward_read(inputs, outputs, output_gradients, gradients, &given, &scope);
    if (status != HUSK_OK)
        return status;
    const arguments run = {&given.inputs, &given.outputs, &given.output_gradients, &given.gradients};
    status = husk__rnn_backward_check_run(plan->problem, &run, &scope);
    if (status == HUSK_OK)
        status = husk__rnn_backward_bind(plan->problem, queue, &run, &scope);
    return status == HUSK_OK ? husk__plan_execute(plan, queue, &run, &scope) : status;
}

// ---- prewarming ----

// The one program of the device's variant, on a small layer of zeros; the multiplications' own are gemm_backward's.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    enum { STEPS = 2, BATCH = 4, SIZE = 16, PLACE = 1024, PLACES = 4 };
    const float zero = 0.0f;
    husk_buffer *buffer;
    husk_error error = {0};
    husk_status status = husk_buffer_create(husk_queue_context(queue), PLACES * PLACE * sizeof(float), &buffer, &error);
    if (status != HUSK_OK)
        return husk__fail_opencl(scope, status, error.opencl_code, "%s", error.text);
    const husk_tensor x = husk_tensor_make(buffer, HUSK_F32, 3, (int64_t[]){STEPS, BATCH, SIZE});
    const husk_tensor matrix = husk_tensor_make(buffer, HUSK_F32, 2, (int64_t[]){SIZE, SIZE});
    husk_tensor y = x, dx = x, reserve = husk_tensor_make(buffer, HUSK_F32, 1, (int64_t[]){PLACE});
    y.offset = PLACE;
    dx.offset = 2 * PLACE;
    reserve.offset = 3 * PLACE;
    const husk_rnn_weights weights = {&matrix, &matrix, NULL, NULL};
    const husk_rnn_params params = HUSK_RNN_PARAMS(.cell = HUSK_RNN_TANH, .hidden_size = SIZE);
    const husk_rnn_inputs inputs = HUSK_RNN_INPUTS(.x = &x, .weights = &weights);
    const husk_rnn_outputs outputs = HUSK_RNN_OUTPUTS(.y = &y, .reserve = &reserve);
    const husk_rnn_outputs output_gradients = HUSK_RNN_OUTPUTS(.y = &x);
    const husk_rnn_gradients gradients = HUSK_RNN_GRADIENTS(.x = &dx);
    status = husk_buffer_fill(queue, buffer, 0, PLACES * PLACE * sizeof(float), &zero, sizeof zero);
    if (status == HUSK_OK)
        status = husk_rnn_backward(queue, &params, &inputs, &outputs, &output_gradients, &gradients);
    if (status != HUSK_OK) {
        const husk_error failure = *husk_queue_error(queue);
        husk__fail_opencl(scope, status, failure.opencl_code, "%s", failure.text);
    }
    husk_buffer_release(buffer);
    return status;
}
