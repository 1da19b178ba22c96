// SPDX-License-Identifier: MIT
// Bad input to recurrent layers, and packed weights that do not fit.
#include <string.h>

#include "rnn_case.h"

static rnn_case c;

static void set_up(void)
{
    const rnn_shape shape = {.cell = HUSK_RNN_LSTM,
                             .steps = 3,
                             .batch = 4,
                             .inputs = 5,
                             .hidden = 6,
                             .layers = 2,
                             .bidirectional = true,
                             .has_lengths = true,
                             .has_h0 = true,
                             .has_c0 = true,
                             .has_h_n = true,
                             .has_c_n = true,
                             .has_input_bias = true,
                             .has_hidden_bias = true,
                             .seed = 6};
    rnn_case_make(&shape, &c);
}

static void tear_down(void)
{
    test_untouched(&c.y);
    test_untouched(&c.h_n);
    test_untouched(&c.c_n);
    rnn_case_release(&c);
}

// The call is refused by the immediate function and by the making of a plan, naming the argument.
static void refused(husk_status wanted, const char *argument)
{
    husk_plan *plan = (husk_plan *)&c;
    husk_error error;
    test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), wanted, argument);
    test_refused_error(husk_rnn_plan_create(test_context(), &c.params, &c.inputs, &c.outputs, &plan, &error), &error,
                       wanted, argument);
    ck_assert_ptr_null(plan);
}

START_TEST(test_null_structs)
{
    test_refused(husk_rnn(test_silent_queue(), NULL, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, "params");
    test_refused(husk_rnn(test_silent_queue(), &c.params, NULL, &c.outputs), HUSK_INVALID_ARGUMENT, "inputs");
    test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, NULL), HUSK_INVALID_ARGUMENT, "outputs");
    ck_assert_int_eq(husk_rnn(NULL, &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT);
    husk_error error;
    test_refused_error(husk_rnn_plan_create(test_context(), &c.params, &c.inputs, &c.outputs, NULL, &error), &error,
                       HUSK_INVALID_ARGUMENT, "plan");
}
END_TEST

START_TEST(test_bad_params)
{
    const husk_rnn_params good = c.params;
    c.params.cell = (husk_rnn_cell)4;
    refused(HUSK_INVALID_ARGUMENT, "cell");
    c.params = good;
    c.params.reset = (husk_gru_reset)2;
    refused(HUSK_INVALID_ARGUMENT, "reset");
    c.params = good;
    c.params.precision = (husk_precision)-1;
    refused(HUSK_INVALID_ARGUMENT, "precision");
    c.params = good;
    c.params.hidden_size = 0;
    refused(HUSK_INVALID_ARGUMENT, "hidden_size");
    c.params.hidden_size = -6;
    refused(HUSK_INVALID_ARGUMENT, "hidden_size");
    c.params.hidden_size = INT64_MAX / 2;
    refused(HUSK_INVALID_ARGUMENT, "hidden_size");
    c.params = good;
    c.params.layers = -1;
    refused(HUSK_INVALID_ARGUMENT, "layers");
    c.params.layers = 1000;
    refused(HUSK_UNSUPPORTED, "layers");
    c.params = good;
    c.params.size = 4096;
    refused(HUSK_INVALID_ARGUMENT, "params");
    c.params = good;
    c.params.variant = "nonsense";
    refused(HUSK_INVALID_ARGUMENT, "nonsense");
    c.params = good;
}
END_TEST

START_TEST(test_missing_tensors)
{
    const husk_rnn_inputs inputs = c.inputs;
    const husk_rnn_outputs outputs = c.outputs;
    c.inputs.x = NULL;
    refused(HUSK_INVALID_ARGUMENT, "x");
    c.inputs = inputs;
    c.inputs.weights = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights");
    c.inputs = inputs;
    c.outputs.y = NULL;
    refused(HUSK_INVALID_ARGUMENT, "y");
    c.outputs = outputs;
    const husk_rnn_weights good = c.weights[3];
    c.weights[3].input = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights[3].input");
    c.weights[3] = good;
    c.weights[3].hidden = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights[3].hidden");
    c.weights[3] = good;
    c.weights[3].hidden_bias = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights[3].hidden_bias");
    c.weights[3] = good;
    c.weights[2].input_bias = NULL;
    refused(HUSK_INVALID_ARGUMENT, "weights[2].input_bias");
}
END_TEST

