// SPDX-License-Identifier: MIT
// ctest: tiers=train timeout=60 with=whole_gradient,shared_memory
// A small convolutional network with every simple operator, in f64, against finite differences.
#include <stdio.h>

#include "support/support.h"
#include "train/shared_memory.h"
#include "train/whole_gradient.h"

enum { BATCH = 3 };

// Smooth throughout but for pooling's maximum and ReLU, whose kinks h does not reach.
static husk_value build(husk_graph *graph)
{
    husk_value x = husk_graph_input(graph, "x", HUSK_F64, 4, (int64_t[]){BATCH, 2, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_value a =
        husk_graph_conv_layer(graph, "conv1", &HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &same), x);
    husk_conv_params gelu = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_GELU);
    husk_value b =
        husk_graph_conv_layer(graph, "conv2", &HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &gelu), a);
    husk_value residual = husk_graph_binary(
        graph, NULL, &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1), a, b);
    husk_value pooled = husk_graph_pool(graph, "pool", &HUSK_POOL_PARAMS(.window = {2, 2}), residual);
    husk_value dropped = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.25f), pooled);
    // A part of the channels, gated by the rest.
    husk_value left = husk_graph_slice(graph, NULL, dropped, 1, 0, 2);
    husk_value right = husk_graph_slice(graph, NULL, dropped, 1, 2, 2);
    husk_value gate =
        husk_graph_activation(graph, "gate", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_SIGMOID), right);
    husk_value gated = husk_graph_binary(
        graph, "gated", &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_MULTIPLY, .alpha = 1, .beta = 1), left, gate);
    husk_value both =
        husk_graph_concat(graph, "both", &HUSK_CONCAT_PARAMS(.axis = 1), (husk_value[]){gated, dropped}, 2);
    husk_value last = husk_graph_permute(graph, NULL, both, (int32_t[]){0, 2, 3, 1});
    husk_value flat = husk_graph_reshape(graph, NULL, last, 2, (int64_t[]){BATCH, -1});
    husk_value hidden =
        husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 12, .activation = HUSK_ACT_TANH), flat);
    // One matrix as two layers: its gradients are added up.
    husk_value tied = husk_graph_parameter(graph, "tied", 2, (int64_t[]){12, 12},
                                           &HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_XAVIER_UNIFORM));
    husk_value once = husk_graph_gemm(graph, "once", NULL, 0.5f, hidden, tied, HUSK_NO_VALUE);
    husk_value twice =
        husk_graph_gemm(graph, "twice", &HUSK_GEMM_PARAMS(.transpose_b = 1), 1, once, tied, HUSK_NO_VALUE);
    husk_value squares = husk_graph_unary(graph, "squares", &HUSK_UNARY_PARAMS(.op = HUSK_UNARY_SQUARE), twice);
    husk_value sums = husk_graph_binary(
        graph, "sums", &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1), squares, squares);
    husk_value logits = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = 5), sums);
    husk_value entropy = husk_graph_loss(graph, "entropy", NULL, logits, labels, 0, 0);
    // A penalty on what is hidden: a value that is used on two ways.
    husk_value weights = husk_graph_softmax(graph, "weights", NULL, hidden);
    husk_value penalty = husk_graph_reduce(graph, "penalty", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), weights);
    return husk_graph_binary(
        graph, "loss", &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1), entropy, penalty);
}

static void fill(husk_graph *graph)
{
    test_fill_input(graph, "x", 1, 0);
    test_fill_input(graph, "labels", 2, 5);
}

static bool has_doubles(void)
{
    bool has = husk_context_has(test_context(), HUSK_FEATURE_F64);
    if (!has)
        puts("SKIPPED: the device has no f64");
    return has;
}

START_TEST(backward_is_what_differences_say)
{
    if (!has_doubles())
        return;
    husk_graph *graph = test_graph(HUSK_F64, 3);
    husk_value loss = build(graph);
    husk_error error = {0};
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = loss);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    fill(graph);
    printf("at most %.2g of the gradient\n", test_whole_gradient(graph, "loss", 12));
    husk_graph_release(graph);
}
END_TEST

START_TEST(memory_is_shared_rightly)
{
    if (has_doubles())
        test_memory_is_shared_rightly(HUSK_F64, build, fill);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("gradient_cnn");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, backward_is_what_differences_say);
    tcase_add_test(tests, memory_is_shared_rightly);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
