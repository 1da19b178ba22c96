// SPDX-License-Identifier: MIT
// Recurrent layers' gradients: bad input is refused by a text that names it, and enqueues nothing.
#include "rnn_backward_case.h"

static rnn_backward_case good;

static void set_up(void)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(HUSK_RNN_LSTM, 3, 4, 5, 6));
    c.shape.layers = 2;
    c.shape.bidirectional = c.shape.has_lengths = true;
    rnn_backward_make(&c, &good);
}

static void tear_down(void)
{
    rnn_backward_each(&good, test_untouched);
    rnn_backward_release(&good);
}

static void refused(husk_status wanted, const char *argument)
{
    test_refused(husk_rnn_backward(test_silent_queue(), &good.c.params, &good.c.inputs, &good.outputs,
                                   &good.output_gradients, &good.gradients),
                 wanted, argument);
}

START_TEST(missing)
{
    husk_queue *queue = test_silent_queue();
    const husk_rnn_params *params = &good.c.params;
    test_refused(husk_rnn_backward(queue, NULL, &good.c.inputs, &good.outputs, &good.output_gradients, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "params");
    test_refused(husk_rnn_backward(queue, params, NULL, &good.outputs, &good.output_gradients, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "inputs");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, NULL, &good.output_gradients, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "outputs");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, &good.outputs, NULL, &good.gradients),
                 HUSK_INVALID_ARGUMENT, "output_gradients");
    test_refused(husk_rnn_backward(queue, params, &good.c.inputs, &good.outputs, &good.output_gradients, NULL),
                 HUSK_INVALID_ARGUMENT, "gradients");
    ck_assert_int_eq(
        husk_rnn_backward(NULL, params, &good.c.inputs, &good.outputs, &good.output_gradients, &good.gradients),
        HUSK_INVALID_ARGUMENT);
    const husk_rnn_outputs outputs = good.outputs, output_gradients = good.output_gradients;
    const husk_rnn_gradients gradients = good.gradients;
    good.outputs.y = NULL;
    refused(HUSK_INVALID_ARGUMENT, "y");
    good.outputs = outputs;
    good.outputs.reserve = NULL;
    refused(HUSK_INVALID_ARGUMENT, "reserve");
    good.outputs = outputs;
    good.output_gradients = HUSK_RNN_OUTPUTS(.y = NULL);
    refused(HUSK_INVALID_ARGUMENT, "output_gradients");
    good.output_gradients = output_gradients;
    good.gradients = HUSK_RNN_GRADIENTS(.x = NULL);
    refused(HUSK_INVALID_ARGUMENT, "gradients");
    good.gradients = gradients;
    good.gradients.size = 4096;
    refused(HUSK_INVALID_ARGUMENT, "gradients");
    good.gradients = gradients;
    const husk_rnn_inputs inputs = good.c.inputs;
    good.c.inputs.x = NULL;
    refused(HUSK_INVALID_ARGUMENT, "x");
    good.c.inputs = inputs;
    good.c.inputs.weights = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights");
    good.c.inputs = inputs;
}
END_TEST

START_TEST(bad_params)
{
    const husk_rnn_params params = good.c.params;
    good.c.params.accumulate = 4;
    refused(HUSK_INVALID_ARGUMENT, "accumulate");
    good.c.params = params;
    good.c.params.variant = "nonsense";
    refused(HUSK_INVALID_ARGUMENT, "nonsense");
    good.c.params = params;
    good.c.params.hidden_size = 7;
    refused(HUSK_INVALID_ARGUMENT, "h0");
    good.c.params = params;
    good.c.params.workspace_limit = 64;
    refused(HUSK_UNSUPPORTED, "workspace");
    good.c.params = params;
    ck_assert_int_eq(husk_rnn_reserve_size(NULL, &good.c.x.tensor), -1);
    ck_assert_int_eq(husk_rnn_reserve_size(&params, NULL), -1);
    good.c.params.hidden_size = 0;
    ck_assert_int_eq(husk_rnn_reserve_size(&good.c.params, &good.c.x.tensor), -1);
    good.c.params = params;
}
END_TEST

// Every tensor in turn: rank, a dimension, dtype, strides, memory.
static void spoil(husk_tensor *tensor, const char *argument, bool is_gradient)
{
    const husk_tensor was = *tensor;
    tensor->rank--;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->shape[tensor->rank - 1]--;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->dtype = HUSK_I64;
    refused(HUSK_UNSUPPORTED, argument);
    *tensor = was;
    tensor->offset += 1 << 20;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    tensor->buffer = NULL;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = was;
    if (is_gradient && was.rank > 1) {
        for (int d = 0; d < was.rank; d++)
            tensor->strides[d] = d == was.rank - 1 ? 1 : 2;
        refused(HUSK_INVALID_ARGUMENT, argument);
        *tensor = was;
    }
}