// A cell state with a cell that has none.
START_TEST(test_cell_state_of_gru)
{
    const int64_t rows = 18, input[2] = {18, 5}, above[2] = {18, 12}, hidden[2] = {18, 6};
    husk_tensor first = husk_tensor_make(NULL, HUSK_F32, 2, input), second = husk_tensor_make(NULL, HUSK_F32, 2, above);
    husk_tensor recurrent = husk_tensor_make(NULL, HUSK_F32, 2, hidden),
                bias = husk_tensor_make(NULL, HUSK_F32, 1, &rows);
    c.params.cell = HUSK_RNN_GRU;
    for (int i = 0; i < 4; i++)
        c.weights[i] = (husk_rnn_weights){i < 2 ? &first : &second, &recurrent, &bias, &bias};
    refused(HUSK_INVALID_ARGUMENT, "c0");
    c.inputs.c0 = NULL;
    refused(HUSK_INVALID_ARGUMENT, "c_n");
}
END_TEST

// Every tensor in turn: rank, a dimension, dtype, a negative one.
static void spoil(husk_tensor *tensor, const char *argument, husk_status wanted_dtype)
{
    const husk_tensor good = *tensor;
    tensor->rank++;
    tensor->shape[tensor->rank - 1] = 1;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = good;
    tensor->shape[0] = -1;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = good;
    tensor->dtype = good.dtype == HUSK_I32 ? HUSK_F32 : HUSK_I64;
    refused(wanted_dtype, argument);
    *tensor = good;
    tensor->dtype = (husk_dtype)77;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = good;
    tensor->strides[0] = INT64_MAX;
    tensor->shape[0] = 2 + good.shape[0];
    tensor->strides[good.rank - 1] = 1;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = good;
}

START_TEST(test_bad_tensors)
{
    spoil(&c.x.tensor, "x", HUSK_UNSUPPORTED);
    spoil(&c.lengths.tensor, "lengths", HUSK_INVALID_ARGUMENT);
    spoil(&c.h0.tensor, "h0", HUSK_UNSUPPORTED);
    spoil(&c.c0.tensor, "c0", HUSK_UNSUPPORTED);
    spoil(&c.y.tensor, "y", HUSK_UNSUPPORTED);
    spoil(&c.h_n.tensor, "h_n", HUSK_UNSUPPORTED);
    spoil(&c.c_n.tensor, "c_n", HUSK_UNSUPPORTED);
    spoil(&c.tensors[0][0].tensor, "weights[0].input", HUSK_UNSUPPORTED);
    spoil(&c.tensors[1][1].tensor, "weights[1].hidden", HUSK_UNSUPPORTED);
    spoil(&c.tensors[2][2].tensor, "weights[2].input_bias", HUSK_UNSUPPORTED);
    spoil(&c.tensors[3][3].tensor, "weights[3].hidden_bias", HUSK_UNSUPPORTED);
}
END_TEST

// Known dtypes, but not x's.
START_TEST(test_mixed_dtypes)
{
    husk_tensor *const tensors[] = {
        &c.h0.tensor, &c.c0.tensor, &c.y.tensor, &c.h_n.tensor, &c.tensors[1][1].tensor, &c.tensors[2][2].tensor};
    static const char *const names[] = {"h0", "c0", "y", "h_n", "weights[1].hidden", "weights[2].input_bias"};
    for (int i = 0; i < 6; i++) {
        tensors[i]->dtype = i % 2 ? HUSK_F16 : HUSK_BF16;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        tensors[i]->dtype = HUSK_F64;
        refused(HUSK_INVALID_ARGUMENT, names[i]);
        tensors[i]->dtype = HUSK_F32;
    }
    c.x.tensor.dtype = HUSK_F16;
    refused(HUSK_INVALID_ARGUMENT, "h0");
    c.x.tensor.dtype = HUSK_F64;
    refused(HUSK_INVALID_ARGUMENT, "h0");
    c.x.tensor.dtype = HUSK_F32;
}
END_TEST

