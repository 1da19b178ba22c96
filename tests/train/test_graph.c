// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=120 with=whole_gradient,shared_memory
// Graphs: what is refused, where tensors lie, what steps do to parameters; on one small network, so that few programs
// are built.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/graph/compiled.h"
#include "train/shared_memory.h"
#include "train/whole_gradient.h"

enum { CLASSES = 5 };

// conv, ReLU and pooling; dropout if asked for; a residual linear layer; another one. Then the loss.
static husk_value build_network(husk_graph *graph, int64_t batch, float dropout)
{
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){batch, 2, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){batch});
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &same);
    husk_value a = husk_graph_conv_layer(graph, "conv1", &conv, x);
    husk_value pooled = husk_graph_pool(graph, "pool1", &HUSK_POOL_PARAMS(.window = {2, 2}), a);
    husk_value flat = husk_graph_reshape(graph, "flat", pooled, 2, (int64_t[]){batch, 64});
    if (dropout > 0)
        flat = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = dropout), flat);
    husk_value hidden =
        husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 64, .activation = HUSK_ACT_RELU), flat);
    husk_value sum = husk_graph_binary(
        graph, "sum", &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1), flat, hidden);
    husk_value logits = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), sum);
    husk_graph_output(graph, "logits", logits);
    return husk_graph_loss(graph, "loss", NULL, logits, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_graph *compiled_network(int64_t batch, float dropout, const char *frozen, husk_graph_options options)
{
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_error error = {0};
    options.loss = build_network(graph, batch, dropout);
    if (frozen)
        test_graph_ok(graph, husk_graph_freeze(graph, frozen));
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 11, 0);
    test_fill_input(graph, "labels", 12, CLASSES);
    return graph;
}

static const husk_optimizer_params momentum = {
    .size = sizeof(husk_optimizer_params), .kind = HUSK_OPTIMIZER_SGD, .rate = 0.05f, .momentum = 0.9f};
static const husk_optimizer_params adam = {.size = sizeof(husk_optimizer_params),
                                           .kind = HUSK_OPTIMIZER_ADAM,
                                           .rate = 0.01f,
                                           .beta = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8};

static float *read_region(husk_graph *graph, husk__region region, uint64_t *bytes)
{
    husk_buffer *buffer = graph->compiled->regions[region];
    *bytes = husk_buffer_size(buffer);
    float *host = malloc(*bytes);
    test_ok(husk_buffer_read(graph->queue, buffer, 0, *bytes, host));
    return host;
}

// ---- what is refused ----

typedef husk_value (*planted)(husk_graph *graph, husk_value x, husk_value labels);

static husk_value narrow_filters(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_value w = husk_graph_parameter(g, "w", 4, (int64_t[]){4, 3, 3, 3}, NULL);
    return husk_graph_conv(g, "conv1", NULL, x, w, HUSK_NO_VALUE);
}
static husk_value wrong_bias(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_value w = husk_graph_parameter(g, "w", 4, (int64_t[]){4, 2, 3, 3}, NULL);
    return husk_graph_conv(g, "conv1", NULL, x, w, husk_graph_parameter(g, "b", 1, (int64_t[]){3}, NULL));
}
static husk_value no_filters(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_conv_layer(g, "conv1", &HUSK_CONV_LAYER(.window = {3, 3}), x);
}
static husk_value wrong_dtype(husk_graph *g, husk_value x, husk_value labels)
{
    (void)x;
    return husk_graph_activation(g, "relu", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU), labels);
}
static husk_value wrong_products(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_value a = husk_graph_reshape(g, NULL, x, 2, (int64_t[]){-1, 64});
    return husk_graph_gemm(g, "product", NULL, 1, a, husk_graph_parameter(g, "w", 2, (int64_t[]){32, 8}, NULL), 0);
}
static husk_value wrong_reshape(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_reshape(g, "flat", x, 2, (int64_t[]){-1, 100});
}
static husk_value huge_reshape(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_reshape(g, "flat", x, 3, (int64_t[]){500, 500, -1});
}
static husk_value large_window(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_pool(g, "pool1", &HUSK_POOL_PARAMS(.window = {9, 9}), x);
}
static husk_value no_broadcast(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_value b = husk_graph_input(g, "b", HUSK_F32, 1, (int64_t[]){3});
    return husk_graph_binary(g, "sum", NULL, x, b);
}
static husk_value wrong_labels(husk_graph *g, husk_value x, husk_value labels)
{
    return husk_graph_loss(g, "loss", NULL, x, labels, 0, 0);
}
static husk_value wrong_concat(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_value other = husk_graph_input(g, "b", HUSK_F32, 4, (int64_t[]){4, 2, 8, 7});
    return husk_graph_concat(g, "both", &HUSK_CONCAT_PARAMS(.axis = 1), (husk_value[]){x, other}, 2);
}
static husk_value name_twice(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    husk_graph_copy(g, "twin", x);
    return husk_graph_copy(g, "twin", x);
}
static husk_value no_value(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_copy(g, "copy", x + 100);
}
static husk_value wrong_chance(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_dropout(g, "dropout", &HUSK_DROPOUT_PARAMS(.p = 1.5f), x);
}
static husk_value wrong_order(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_permute(g, "turned", x, (int32_t[]){0, 1, 2, 2});
}
static husk_value wrong_slice(husk_graph *g, husk_value x, husk_value labels)
{
    (void)labels;
    return husk_graph_slice(g, "part", x, 1, 1, 2);
}
static husk_value empty_input(husk_graph *g, husk_value x, husk_value labels)
{
    (void)x;
    (void)labels;
    return husk_graph_input(g, "nothing", HUSK_F32, 2, (int64_t[]){3, 0});
}
static husk_value frozen_nobody(husk_graph *g, husk_value x, husk_value labels)
{
    (void)x;
    (void)labels;
    husk_graph_freeze(g, "conv");
    return HUSK_NO_VALUE;
}