START_TEST(bad_tensors)
{
    spoil(&good.reserve.tensor, "reserve", false);
    spoil(&good.dy.tensor, "output_gradients.y", false);
    spoil(&good.dh_n.tensor, "output_gradients.h_n", false);
    spoil(&good.dc_n.tensor, "output_gradients.c_n", false);
    spoil(&good.dx.tensor, "gradients.x", true);
    spoil(&good.dh0.tensor, "gradients.h0", true);
    spoil(&good.dc0.tensor, "gradients.c0", true);
    spoil(&good.d_weights[0][0].tensor, "gradients.weights[0].input", true);
    spoil(&good.d_weights[1][1].tensor, "gradients.weights[1].hidden", true);
    spoil(&good.d_weights[2][2].tensor, "gradients.weights[2].input_bias", true);
    spoil(&good.d_weights[3][3].tensor, "gradients.weights[3].hidden_bias", true);
    husk_tensor *const tensors[] = {&good.dy.tensor, &good.dh0.tensor, &good.d_weights[0][1].tensor};
    static const char *const names[] = {"output_gradients.y", "gradients.h0", "gradients.weights[0].hidden"};
    for (int i = 0; i < 3; i++) {
        const husk_tensor was = *tensors[i];
        test_layout_strides(TEST_REVERSED, was.rank, was.shape, tensors[i]->strides);
        refused(HUSK_UNSUPPORTED, names[i]);
        *tensors[i] = was;
    }
}
END_TEST

START_TEST(overlaps)
{
    husk_tensor *const gradients[] = {&good.dx.tensor, &good.dh0.tensor, &good.d_weights[1][0].tensor};
    static const char *const names[] = {"gradients.x", "gradients.h0", "gradients.weights[1].input"};
    const husk_tensor *const others[] = {&good.c.x.tensor, &good.reserve.tensor, &good.dy.tensor,
                                         &good.c.tensors[0][1].tensor, &good.d_weights[0][0].tensor};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 5; j++) {
            if (i < 2 && j == 4) // named by the later one
                continue;
            const husk_tensor was = *gradients[i];
            gradients[i]->buffer = others[j]->buffer;
            gradients[i]->offset = others[j]->offset;
            husk_status status = husk_rnn_backward(test_silent_queue(), &good.c.params, &good.c.inputs, &good.outputs,
                                                   &good.output_gradients, &good.gradients);
            test_refused(status, HUSK_INVALID_ARGUMENT, names[i]);
            *gradients[i] = was;
        }
}
END_TEST

START_TEST(foreign_states)
{
    rnn_backward_config c = rnn_backward_everything(rnn_backward_shape(HUSK_RNN_GRU, 3, 4, 5, 6));
    rnn_backward_case t;
    rnn_backward_make(&c, &t);
    t.output_gradients.c_n = t.output_gradients.h_n;
    test_refused(
        husk_rnn_backward(test_silent_queue(), &t.c.params, &t.c.inputs, &t.outputs, &t.output_gradients, &t.gradients),
        HUSK_INVALID_ARGUMENT, "output_gradients.c_n");
    t.output_gradients.c_n = NULL;
    t.gradients.c0 = t.gradients.h0;
    test_refused(
        husk_rnn_backward(test_silent_queue(), &t.c.params, &t.c.inputs, &t.outputs, &t.output_gradients, &t.gradients),
        HUSK_INVALID_ARGUMENT, "gradients.c0");
    rnn_backward_release(&t);
}
END_TEST

// Packed weights are for inference.
START_TEST(packed_weights)
{
    husk_plan *plan = NULL;
    husk_packed *packed = NULL;
    husk_error error;
    const husk_rnn_outputs plain = HUSK_RNN_OUTPUTS(.y = &good.c.y.tensor);
    test_ok_error(husk_rnn_plan_create(test_context(), &good.c.params, &good.c.inputs, &plain, &plan, &error), &error);
    test_ok(husk_rnn_plan_pack(plan, test_queue(), good.c.weights, &packed));
    const husk_rnn_inputs inputs = good.c.inputs;
    good.c.inputs.weights = NULL;
    good.c.inputs.packed = packed;
    refused(HUSK_UNSUPPORTED, "packed");
    test_refused(husk_rnn(test_silent_queue(), &good.c.params, &good.c.inputs, &good.c.outputs), HUSK_UNSUPPORTED,
                 "packed");
    good.c.inputs = inputs;
    husk_packed_release(packed);
    husk_plan_release(plan);
}
END_TEST

TCase *rnn_backward_refusals(void)
{
    TCase *refusals = tcase_create("refusals");
    tcase_add_checked_fixture(refusals, set_up, tear_down);
    tcase_add_test(refusals, missing);
    tcase_add_test(refusals, bad_params);
    tcase_add_test(refusals, bad_tensors);
    tcase_add_test(refusals, overlaps);
    tcase_add_test(refusals, foreign_states);
    tcase_add_test(refusals, packed_weights);
    return refusals;
}
