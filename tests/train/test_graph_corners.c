// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=300 with=whole_gradient
// Graphs at their corners: parts of a value beside the whole, values that are changed between a forward and its
// backward, steps that fail half way, sizes beyond 64 bits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/graph/compiled.h"
#include "train/whole_gradient.h"

enum { BATCH = 4, WIDTH = 6 };

static const husk_optimizer_params momentum = {
    .size = sizeof(husk_optimizer_params), .kind = HUSK_OPTIMIZER_SGD, .rate = 0.05f, .momentum = 0.9f};
static const husk_linear_layer linear = {.size = sizeof(husk_linear_layer), .outputs = WIDTH};

static void refused(husk_graph *graph, husk_status status, const char *words)
{
    ck_assert_int_eq(status, HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, words), "%s", husk_graph_error(graph)->text);
}

static husk_value input(husk_graph *graph)
{
    return husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){BATCH, WIDTH});
}

static husk_value norm_of(husk_graph *graph, husk_value x)
{
    return husk_graph_reduce(graph, "loss", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), x);
}

// A linear layer, and the norm of what it gives.
static husk_graph *compile_small(husk_graph_options options)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    options.loss = norm_of(graph, husk_graph_linear(graph, "fc", &linear, input(graph)));
    if (!options.optimizer)
        options.optimizer = &momentum;
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 1, 0);
    return graph;
}

static void read_parameters(husk_graph *graph, float **host, uint64_t *bytes)
{
    husk_buffer *buffer = graph->compiled->regions[HUSK__REGION_PARAMETERS];
    *bytes = husk_buffer_size(buffer);
    *host = malloc(*bytes);
    test_ok(husk_buffer_read(graph->queue, buffer, 0, *bytes, *host));
}

static void expect_same_parameters(husk_graph *a, husk_graph *b)
{
    float *one, *other;
    uint64_t bytes, others;
    read_parameters(a, &one, &bytes);
    read_parameters(b, &other, &others);
    ck_assert_uint_eq(bytes, others);
    ck_assert(isfinite(one[0]) && memcmp(one, other, bytes) == 0);
    free(one);
    free(other);
}

// ---- memory ----

// [BATCH, WIDTH] less its own first column: the column has the same strides, and is not the whole.
START_TEST(a_part_of_a_value_is_not_overwritten_beside_the_whole)
{
    double losses[2][2];
    for (uint32_t apart = 0; apart < 2; apart++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_value x = husk_graph_linear(graph, "fc", &linear, input(graph));
        husk_value first = husk_graph_slice(graph, NULL, x, 1, 0, 1);
        husk_binary_params params = husk_binary_defaults(HUSK_BINARY_SUBTRACT);
        husk_value y = husk_graph_binary(graph, "difference", &params, x, first);
        husk_graph_options options =
            HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum, .keep_values = apart);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        test_fill_input(graph, "x", 1, 0);
        for (int mode = 0; mode < 2; mode++) {
            test_graph_ok(graph, husk_graph_forward(graph, (husk_graph_mode)mode));
            losses[apart][mode] = test_read_loss(graph, "loss");
        }
        test_graph_ok(graph, husk_graph_backward(graph));
        husk_graph_release(graph);
    }
    ck_assert(losses[0][0] > 0 && losses[0][0] == losses[1][0] && losses[0][1] == losses[1][1]);
}
END_TEST

// Layer normalisation whose scale was computed, and has x's shape: three gradients could have the memory of one.
START_TEST(one_memory_is_taken_over_once)
{
    for (int trained = 0; trained < 2; trained++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_reduce_params rows = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axis_count = 1, .axes = {-1});
        husk_value x = input(graph);
        husk_value from = trained ? husk_graph_linear(graph, "fc", &linear, x) : x;
        husk_value values = husk_graph_reduce(graph, "values", &rows, from);
        husk_value scale = husk_graph_reduce(graph, "scale", &rows, husk_graph_linear(graph, "fc2", &linear, x));
        husk_value y = husk_graph_norm(graph, "norm", NULL, values, scale, scale, HUSK_NO_VALUE, HUSK_NO_VALUE);
        husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        test_fill_input(graph, "x", 1, 0);
        test_graph_ok(graph, husk_graph_step(graph));
        husk_graph_release(graph);
    }
}
END_TEST

// ---- what is asked for ----

