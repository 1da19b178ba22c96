// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60 with=whole_gradient
// Graphs at their corners: parts of a value beside the whole, values that are changed between a forward and its
// backward, steps that fail half way, sizes beyond 64 bits.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/compile.h"
#include "train/whole_gradient.h"

enum { BATCH = 4, WIDTH = 6 };

static const husk_optimizer_params momentum = {.size = sizeof(husk_optimizer_params),
                                               .kind = HUSK_OPTIMIZER_SGD,
                                               .rate = 0.05f,
                                               .momentum = 0.9f};
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
        husk_binary_params params = HUSK_BINARY_PARAMS(.op = HUSK_BINARY_SUBTRACT);
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
        husk_reduce_params rows = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axes = 1);
        husk_value x = input(graph);
        husk_value from = trained ? husk_graph_linear(graph, "fc", &linear, x) : x;
        husk_value values = husk_graph_reduce(graph, "values", &rows, from);
        husk_value scale = husk_graph_reduce(graph, "scale", &rows, husk_graph_linear(graph, "fc2", &linear, x));
        husk_value y = husk_graph_norm(graph, "norm", NULL, values, scale, scale, HUSK_NO_VALUE,
                                       HUSK_NO_VALUE);
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
    husk_conv_params pinned = HUSK_CONV_PARAMS(.pad = {1, 1}, .variant = "implicit_gemm");
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

static husk_graph *compile_normalised(uint32_t check_finite)
{
    husk_graph *graph = test_graph(HUSK_F32, 3);
    husk_error error = {0};
    husk_norm_params batch = HUSK_NORM_PARAMS(.kind = HUSK_NORM_BATCH);
    husk_value hidden = husk_graph_linear(graph, "fc", &linear, input(graph));
    husk_value y = husk_graph_norm_layer(graph, "bn", &HUSK_NORM_LAYER(.params = &batch), hidden);
    husk_graph_options options =
        HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &momentum, .check_finite = check_finite);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 1, 0);
    return graph;
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

// ---- compiling ----

START_TEST(numbers_of_the_optimizer_are_looked_at_in_compiling)
{
    for (uint32_t cold = 0; cold < 2; cold++) {
        husk_graph *graph = test_graph(HUSK_F32, 3);
        husk_error error = {0};
        husk_optimizer_params adam = HUSK_OPTIMIZER_PARAMS(.kind = HUSK_OPTIMIZER_ADAM, .rate = 0.1f, .beta = 2.0f);
        husk_value y = husk_graph_linear(graph, "fc", &linear, input(graph));
        husk_graph_options options =
            HUSK_GRAPH_OPTIONS(.loss = norm_of(graph, y), .optimizer = &adam, .cold = cold);
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

int main(void)
{
    Suite *suite = suite_create("graph_corners");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, a_part_of_a_value_is_not_overwritten_beside_the_whole);
    tcase_add_test(tests, one_memory_is_taken_over_once);
    tcase_add_test(tests, a_pinned_variant_is_that_of_forward_alone);
    tcase_add_test(tests, what_the_loss_is_made_of_is_there);
    tcase_add_test(tests, a_view_that_is_not_packed_is_gathered);
    tcase_add_test(tests, a_forward_whose_operands_changed_is_of_no_use);
    tcase_add_test(tests, a_backward_that_fails_drops_the_step);
    tcase_add_test(tests, a_batch_that_overflows_leaves_no_trace);
    tcase_add_test(tests, numbers_of_the_optimizer_are_looked_at_in_compiling);
    tcase_add_test(tests, sizes_beyond_64_bits_are_out_of_memory);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