START_TEST(the_first_mistake_is_named)
{
    const struct {
        planted build;
        const char *text;
    } all[] = {
        {narrow_filters, "husk_graph_conv: conv1: w: "},
        {wrong_bias, "husk_graph_conv: conv1: bias: its shape is [3]; [4] is wanted"},
        {no_filters, "husk_graph_conv_layer: conv1: layer: filters is 0"},
        {wrong_dtype, "husk_graph_activation: relu: x: its dtype is i32, the graph's is f32"},
        {wrong_products, "husk_graph_gemm: product: b: 32 products a sum, a has 64"},
        {wrong_reshape, "husk_graph_reshape: flat: shape: "},
        {huge_reshape, "husk_graph_reshape: flat: shape: "},
        {large_window, "husk_graph_pool: pool1: "},
        {no_broadcast, "husk_graph_binary: sum: b: its shape is [3], which does not go with a's, [4, 2, 8, 8]"},
        {wrong_labels, "husk_graph_loss: loss: target: labels of shape [4]; x's without the classes is [4, 8, 8]"},
        {wrong_concat, "husk_graph_concat: both: inputs: number 1 has the shape [4, 2, 8, 7]"},
        {name_twice, "husk_graph_copy: twin: name: there is a value of this name already"},
        {no_value, "husk_graph_copy: copy: x: 101 is no value"},
        {wrong_chance, "husk_graph_dropout: dropout: params: p is 1.5"},
        {wrong_order, "husk_graph_permute: turned: order: "},
        {wrong_slice, "husk_graph_slice: part: count: 2 elements from 1 on of 2"},
        {empty_input, "husk_graph_input: nothing: shape: dimension 1 is 0"},
        {frozen_nobody, "husk_graph_freeze: conv: name: no parameter"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        husk_graph *graph = test_graph(HUSK_F32, 0);
        husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){4, 2, 8, 8});
        husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){4});
        ck_assert_int_eq(husk_graph_error(graph)->status, HUSK_OK);
        ck_assert_int_eq(all[i].build(graph, x, labels), HUSK_NO_VALUE);
        const char *text = husk_graph_error(graph)->text;
        ck_assert_msg(strncmp(text, all[i].text, strlen(all[i].text)) == 0, "\"%s\" is not \"%s\"", text, all[i].text);
        // It stays, and compiling answers it.
        ck_assert_int_eq(husk_graph_copy(graph, "after", x), HUSK_NO_VALUE);
        husk_error error = {0};
        ck_assert_int_eq(husk_graph_compile(graph, NULL, &error), HUSK_INVALID_ARGUMENT);
        ck_assert_msg(strncmp(error.text, all[i].text, strlen(all[i].text)) == 0, "%s", error.text);
        husk_graph_release(graph);
    }
}
END_TEST