START_TEST(a_pinned_variant_is_that_of_forward_alone)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){2, 4, 8, 8});
    // Neither is a variant of the gradients; kernels for CPUs want more private memory than GPUs have.
    const char *variant = test_device_is_home() ? "implicit_gemm" : "tiled";
    husk_conv_params pinned = HUSK_CONV_PARAMS(.pad = {1, 1}, .variant = variant);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &pinned);
    husk_value y = husk_graph_conv_layer(graph, "conv2", &conv, husk_graph_conv_layer(graph, "conv1", &conv, x));
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    husk_graph_release(graph);
}
END_TEST

// The loss is read after a step, so nothing else may become one call with it.
START_TEST(what_the_loss_is_made_of_is_there)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 2, (int64_t[]){1, WIDTH});
    husk_value z = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = 1), x);
    husk_value p = husk_graph_activation(graph, "p", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_SIGMOID), z);
    husk_graph_output(graph, "probability", p);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = z, .optimizer = &momentum);
    husk_graph_memory memory, used;
    test_ok_error(husk_graph_measure(graph, &options, &memory, &error), &error);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    husk_graph_memory_used(graph, &used);
    ck_assert_uint_eq(memory.arena, used.arena);
    test_fill_input(graph, "x", 1, 0);
    test_graph_ok(graph, husk_graph_step(graph));
    float probability;
    test_graph_ok(graph, husk_graph_read(graph, "probability", &probability, sizeof probability));
    double loss = test_read_loss(graph, "fc");
    ck_assert(fabs((double)probability - 1 / (1 + exp(-loss))) < 1e-6);
    husk_graph_release(graph);
}
END_TEST

START_TEST(a_view_that_is_not_packed_is_gathered)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value y = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_graph_output(graph, "y", y);
    husk_graph_output(graph, "turned", husk_graph_permute(graph, "turned_view", y, (int32_t[]){1, 0}));
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = HUSK_NO_VALUE);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 1, 0);
    float values[BATCH][WIDTH], turned[WIDTH][BATCH];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "y", values, sizeof values));
    test_graph_ok(graph, husk_graph_read(graph, "turned_view", turned, sizeof turned));
    for (int i = 0; i < BATCH; i++)
        for (int j = 0; j < WIDTH; j++)
            ck_assert(values[i][j] == turned[j][i] && values[i][j] != 0.0f);
    refused(graph, husk_graph_write(graph, "turned", turned, sizeof turned), "is computed");
    husk_graph_release(graph);
}
END_TEST

// Products of extents that pass 64 bits come to nothing, or to anything, when they are formed.
START_TEST(a_shape_that_fits_in_no_way_is_refused)
{
    const int64_t counts[] = {65535, 1000, 4};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int open = 0; open < 2; open++) {
            husk_graph *graph = test_graph(HUSK_F32, 3);
            int64_t shape[HUSK_MAX_RANK];
            for (int d = 0; d < HUSK_MAX_RANK; d++)
                shape[d] = counts[i];
            shape[HUSK_MAX_RANK - 1] = open ? -1 : counts[i];
            husk_value x = husk_graph_input(graph, "u", HUSK_U8, 1, &counts[i]);
            ck_assert_int_eq(husk_graph_reshape(graph, "r", x, HUSK_MAX_RANK, shape), HUSK_NO_VALUE);
            refused(graph, husk_graph_error(graph)->status, "husk_graph_reshape: r: shape: [");
            husk_graph_release(graph);
        }
}
END_TEST

START_TEST(an_input_of_concat_is_named_with_its_shape)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_value x = husk_graph_input(graph, "a", HUSK_F32, 3, (int64_t[]){2, 3, 4});
    husk_value flat = husk_graph_input(graph, "b", HUSK_F32, 2, (int64_t[]){2, 3});
    husk_graph_concat(graph, "c", &HUSK_CONCAT_PARAMS(.axis = 1), (husk_value[]){x, flat}, 2);
    refused(graph, husk_graph_error(graph)->status, "inputs: number 1 has the shape [2, 3], the first one [2, 3, 4]");
    husk_graph_release(graph);
    graph = test_graph(HUSK_F32, 3);
    husk_value many[8], huge = husk_graph_input(graph, "huge", HUSK_F32, 1, (int64_t[]){INT64_C(1) << 60});
    for (int i = 0; i < 8; i++)
        many[i] = huge;
    husk_graph_concat(graph, "c", NULL, many, 8);
    refused(graph, husk_graph_error(graph)->status, "husk_graph_concat: c: inputs: there are too many elements");
    husk_graph_release(graph);
}
END_TEST