static void misshape(husk_tensor *tensor, int dimension, const char *argument)
{
    const husk_tensor good = *tensor;
    tensor->shape[dimension]--;
    refused(HUSK_INVALID_ARGUMENT, argument);
    *tensor = good;
}

START_TEST(test_mismatched_shapes)
{
    misshape(&c.lengths.tensor, 0, "lengths");
    for (int d = 0; d < 3; d++) {
        misshape(&c.h0.tensor, d, "h0");
        misshape(&c.c0.tensor, d, "c0");
        misshape(&c.y.tensor, d, "y");
        misshape(&c.h_n.tensor, d, "h_n");
        misshape(&c.c_n.tensor, d, "c_n");
    }
    for (int d = 0; d < 2; d++) {
        misshape(&c.tensors[0][0].tensor, d, "weights[0].input");
        misshape(&c.tensors[2][0].tensor, d, "weights[2].input");
        misshape(&c.tensors[1][1].tensor, d, "weights[1].hidden");
    }
    misshape(&c.tensors[3][2].tensor, 0, "weights[3].input_bias");
    misshape(&c.tensors[0][3].tensor, 0, "weights[0].hidden_bias");
}
END_TEST

START_TEST(test_bad_strides)
{
    husk_tensor *const tensors[] = {&c.h0.tensor,  &c.c0.tensor,  &c.y.tensor,
                                    &c.h_n.tensor, &c.c_n.tensor, &c.tensors[0][1].tensor};
    static const char *const names[] = {"h0", "c0", "y", "h_n", "c_n", "weights[0].hidden"};
    for (int i = 0; i < 6; i++) {
        const husk_tensor good = *tensors[i];
        test_layout_strides(TEST_REVERSED, good.rank, good.shape, tensors[i]->strides);
        refused(HUSK_UNSUPPORTED, names[i]);
        *tensors[i] = good;
    }
    const husk_tensor good = c.y.tensor;
    c.y.tensor.strides[0] = c.y.tensor.strides[1] = 12;
    c.y.tensor.strides[2] = 1;
    refused(HUSK_INVALID_ARGUMENT, "y");
    c.y.tensor = good;
}
END_TEST

// Beyond the buffer, and on top of one another: only a call with memory can say so.
START_TEST(test_memory)
{
    husk_tensor *const tensors[] = {&c.x.tensor,
                                    &c.lengths.tensor,
                                    &c.h0.tensor,
                                    &c.c0.tensor,
                                    &c.y.tensor,
                                    &c.h_n.tensor,
                                    &c.c_n.tensor,
                                    &c.tensors[0][0].tensor,
                                    &c.tensors[1][1].tensor,
                                    &c.tensors[2][2].tensor,
                                    &c.tensors[3][3].tensor};
    static const char *const names[] = {"x",
                                        "lengths",
                                        "h0",
                                        "c0",
                                        "y",
                                        "h_n",
                                        "c_n",
                                        "weights[0].input",
                                        "weights[1].hidden",
                                        "weights[2].input_bias",
                                        "weights[3].hidden_bias"};
    for (int i = 0; i < 11; i++) {
        const husk_tensor good = *tensors[i];
        tensors[i]->offset += 1 << 20;
        test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, names[i]);
        *tensors[i] = good;
        tensors[i]->buffer = NULL;
        test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, names[i]);
        *tensors[i] = good;
    }
    const husk_tensor good = c.h_n.tensor, good_c = c.c_n.tensor;
    c.h_n.tensor.buffer = c.y.tensor.buffer;
    c.h_n.tensor.offset = c.y.tensor.offset;
    test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, "h_n");
    c.h_n.tensor = good;
    c.c_n.tensor.buffer = c.tensors[1][1].tensor.buffer;
    c.c_n.tensor.offset = 0;
    test_refused(husk_rnn(test_silent_queue(), &c.params, &c.inputs, &c.outputs), HUSK_INVALID_ARGUMENT, "c_n");
    c.c_n.tensor = good_c;
}
END_TEST