static void refused(husk_graph *graph, husk_status status, const char *text)
{
    ck_assert_int_eq(status, HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(husk_graph_error(graph)->text, text), "%s", husk_graph_error(graph)->text);
}

START_TEST(steps_out_of_order_are_refused)
{
    husk_graph *graph = compiled_network(4, 0, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .accumulate = 2));
    float number;
    refused(graph, husk_graph_backward(graph), "husk_graph_backward: graph: the last forward");
    refused(graph, husk_graph_update(graph), "husk_graph_update: graph: 0 of 2 batches are in");
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    refused(graph, husk_graph_backward(graph), "the last forward has to be in training");
    refused(graph, husk_graph_read(graph, "pool1", &number, 4), "pool1 is no output");
    refused(graph, husk_graph_read(graph, "nobody", &number, 4), "there is no value nobody");
    refused(graph, husk_graph_write(graph, "loss", &number, 4), "loss is computed");
    refused(graph, husk_graph_read(graph, "loss", &number, 8), "bytes: 8; loss is [] of f32, 4 bytes");
    ck_assert_int_eq(husk_graph_input(graph, "late", HUSK_F32, 0, NULL), HUSK_NO_VALUE);
    husk_graph_release(graph);
}
END_TEST

// ---- memory ----

static husk_value build_with_dropout(husk_graph *graph)
{
    return build_network(graph, 4, 0.25f);
}

static void fill(husk_graph *graph)
{
    test_fill_input(graph, "x", 11, 0);
    test_fill_input(graph, "labels", 12, CLASSES);
}

START_TEST(tensors_share_memory_only_at_different_times)
{
    test_memory_is_shared_rightly(HUSK_F32, build_with_dropout, fill);
    husk_graph *apart = compiled_network(4, 0.25f, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &adam, .keep_values = 1));
    float values[4 * 4 * 4 * 4];
    test_graph_ok(apart, husk_graph_step(apart));
    test_graph_ok(apart, husk_graph_read(apart, "pool1", values, sizeof values));
    husk_graph_release(apart);
}
END_TEST

START_TEST(memory_is_known_before_it_is_taken)
{
    test_without_guards();
    husk_graph *graph = test_graph(HUSK_F32, 7);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = build_network(graph, 4, 0), .optimizer = &adam);
    husk_memory_stats before, after;
    husk_graph_memory memory, used;
    husk_error error = {0};
    test_ok(husk_queue_finish(test_queue()));
    husk_context_memory_stats(test_context(), &before);
    test_ok_error(husk_graph_measure(graph, &options, &memory, &error), &error);
    options.memory_limit = memory.total - 1;
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_OUT_OF_MEMORY);
    ck_assert_msg(strstr(error.text, "husk_graph_compile: ") && strstr(error.text, "options.memory_limit is"), "%s",
                  error.text);
    husk_context_memory_stats(test_context(), &after);
    ck_assert_uint_eq(before.live_bytes, after.live_bytes);
    options.memory_limit = memory.total;
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    husk_graph_memory_used(graph, &used);
    ck_assert(memcmp(&memory, &used, sizeof used) == 0);
    husk_context_memory_stats(test_context(), &after);
    ck_assert_uint_le(after.live_bytes - before.live_bytes, memory.total);
    ck_assert_uint_ge(after.live_bytes - before.live_bytes, memory.total - memory.workspace);
    husk_graph_release(graph);
}
END_TEST