// A cast that the program has made itself is no output before it is made one.
START_TEST(a_cast_can_be_made_an_output)
{
    husk_graph *graph = test_graph(HUSK_F16, 3);
    husk_error error = {0};
    husk_value y = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_graph_cast(graph, "wide", y, HUSK_F32);
    for (int again = 0; again < 2; again++)
        husk_graph_output(graph, "wide", y);
    test_ok_error(husk_graph_compile(graph, NULL, &error), &error);
    test_fill_input(graph, "x", 1, 0);
    float values[BATCH][WIDTH];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "wide", values, sizeof values));
    ck_assert(values[0][0] != 0 && isfinite(values[BATCH - 1][WIDTH - 1]));
    husk_graph_release(graph);
}
END_TEST

// ---- parts of a network ----

static void read_gradients(husk_graph *graph, float **host, uint64_t *bytes)
{
    husk_buffer *buffer = graph->compiled->regions[HUSK__REGION_GRADIENTS];
    *bytes = husk_buffer_size(buffer);
    *host = malloc(*bytes);
    test_ok(husk_buffer_read(graph->queue, buffer, 0, *bytes, *host));
}

// The gradient by the loss itself, or by what depends on it, is given: it adds to 1, in each step anew.
START_TEST(a_gradient_by_the_loss_may_be_given)
{
    for (int behind = 0; behind < 2; behind++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_value loss = norm_of(graph, husk_graph_linear(graph, "fc", &linear, input(graph)));
        husk_unary_params negate = HUSK_UNARY_PARAMS(.op = HUSK_UNARY_NEGATE);
        husk_graph_output_gradient(graph, "given", behind ? husk_graph_unary(graph, "behind", &negate, loss) : loss);
        husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = loss);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        test_fill_input(graph, "x", 1, 0);
        const float given[] = {0, 2, 2};
        float *gradients[3];
        uint64_t bytes;
        for (int step = 0; step < 3; step++) {
            test_graph_ok(graph, husk_graph_write(graph, "given", &given[step], sizeof given[step]));
            test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
            test_graph_ok(graph, husk_graph_backward(graph)); // without an optimizer a step ends with it
            read_gradients(graph, &gradients[step], &bytes);
        }
        ck_assert(memcmp(gradients[1], gradients[2], bytes) == 0);
        float largest = 0;
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            largest = fmaxf(largest, fabsf(gradients[0][i]));
        ck_assert(largest > 0);
        for (size_t i = 0; i < bytes / sizeof(float); i++)
            ck_assert_float_eq_tol(gradients[1][i], (behind ? -1 : 3) * gradients[0][i], 1e-6f * largest);
        for (int step = 0; step < 3; step++)
            free(gradients[step]);
        husk_graph_release(graph);
    }
}
END_TEST

// A micro-batch's values are read where its own last forward has put them.
START_TEST(each_micro_batch_has_a_mode)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value hidden = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_value thinned = husk_graph_dropout(graph, "drop", &HUSK_DROPOUT_PARAMS(.p = 0.5f), hidden);
    husk_conv_params pad = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 2, .window = {3, 3}, .params = &pad);
    husk_pool_params pool = HUSK_POOL_PARAMS(.window = {2, 2}, .stride = {2, 2});
    husk_value image = husk_graph_reshape(graph, "image", thinned, 4, (int64_t[]){BATCH, 1, 2, WIDTH / 2});
    husk_value pooled = husk_graph_pool(graph, "pool", &pool, husk_graph_conv_layer(graph, "conv", &conv, image));
    husk_activation_params gelu = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU);
    husk_graph_options options =
        HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, husk_graph_activation(graph, "gelu", &gelu, pooled)),
                           .keep_values = 1, .micro_batches = 2);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    static const char *const names[] = {"fc", "drop", "conv", "pool", "gelu"};
    float before[5][BATCH * WIDTH * 2], after[BATCH * WIDTH * 2];
    uint64_t bytes[5];
    test_fill_input(graph, "x", 1, 0);
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    for (int again = 0; again < 2; again++) {
        for (int i = 0; i < 5; i++) {
            husk_tensor tensor;
            test_graph_ok(graph, husk_graph_tensor(graph, names[i], &tensor));
            bytes[i] = (uint64_t)husk_tensor_count(&tensor) * sizeof(float);
            test_graph_ok(graph, husk_graph_read(graph, names[i], again ? after : before[i], bytes[i]));
            ck_assert_msg(!again || memcmp(before[i], after, bytes[i]) == 0, "%s", names[i]);
        }
        test_graph_ok(graph, husk_graph_micro_batch(graph, 1));
        test_fill_input(graph, "x", 2, 0);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        test_graph_ok(graph, husk_graph_micro_batch(graph, 0));
    }
    husk_graph_release(graph);
}
END_TEST