// ---- plans and packed weights ----

static husk_plan *make_plan(rnn_case *of, const char *variant)
{
    husk_plan *plan = NULL;
    husk_error error;
    husk_rnn_params params = of->params;
    params.variant = variant;
    test_ok_error(husk_rnn_plan_create(test_context(), &params, &of->inputs, &of->outputs, &plan, &error), &error);
    return plan;
}

static void run_refused(husk_plan *plan, husk_status wanted, const char *argument)
{
    test_refused(husk_rnn_plan_run(plan, test_silent_queue(), &c.inputs, &c.outputs), wanted, argument);
}

START_TEST(test_other_tensors_than_planned)
{
    husk_plan *plan = make_plan(&c, NULL);
    const husk_rnn_inputs inputs = c.inputs;
    const husk_rnn_outputs outputs = c.outputs;
    c.inputs.h0 = NULL;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "h0");
    c.inputs = inputs;
    c.inputs.lengths = NULL;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "lengths");
    c.inputs = inputs;
    c.inputs.weights = NULL;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "weights");
    c.inputs = inputs;
    c.outputs.c_n = NULL;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "c_n");
    c.outputs = outputs;
    const husk_tensor x = c.x.tensor;
    c.x.tensor.shape[0]--;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "x");
    c.x.tensor = x;
    const husk_tensor w = c.tensors[1][1].tensor;
    c.tensors[1][1].tensor.strides[0] = 7;
    c.tensors[1][1].tensor.strides[1] = 1;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "weights[1]");
    c.tensors[1][1].tensor = w;
    run_refused(NULL, HUSK_INVALID_ARGUMENT, "plan");
    husk_plan_release(plan);
}
END_TEST

START_TEST(test_packing_refusals)
{
    husk_plan *plan = make_plan(&c, NULL);
    husk_packed *packed = (husk_packed *)&c;
    test_refused(husk_rnn_plan_pack(plan, test_silent_queue(), NULL, &packed), HUSK_INVALID_ARGUMENT, "weights");
    ck_assert_ptr_null(packed);
    test_refused(husk_rnn_plan_pack(plan, test_silent_queue(), c.weights, NULL), HUSK_INVALID_ARGUMENT, "packed");
    test_refused(husk_rnn_plan_pack(NULL, test_silent_queue(), c.weights, &packed), HUSK_INVALID_ARGUMENT, "plan");
    husk_tensor *hidden = &c.tensors[2][1].tensor;
    const husk_tensor good = *hidden;
    hidden->buffer = NULL;
    test_refused(husk_rnn_plan_pack(plan, test_silent_queue(), c.weights, &packed), HUSK_INVALID_ARGUMENT,
                 "weights[2].hidden");
    *hidden = good;
    husk_plan_release(plan);
}
END_TEST