// What is computed in f32 takes as much in f16 and bf16: gradients of convolutions had half of it, and were computed by
// what is written for other devices.
START_TEST(narrow_networks_have_no_less_scratch_memory)
{
    static const husk_dtype dtypes[] = {HUSK_F32, HUSK_F16, HUSK_BF16};
    uint64_t scratch[3];
    for (int i = 0; i < 3; i++) {
        husk_graph *graph = test_graph(dtypes[i], 7);
        husk_graph_memory memory;
        husk_error error = {0};
        const husk_conv_params whole = HUSK_CONV_PARAMS(), halved = HUSK_CONV_PARAMS(.stride = {2, 2});
        const husk_pool_params all = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .global = 1);
        const husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){8});
        husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){8, 64, 14, 14});
        x = husk_graph_conv_layer(graph, "c1", &HUSK_CONV_LAYER(.params = &whole, .filters = 1024, .window = {1, 1}),
                                  x);
        x = husk_graph_conv_layer(graph, "c2", &HUSK_CONV_LAYER(.params = &halved, .filters = 2048, .window = {1, 1}),
                                  x);
        x = husk_graph_reshape(graph, "flat", husk_graph_pool(graph, "pool", &all, x), 2, (int64_t[]){8, -1});
        x = husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
        const husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = x, .optimizer = &adam);
        test_ok_error(husk_graph_measure(graph, &options, &memory, &error), &error);
        scratch[i] = memory.workspace;
        husk_graph_release(graph);
    }
    ck_assert_uint_ge(scratch[0], UINT64_C(4) * 2048 * 1024 * sizeof(float)); // filters of c2, as two plans pack them
    ck_assert_uint_ge(scratch[1], scratch[0]);
    ck_assert_uint_ge(scratch[2], scratch[0]);
}
END_TEST

// ---- steps ----

START_TEST(two_runs_give_the_same_bits)
{
    float *parameters[3];
    uint64_t bytes;
    for (int run = 0; run < 3; run++) {
        husk_graph *graph = compiled_network(
            4, 0.25f, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &adam, .clip_norm = 0.5f, .cold = run == 1));
        const char *variants = husk_graph_update_variants(graph);
        ck_assert_int_eq(run == 1, variants[0] == 0);
        for (int step = 0; step < 4; step++) {
            if (run == 2 && step == 2) // another batch than in the runs before
                test_fill_input(graph, "x", 13, 0);
            test_graph_ok(graph, husk_graph_step(graph));
        }
        ck_assert_ptr_eq(strstr(variants, "grad_norm "), variants);
        ck_assert_ptr_nonnull(strstr(variants, ", optimizer "));
        ck_assert_uint_eq(husk_graph_get_position(graph).updates, 4);
        parameters[run] = read_region(graph, HUSK__REGION_PARAMETERS, &bytes);
        husk_graph_release(graph);
    }
    ck_assert(memcmp(parameters[0], parameters[1], bytes) == 0);
    ck_assert(memcmp(parameters[0], parameters[2], bytes) != 0);
    for (int run = 0; run < 3; run++)
        free(parameters[run]);
}
END_TEST

START_TEST(frozen_parameters_stay)
{
    husk_graph *graph = compiled_network(4, 0, "conv1", HUSK_GRAPH_OPTIONS(.optimizer = &momentum));
    float before[2][4], after[2][4];
    const char *names[] = {"conv1.bias", "conv1.weight", "fc2.bias"};
    float weights[2][4 * 2 * 9], bias[CLASSES];
    test_graph_ok(graph, husk_graph_read(graph, names[0], before[0], sizeof before[0]));
    test_graph_ok(graph, husk_graph_read(graph, names[1], weights[0], sizeof weights[0]));
    for (int step = 0; step < 2; step++)
        test_graph_ok(graph, husk_graph_step(graph));
    test_graph_ok(graph, husk_graph_read(graph, names[0], after[0], sizeof after[0]));
    test_graph_ok(graph, husk_graph_read(graph, names[1], weights[1], sizeof weights[1]));
    ck_assert(memcmp(before[0], after[0], sizeof before[0]) == 0);
    ck_assert(memcmp(weights[0], weights[1], sizeof weights[0]) == 0);
    test_graph_ok(graph, husk_graph_read(graph, names[2], bias, sizeof bias));
    ck_assert(bias[0] != 0.0f); // it began with zeros
    husk_parameter parameter = HUSK_PARAMETER();
    int frozen = 0;
    for (size_t i = 0; i < husk_graph_parameter_count(graph); i++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        frozen += parameter.kind == HUSK_PARAMETER_FROZEN;
        ck_assert((parameter.gradient.buffer == NULL) == (parameter.kind == HUSK_PARAMETER_FROZEN));
    }
    ck_assert_int_eq(frozen, 2);
    husk_graph_release(graph);
}
END_TEST