// A forward that is made again while another micro-batch waits has masks of its own.
START_TEST(each_forward_that_waits_has_its_masks)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value hidden = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_value thinned = husk_graph_dropout(graph, "drop", &HUSK_DROPOUT_PARAMS(.p = 0.5f), hidden);
    husk_graph_output(graph, "drop", thinned);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, thinned), .micro_batches = 2);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    float values[2][BATCH * WIDTH];
    for (uint32_t m = 0; m < 2; m++) {
        test_graph_ok(graph, husk_graph_micro_batch(graph, m));
        test_fill_input(graph, "x", 1, 0);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    }
    test_graph_ok(graph, husk_graph_read(graph, "drop", values[1], sizeof values[1]));
    test_graph_ok(graph, husk_graph_micro_batch(graph, 0));
    for (int again = 0; again < 2; again++) { // the same number as long as nothing waits that is newer
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        test_graph_ok(graph, husk_graph_read(graph, "drop", values[0], sizeof values[0]));
        ck_assert(memcmp(values[0], values[1], sizeof values[0]) != 0);
    }
    husk_graph_release(graph);
}
END_TEST

// ---- frozen parts ----

// Everything that has a bias, its weights frozen: gradients of the others are those of the whole.
START_TEST(biases_may_be_learnt_alone)
{
    float *gradients[2][4];
    for (int frozen = 0; frozen < 2; frozen++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){2, 2, 4, 4});
        husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 3, .window = {3, 3});
        husk_value y = husk_graph_conv_layer(graph, "conv", &conv, x);
        y = husk_graph_reshape(graph, NULL, y, 3, (int64_t[]){2, 3, 4});
        y = husk_graph_norm_layer(graph, "norm", NULL, husk_graph_linear(graph, "fc", &linear, y));
        husk_rnn_params lstm = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = 3);
        y = husk_graph_rnn_layer(graph, "rnn", &HUSK_RNN_LAYER(.params = &lstm), y, HUSK_NO_VALUE, NULL, NULL);
        if (frozen) {
            husk_graph_freeze(graph, "conv.weight");
            husk_graph_freeze(graph, "fc.weight");
            husk_graph_freeze(graph, "norm.weight");
            husk_graph_freeze(graph, "rnn.weight_ih_l0");
            husk_graph_freeze(graph, "rnn.weight_hh_l0");
        }
        husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        test_fill_input(graph, "x", 1, 0);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        test_graph_ok(graph, husk_graph_backward(graph));
        static const char *const names[] = {"conv.bias", "fc.bias", "norm.bias", "rnn.bias_hh_l0"};
        for (int n = 0; n < 4; n++) {
            husk_parameter p = HUSK_PARAMETER();
            for (size_t i = 0; !p.name || strcmp(p.name, names[n]) != 0; i++)
                test_graph_ok(graph, husk_graph_parameter_at(graph, i, &p));
            uint64_t bytes = (uint64_t)husk_tensor_count(&p.gradient) * sizeof(float);
            gradients[frozen][n] = malloc(bytes);
            test_ok(husk_buffer_read(graph->queue, p.gradient.buffer, 4 * (uint64_t)p.gradient.offset, bytes,
                                     gradients[frozen][n]));
            for (size_t i = 0; i < bytes / sizeof(float) && frozen; i++)
                ck_assert_msg(fabsf(gradients[0][n][i] - gradients[1][n][i]) <= 1e-6f && gradients[0][n][i] != 0, "%s",
                              names[n]);
        }
        husk_graph_release(graph);
    }
    for (int n = 0; n < 4; n++) {
        free(gradients[0][n]);
        free(gradients[1][n]);
    }
}
END_TEST

// ---- between a forward and its backward ----