// Weights packed for other options, another variant, another operator, and beside plain ones.
START_TEST(test_foreign_packed)
{
    rnn_shape shape = c.shape;
    shape.has_hidden_bias = false;
    rnn_case other;
    rnn_case_make(&shape, &other);
    husk_plan *plan = make_plan(&c, "panel"), *tile = make_plan(&c, "tile:16x16"),
              *foreign = make_plan(&other, "panel");
    husk_packed *own = NULL, *packed = NULL, *product = NULL;
    test_ok(husk_rnn_plan_pack(plan, test_queue(), c.weights, &own));
    test_ok(husk_rnn_plan_pack(foreign, test_queue(), other.weights, &packed));
    c.inputs.packed = own;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "packed");
    refused(HUSK_INVALID_ARGUMENT, "packed");
    c.inputs.weights = NULL;
    run_refused(tile, HUSK_INVALID_ARGUMENT, "packed");
    c.inputs.packed = packed;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "packed");
    // Packed weights of another hidden size, in an immediate call and in a plan made from them.
    shape.inputs++;
    rnn_case wider;
    rnn_case_make(&shape, &wider);
    wider.inputs.weights = NULL;
    wider.inputs.packed = packed;
    test_refused(husk_rnn(test_silent_queue(), &wider.params, &wider.inputs, &wider.outputs), HUSK_INVALID_ARGUMENT,
                 "packed");
    rnn_case_release(&wider);
    // Packed for gemm.
    const char *variant = test_lacks_panels("packed") ? "tiled" : "packed";
    const husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .variant = variant);
    const husk_tensor a = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){8, 5});
    const husk_tensor product_c = husk_tensor_make(NULL, HUSK_F32, 2, (int64_t[]){8, 24});
    husk_plan *gemm = NULL;
    husk_error error;
    test_ok_error(
        husk_gemm_plan_create(test_context(), &params, &a, &c.tensors[0][0].tensor, NULL, &product_c, &gemm, &error),
        &error);
    test_ok(husk_gemm_plan_pack(gemm, test_queue(), &c.tensors[0][0].tensor, &product));
    c.inputs.packed = product;
    run_refused(plan, HUSK_INVALID_ARGUMENT, "packed");
    refused(HUSK_INVALID_ARGUMENT, "packed");
    run_refused(gemm, HUSK_INVALID_ARGUMENT, "plan");
    husk_packed_release(own);
    husk_packed_release(packed);
    husk_packed_release(product);
    husk_plan_release(plan);
    husk_plan_release(tile);
    husk_plan_release(foreign);
    husk_plan_release(gemm);
    rnn_case_release(&other);
}
END_TEST

// Training takes weights as they are: a plan with a reserve, too, whoever has packed them.
START_TEST(test_packed_training)
{
    for (int i = 0; i < 2; ++i) {
        const char *const variant = i ? "tile:16x16" : "panel";
        husk_plan *inference = make_plan(&c, variant);
        husk_packed *packed = NULL;
        test_ok(husk_rnn_plan_pack(inference, test_queue(), c.weights, &packed));
        const int64_t count = husk_rnn_reserve_size(&c.params, &c.x.tensor);
        test_tensor reserve = test_output(HUSK_F32, 1, &count, TEST_PACKED);
        const husk_rnn_inputs inputs = c.inputs;
        c.outputs.reserve = &reserve.tensor;
        husk_plan *training = make_plan(&c, variant);
        c.inputs.weights = NULL;
        c.inputs.packed = packed;
        run_refused(training, HUSK_UNSUPPORTED, "packed");
        refused(HUSK_UNSUPPORTED, "packed");
        test_untouched(&reserve);
        c.inputs = inputs;
        c.outputs.reserve = NULL;
        husk_packed_release(packed);
        husk_plan_release(training);
        husk_plan_release(inference);
    }
}
END_TEST

TCase *rnn_refusals(void)
{
    TCase *cases = tcase_create("refusals");
    tcase_add_checked_fixture(cases, set_up, tear_down);
    tcase_add_test(cases, test_null_structs);
    tcase_add_test(cases, test_bad_params);
    tcase_add_test(cases, test_missing_tensors);
    tcase_add_test(cases, test_cell_state_of_gru);
    tcase_add_test(cases, test_bad_tensors);
    tcase_add_test(cases, test_mixed_dtypes);
    tcase_add_test(cases, test_mismatched_shapes);
    tcase_add_test(cases, test_bad_strides);
    tcase_add_test(cases, test_memory);
    tcase_add_test(cases, test_other_tensors_than_planned);
    tcase_add_test(cases, test_packing_refusals);
    tcase_add_test(cases, test_foreign_packed);
    tcase_add_test(cases, test_packed_training);
    return cases;
}