START_TEST(accumulated_batches_are_one_large_batch)
{
    enum { IMAGE = 2 * 8 * 8 };
    husk_graph *large = compiled_network(8, 0, NULL, HUSK_GRAPH_OPTIONS(0));
    husk_graph *small = compiled_network(4, 0, NULL, HUSK_GRAPH_OPTIONS(.accumulate = 2));
    static float x[8 * IMAGE];
    int32_t labels[8];
    test_graph_ok(large, husk_graph_read(large, "x", x, sizeof x));
    test_graph_ok(large, husk_graph_read(large, "labels", labels, sizeof labels));
    test_graph_ok(large, husk_graph_forward(large, HUSK_GRAPH_TRAINING));
    test_graph_ok(large, husk_graph_backward(large));
    for (int round = 0; round < 4; round++) { // the second time everything begins anew
        int part = round % 2;
        if (round == 2)
            test_graph_ok(small, husk_graph_set_position(small, (husk_graph_position){0, 0}));
        test_graph_ok(small, husk_graph_write(small, "x", x + part * 4 * IMAGE, sizeof x / 2));
        test_graph_ok(small, husk_graph_write(small, "labels", labels + part * 4, sizeof labels / 2));
        test_graph_ok(small, husk_graph_forward(small, HUSK_GRAPH_TRAINING));
        test_graph_ok(small, husk_graph_backward(small));
    }
    uint64_t bytes;
    float *one = read_region(large, HUSK__REGION_GRADIENTS, &bytes);
    float *two = read_region(small, HUSK__REGION_GRADIENTS, &bytes);
    double largest = 0, difference = 0;
    for (uint64_t i = 0; i < bytes / 4; i++) {
        largest = fmax(largest, fabs((double)one[i]));
        difference = fmax(difference, fabs((double)one[i] - (double)two[i]));
    }
    // Sums of at most 8 x 64 terms, through three layers: (4 + 2 sqrt 512) 2^-24 of each, 9e-6 together.
    ck_assert_msg(largest > 0.01 && difference <= 9e-6 * largest, "%g of %g", difference, largest);
    refused(small, husk_graph_backward(small), "the last forward");
    free(one);
    free(two);
    husk_graph_release(large);
    husk_graph_release(small);
}
END_TEST

START_TEST(training_learns_and_evaluation_changes_nothing)
{
    for (int kind = 0; kind < 2; kind++) {
        husk_graph *graph = compiled_network(4, 0.1f, NULL, HUSK_GRAPH_OPTIONS(.optimizer = kind ? &adam : &momentum));
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        double before = test_read_loss(graph, "loss");
        for (int step = 0; step < 30; step++)
            test_graph_ok(graph, husk_graph_step(graph));
        uint64_t bytes;
        float *parameters = read_region(graph, HUSK__REGION_PARAMETERS, &bytes);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        double after = test_read_loss(graph, "loss");
        ck_assert_msg(after < before / 10, "%s: loss %g, then %g", kind ? "Adam" : "SGD", before, after);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        ck_assert(test_read_loss(graph, "loss") == after);
        float *unchanged = read_region(graph, HUSK__REGION_PARAMETERS, &bytes);
        ck_assert(memcmp(parameters, unchanged, bytes) == 0);
        free(parameters);
        free(unchanged);
        husk_graph_release(graph);
    }
}
END_TEST

START_TEST(evaluation_alone_needs_no_loss)
{
    husk_graph *whole = compiled_network(4, 0, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &momentum));
    husk_graph *graph = test_graph(HUSK_F32, 7);
    build_network(graph, 4, 0.25f);
    husk_error error = {0};
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &momentum);
    ck_assert_int_eq(husk_graph_compile(graph, &options, &error), HUSK_INVALID_ARGUMENT);
    ck_assert_msg(strstr(error.text, "options: optimizer: without a loss"), "%s", error.text);
    test_ok_error(husk_graph_compile(graph, NULL, &error), &error);
    husk_graph_memory memory;
    husk_graph_memory_used(graph, &memory);
    ck_assert(memory.gradients == 0 && memory.states == 0);
    test_fill_input(graph, "x", 11, 0);
    test_fill_input(graph, "labels", 12, CLASSES);
    float one[4 * CLASSES], other[4 * CLASSES];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "logits", one, sizeof one));
    test_graph_ok(whole, husk_graph_forward(whole, HUSK_GRAPH_EVALUATION));
    test_graph_ok(whole, husk_graph_read(whole, "logits", other, sizeof other));
    ck_assert(one[0] != 0.0f && memcmp(one, other, sizeof one) == 0);
    refused(graph, husk_graph_forward(graph, HUSK_GRAPH_TRAINING), "it was compiled without a loss");
    refused(graph, husk_graph_step(graph), "it was compiled without a loss");
    husk_graph_release(graph);
    husk_graph_release(whole);
}
END_TEST