START_TEST(a_forward_whose_operands_changed_is_of_no_use)
{
    static const char words[] = "the last forward has to be in training, not used up yet, and what it has read not";
    husk_graph *graph = compile_small(HUSK_GRAPH_OPTIONS(0));
    float x[BATCH * WIDTH], weight[WIDTH * WIDTH];
    test_graph_ok(graph, husk_graph_read(graph, "x", x, sizeof x));
    test_graph_ok(graph, husk_graph_read(graph, "fc.weight", weight, sizeof weight));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_write(graph, "x", x, sizeof x));
    refused(graph, husk_graph_backward(graph), words);
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_write(graph, "fc.weight", weight, sizeof weight));
    refused(graph, husk_graph_backward(graph), words);
    husk_tensor own;
    test_graph_ok(graph, husk_graph_tensor(graph, "fc.bias", &own));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    husk_tensor bias = own;
    bias.buffer = graph->compiled->regions[HUSK__REGION_GRADIENTS];
    test_graph_ok(graph, husk_graph_write_tensor(graph, "fc.bias", &bias));
    refused(graph, husk_graph_backward(graph), words);
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_backward(graph));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_update(graph));
    refused(graph, husk_graph_backward(graph), words);
    // One batch too many is refused before anything is computed.
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    test_graph_ok(graph, husk_graph_backward(graph));
    const husk_graph_position before = husk_graph_get_position(graph);
    refused(graph, husk_graph_step(graph), "1 of 1 batches are in: husk_graph_update comes before the next");
    ck_assert_uint_eq(before.batches, husk_graph_get_position(graph).batches);
    husk_graph_release(graph);
}
END_TEST

static husk_status fail_once(void *user, husk_graph *graph, size_t index)
{
    int *left = user;
    (void)graph;
    (void)index;
    return (*left)-- == 0 ? HUSK_IO : HUSK_OK;
}

START_TEST(a_backward_that_fails_drops_the_step)
{
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.accumulate = 2, .bucket_bytes = 16);
    husk_graph *graph = compile_small(options), *sound = compile_small(options);
    ck_assert_uint_gt(husk_graph_bucket_count(graph), 1);
    int left = 1; // the second bucket, when the first one has the batch in it
    husk_graph_on_bucket(graph, fail_once, &left);
    test_graph_ok(graph, husk_graph_step(graph));
    ck_assert_int_eq(husk_graph_step(graph), HUSK_IO);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, "the callback has failed at bucket 1"), "%s",
                  husk_graph_error(graph)->text);
    husk_graph_on_bucket(graph, NULL, NULL);
    for (int batch = 0; batch < 2; batch++) {
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(sound, husk_graph_step(sound));
    }
    ck_assert_uint_eq(husk_graph_get_position(graph).updates, 1);
    expect_same_parameters(graph, sound);
    husk_graph_release(graph);
    husk_graph_release(sound);
}
END_TEST

// ---- numbers that are not finite ----

static husk_graph *compile_normalised_with(husk_graph_options options)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_value hidden = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_value y = husk_graph_norm_layer(graph, "bn", &HUSK_NORM_LAYER(.params = &batch), hidden);
    options.loss = norm_of(graph, y);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 1, 0);
    return graph;
}

static husk_graph *compile_normalised(uint32_t check_finite)
{
    return compile_normalised_with(HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .check_finite = check_finite));
}

START_TEST(a_batch_that_overflows_leaves_no_trace)
{
    husk_graph *graph = compile_normalised(1), *sound = compile_normalised(1);
    float x[BATCH * WIDTH], huge[BATCH * WIDTH];
    for (int step = 0; step < 2; step++) {
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(sound, husk_graph_step(sound));
    }
    test_graph_ok(graph, husk_graph_read(graph, "x", x, sizeof x));
    for (int i = 0; i < BATCH * WIDTH; i++)
        huge[i] = x[i] > 0 ? 3e38f : -3e38f;
    test_graph_ok(graph, husk_graph_write(graph, "x", huge, sizeof huge));
    refused(graph, husk_graph_step(graph), "is what this node computed: fc");
    expect_same_parameters(graph, sound);
    test_graph_ok(graph, husk_graph_write(graph, "x", x, sizeof x));
    test_graph_ok(graph, husk_graph_step(graph));
    test_graph_ok(sound, husk_graph_step(sound));
    expect_same_parameters(graph, sound);
    husk_graph_release(graph);
    husk_graph_release(sound);
}
END_TEST

// Two batches a step, the second one's loss overflows. Looked at after backward, both go.
START_TEST(gradients_of_a_batch_that_overflows_are_dropped)
{
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .check_finite = 1, .accumulate = 2);
    husk_graph *graph = compile_normalised_with(options), *sound = compile_normalised_with(options);
    float x[BATCH * WIDTH], huge[BATCH * WIDTH];
    test_graph_ok(graph, husk_graph_read(graph, "x", x, sizeof x));
    for (int i = 0; i < BATCH * WIDTH; i++)
        huge[i] = x[i] > 0 ? 3e38f : -3e38f;
    for (int batch = 0; batch < 2; batch++) {
        test_graph_ok(graph, husk_graph_write(graph, "x", batch ? huge : x, sizeof x));
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        test_graph_ok(graph, husk_graph_backward(graph));
    }
    refused(graph, husk_graph_check_finite(graph), "is what this node computed: fc");
    refused(graph, husk_graph_update(graph), "0 of 2 batches are in");
    test_graph_ok(sound, husk_graph_forward(sound, HUSK_GRAPH_TRAINING)); // for its statistics
    test_graph_ok(graph, husk_graph_write(graph, "x", x, sizeof x));
    for (int batch = 0; batch < 2; batch++) {
        test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(sound, husk_graph_step(sound));
    }
    expect_same_parameters(graph, sound);
    husk_graph_release(graph);
    husk_graph_release(sound);
}
END_TEST

// What training has kept of statistics is not what an evaluation has used.
START_TEST(an_evaluation_is_not_looked_at)
{
    husk_graph *graph = compile_normalised(1), *sound = compile_normalised(1);
    test_graph_ok(graph, husk_graph_step(graph));
    test_graph_ok(sound, husk_graph_step(sound));
    float huge[BATCH * WIDTH];
    for (int i = 0; i < BATCH * WIDTH; i++)
        huge[i] = i % 2 ? 3e38f : -3e38f;
    test_graph_ok(graph, husk_graph_write(graph, "x", huge, sizeof huge));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    refused(graph, husk_graph_check_finite(graph), "the last forward was no training");
    expect_same_parameters(graph, sound);
    husk_graph_release(graph);
    husk_graph_release(sound);
}
END_TEST

// The product of a linear layer on more than two dimensions has no name of its own, and is looked at like others.
START_TEST(what_a_layer_computes_inside_is_looked_at)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 3, (int64_t[]){2, BATCH, WIDTH});
    husk_value y = husk_graph_linear(graph, "fc", &linear, x);
    y = husk_graph_softmax(graph, "soft", NULL, y);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    float huge[2 * BATCH * WIDTH];
    for (int i = 0; i < 2 * BATCH * WIDTH; i++)
        huge[i] = i % 2 ? 3e38f : -3e38f;
    test_graph_ok(graph, husk_graph_write(graph, "x", huge, sizeof huge));
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
    refused(graph, husk_graph_check_finite(graph), "is what this node computed: fc");
    husk_graph_release(graph);
}
END_TEST

// ---- compiling ----

START_TEST(numbers_of_the_optimizer_are_looked_at_in_compiling)
{
    for (uint32_t cold = 0; cold < 2; cold++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_optimizer_params adam = HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_ADAM, .rate = 0.1,
                                               .beta = 2.0, .beta2 = 0.999, .epsilon = 1e-8);
        husk_value y = husk_graph_linear(graph, "fc", &linear, input(graph));
        husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &adam, .cold = cold);
        ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strstr(error.text, "husk_graph_compile: ") && strstr(error.text, "beta"), "%s", error.text);
        options.optimizer = &momentum; // nothing is left of the failed one
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        husk_graph_release(graph);
    }
}
END_TEST

START_TEST(sizes_beyond_64_bits_are_out_of_memory)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    const int64_t huge = INT64_C(1) << 62;
    char name[] = "u0";
    for (; name[1] < '4'; name[1]++)
        husk_graph_input(graph, name, HUSK_U8, 1, &huge);
    husk_value y = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum);
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_OUT_OF_MEMORY);
    husk_graph_release(graph);
}
END_TEST