typedef struct seen {
    size_t count, next;
} seen;

static husk_status note_bucket(void *user, husk_graph *graph, size_t index)
{
    seen *notes = user;
    (void)graph;
    ck_assert_uint_eq(index, notes->next++);
    notes->count++;
    return HUSK_OK;
}

START_TEST(buckets_cover_the_gradients_in_order)
{
    husk_graph *graph =
        compiled_network(4, 0, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .bucket_bytes = 1024, .accumulate = 2));
    seen notes = {0};
    size_t count = husk_graph_bucket_count(graph);
    ck_assert_uint_gt(count, 1);
    int64_t at = 0;
    husk_bucket bucket = HUSK_BUCKET();
    for (size_t i = 0; i < count; i++) {
        test_graph_ok(graph, husk_graph_bucket_at(graph, i, &bucket));
        ck_assert_int_eq(bucket.gradients.offset, at);
        ck_assert(bucket.gradients.shape[0] >= 256 || i + 1 == count);
        at += bucket.gradients.shape[0];
    }
    ck_assert_uint_eq((uint64_t)at * 4, graph->compiled->memory.gradients);
    husk_graph_on_bucket(graph, note_bucket, &notes);
    test_graph_ok(graph, husk_graph_step(graph));
    ck_assert_uint_eq(notes.count, 0);
    test_graph_ok(graph, husk_graph_step(graph));
    ck_assert_uint_eq(notes.count, count);
    husk_graph_release(graph);
}
END_TEST

START_TEST(what_is_not_finite_is_named)
{
    husk_graph *graph = compiled_network(4, 0, NULL, HUSK_GRAPH_OPTIONS(.optimizer = &momentum, .check_finite = 1));
    test_graph_ok(graph, husk_graph_step(graph));
    float bias[CLASSES], broken[CLASSES] = {0, NAN}, x[4 * 2 * 8 * 8];
    uint64_t bytes;
    test_graph_ok(graph, husk_graph_read(graph, "fc2.bias", bias, sizeof bias));
    test_graph_ok(graph, husk_graph_write(graph, "fc2.bias", broken, sizeof broken));
    refused(graph, husk_graph_step(graph),
            "batch 2, after 1 updates: the loss is nan; the first tensor with NaN or "
            "infinity is the parameter fc2.bias");
    test_graph_ok(graph, husk_graph_write(graph, "fc2.bias", bias, sizeof bias));
    test_graph_ok(graph, husk_graph_step(graph));
    // Numbers that overflow in the first layer; parameters stay as they are.
    test_graph_ok(graph, husk_graph_read(graph, "x", x, sizeof x));
    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] *= 3e38f;
    float *before = read_region(graph, HUSK__REGION_PARAMETERS, &bytes);
    test_graph_ok(graph, husk_graph_write(graph, "x", x, sizeof x));
    refused(graph, husk_graph_step(graph), "is what this node computed: conv1");
    float *after = read_region(graph, HUSK__REGION_PARAMETERS, &bytes);
    ck_assert(memcmp(before, after, bytes) == 0);
    x[3] = NAN;
    test_graph_ok(graph, husk_graph_write(graph, "x", x, sizeof x));
    refused(graph, husk_graph_step(graph), "is the input x");
    free(before);
    free(after);
    husk_graph_release(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("graph");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, the_first_mistake_is_named);
    tcase_add_test(tests, steps_out_of_order_are_refused);
    tcase_add_test(tests, tensors_share_memory_only_at_different_times);
    tcase_add_test(tests, memory_is_known_before_it_is_taken);
    tcase_add_test(tests, narrow_networks_have_no_less_scratch_memory);
    tcase_add_test(tests, two_runs_give_the_same_bits);
    tcase_add_test(tests, frozen_parameters_stay);
    tcase_add_test(tests, accumulated_batches_are_one_large_batch);
    tcase_add_test(tests, training_learns_and_evaluation_changes_nothing);
    tcase_add_test(tests, evaluation_alone_needs_no_loss);
    tcase_add_test(tests, buckets_cover_the_gradients_in_order);
    tcase_add_test(tests, what_is_not_finite_is_named);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