// NaN in an input of each dtype, whose bits are looked at on the host; infinity in one may be meant.
START_TEST(an_input_with_nan_is_named)
{
    const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16, HUSK_F64};
    const struct {
        float f32;
        uint16_t f16, bf16;
        double f64;
    } numbers[] = {{INFINITY, 0x7c00, 0x7f80, (double)INFINITY}, {NAN, 0xfe00, 0x7fc0, (double)NAN}};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        if (dtypes[d] == HUSK_F64 && !husk_context_has(test_context(), HUSK_FEATURE_F64))
            continue;
        husk_graph *graph = test_graph(dtypes[d], 3);
        husk_error error = {0};
        const uint64_t size = husk_dtype_size(dtypes[d]);
        husk_value x = husk_graph_input(graph, "x", dtypes[d], 2, (int64_t[]){BATCH, WIDTH});
        husk_value y = husk_graph_linear(graph, "fc", &linear, x);
        if (size == 2)
            y = husk_graph_cast(graph, "wide", y, HUSK_F32);
        husk_graph_options options =
            HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum, .check_finite = 1);
        test_ok_error(husk_graph_compile(graph, &options, &error), &error);
        for (int is_nan = 0; is_nan < 2; is_nan++) {
            char host[BATCH * WIDTH * sizeof(double)] = {0};
            const void *const from = dtypes[d] == HUSK_F32    ? (const void *)&numbers[is_nan].f32
                                     : dtypes[d] == HUSK_F16  ? (const void *)&numbers[is_nan].f16
                                     : dtypes[d] == HUSK_BF16 ? (const void *)&numbers[is_nan].bf16
                                                              : (const void *)&numbers[is_nan].f64;
            memcpy(host + 7 * size, from, size);
            test_graph_ok(graph, husk_graph_write(graph, "x", host, BATCH * WIDTH * size));
            test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
            refused(graph, husk_graph_check_finite(graph),
                    is_nan ? "is the input x" : "is what this node computed: fc");
        }
        husk_graph_release(graph);
    }
}
END_TEST

// A parameter of a graph of 16 bits, whose gradient is f32, where an operator gives it in 16 bits: alone, beside
// itself, and of a part. All numbers are whole and small.
START_TEST(narrow_gradients_are_added_up_in_f32)
{
    enum { PRODUCT = 1, SQUARE = 2, PART = 4, ALL = 8 };
    for (int d = 0; d < 3; d++)
        for (int uses = 1; uses < ALL; uses++) {
            husk_graph *graph = test_graph(d == 0 ? HUSK_F16 : d == 1 ? HUSK_BF16 : HUSK_F32, 3);
            husk_error error = {0};
            const husk_initializer two = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_CONSTANT, .value = 2);
            const husk_binary_params times = husk_binary_defaults(HUSK_BINARY_MULTIPLY),
                                     plus = husk_binary_defaults(HUSK_BINARY_ADD);
            husk_value wide = input(graph),
                       x = d < 2 ? husk_graph_cast(graph, NULL, wide, d ? HUSK_BF16 : HUSK_F16) : wide;
            husk_value p = husk_graph_parameter(graph, "p", 1, (int64_t[]){WIDTH}, &two), loss = HUSK_NO_VALUE;
            for (int use = PRODUCT; use < ALL; use *= 2) {
                if (!(uses & use))
                    continue;
                husk_value y = use == PRODUCT ? husk_graph_binary(graph, NULL, &times, x, p)
                               : use == SQUARE
                                   ? husk_graph_binary(graph, NULL, &times, p, p)
                                   : husk_graph_binary(graph, NULL, &times, husk_graph_slice(graph, NULL, x, 1, 1, 3),
                                                       husk_graph_slice(graph, NULL, p, 0, 2, 3));
                y = husk_graph_reduce(graph, NULL, &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_SUM),
                                      d < 2 ? husk_graph_cast(graph, NULL, y, HUSK_F32) : y);
                loss = loss ? husk_graph_binary(graph, NULL, &plus, loss, y) : y;
            }
            test_ok_error(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss), &error), &error);
            float host[BATCH][WIDTH], got[WIDTH], wanted[WIDTH] = {0};
            for (int i = 0; i < BATCH; i++)
                for (int j = 0; j < WIDTH; j++) {
                    host[i][j] = (float)((i * 5 + j * 3) % 7 - 2);
                    wanted[j] += uses & PRODUCT ? host[i][j] : 0;
                    if (uses & PART && j >= 1 && j < 4)
                        wanted[j + 1] += host[i][j];
                }
            for (int j = 0; j < WIDTH; j++)
                wanted[j] += uses & SQUARE ? 4 : 0;
            husk_parameter parameter = HUSK_PARAMETER();
            test_graph_ok(graph, husk_graph_write(graph, "x", host, sizeof host));
            test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
            test_graph_ok(graph, husk_graph_backward(graph));
            test_graph_ok(graph, husk_graph_parameter_at(graph, 0, &parameter));
            test_ok(husk_buffer_read(graph->queue, parameter.gradient.buffer, (uint64_t)parameter.gradient.offset * 4,
                                     sizeof got, got));
            for (int j = 0; j < WIDTH; j++)
                ck_assert_msg(got[j] == wanted[j], "dtype %d, uses %d: element %d is %g instead of %g", d, uses, j,
                              (double)got[j], (double)wanted[j]);
            husk_graph_release(graph);
        }
}
END_TEST

// What each optimizer keeps, and no more.
START_TEST(optimizers_keep_their_states)
{
    const struct {
        husk_optimizer_params params;
        bool keeps[3];
    } all[] = {
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_SGD, .rate = 0.1), {false, false, false}},
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_SGD, .rate = 0.1, .momentum = 0.5),
         {true, false, false}},
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_RMSPROP, .rate = 0.01, .beta = 0.99, .epsilon = 1e-8),
         {false, true, false}},
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_RMSPROP, .rate = 0.01, .centered = 1, .beta = 0.99,
                   .epsilon = 1e-8),
         {false, true, true}},
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_ADAMW, .rate = 0.01, .beta = 0.9, .beta2 = 0.999,
                   .epsilon = 1e-8),
         {true, true, false}},
        {HUSK_MAKE(husk_optimizer_params, .kind = HUSK_OPTIMIZER_ADAM, .rate = 0.01, .amsgrad = 1, .beta = 0.9,
                   .beta2 = 0.999, .epsilon = 1e-8),
         {true, true, true}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        husk_graph *graph = compile_small(HUSK_GRAPH_OPTIONS(.optimizer = &all[i].params));
        husk_parameter parameter = HUSK_PARAMETER();
        husk_graph_memory used;
        uint64_t kept = 0;
        test_graph_ok(graph, husk_graph_parameter_at(graph, 0, &parameter));
        for (int s = 0; s < 3; s++) {
            ck_assert_msg((parameter.states[s].buffer != NULL) == all[i].keeps[s], "optimizer %zu, state %d", i, s);
            kept += all[i].keeps[s];
        }
        husk_graph_memory_used(graph, &used);
        ck_assert_uint_eq(used.states, kept * used.gradients);
        double before = 0, after = 0;
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        before = test_read_loss(graph, "loss");
        for (int step = 0; step < 2; step++)
            test_graph_ok(graph, husk_graph_step(graph));
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING));
        after = test_read_loss(graph, "loss");
        ck_assert_msg(after < before, "optimizer %zu: from %g to %g", i, before, after);
        husk_graph_release(graph);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph_corners");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_part_of_a_value_is_not_overwritten_beside_the_whole);
    tcase_add_test(tests, one_memory_is_taken_over_once);
    tcase_add_test(tests, a_pinned_variant_is_that_of_forward_alone);
    tcase_add_test(tests, what_the_loss_is_made_of_is_there);
    tcase_add_test(tests, a_view_that_is_not_packed_is_gathered);
    tcase_add_test(tests, a_shape_that_fits_in_no_way_is_refused);
    tcase_add_test(tests, an_input_of_concat_is_named_with_its_shape);
    tcase_add_test(tests, a_cast_can_be_made_an_output);
    tcase_add_test(tests, a_gradient_by_the_loss_may_be_given);
    tcase_add_test(tests, each_micro_batch_has_a_mode);
    tcase_add_test(tests, each_forward_that_waits_has_its_masks);
    tcase_add_test(tests, biases_may_be_learnt_alone);
    tcase_add_test(tests, a_forward_whose_operands_changed_is_of_no_use);
    tcase_add_test(tests, a_backward_that_fails_drops_the_step);
    tcase_add_test(tests, a_batch_that_overflows_leaves_no_trace);
    tcase_add_test(tests, gradients_of_a_batch_that_overflows_are_dropped);
    tcase_add_test(tests, an_evaluation_is_not_looked_at);
    tcase_add_test(tests, what_a_layer_computes_inside_is_looked_at);
    tcase_add_test(tests, numbers_of_the_optimizer_are_looked_at_in_compiling);
    tcase_add_test(tests, an_input_with_nan_is_named);
    tcase_add_test(tests, narrow_gradients_are_added_up_in_f32);
    tcase_add_test(tests, optimizers_keep_their_states);
    tcase_add_test(tests, sizes_beyond_64_bits_are_out_of_memory);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
