// SPDX-License-Identifier: MIT
// ctest: tiers=train timeout=60 with=whole_gradient,shared_memory
// A classifier of sequences in f64 against finite differences: embedding, a bidirectional LSTM of two layers over
// sequences of different length, its last states, dropout, a linear layer.
#include <stdio.h>

#include "support/support.h"
#include "train/shared_memory.h"
#include "train/whole_gradient.h"

enum { STEPS = 5, BATCH = 3, WORDS = 11, FEATURES = 6, HIDDEN = 4, LAYERS = 2, CLASSES = 3 };

static husk_value build(husk_graph *graph)
{
    husk_value words = husk_graph_input(graph, "words", HUSK_I32, 2, (int64_t[]){STEPS, BATCH});
    husk_value lengths = husk_graph_input(graph, "lengths", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_value x =
        husk_graph_embedding_layer(graph, "words_in", &HUSK_EMBEDDING_LAYER(.rows = WORDS, .columns = FEATURES), words);
    husk_rnn_params lstm =
        HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = HIDDEN, .layers = LAYERS, .bidirectional = 1);
    husk_value h_n, c_n;
    husk_value y = husk_graph_rnn_layer(graph, "lstm", &HUSK_RNN_LAYER(.params = &lstm), x, lengths, &h_n, &c_n);
    // The last layer's states of both directions, [2, BATCH, HIDDEN], become [BATCH, 2 HIDDEN].
    husk_value last = husk_graph_slice(graph, NULL, h_n, 0, 2 * (LAYERS - 1), 2);
    husk_value beside = husk_graph_permute(graph, NULL, last, (int32_t[]){1, 0, 2});
    husk_value state = husk_graph_reshape(graph, NULL, beside, 2, (int64_t[]){BATCH, 2 * HIDDEN});
    husk_value dropped = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.3f), state);
    husk_value logits = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = CLASSES), dropped);
    husk_value entropy = husk_graph_loss(graph, "entropy", NULL, logits, labels, 0, 0);
    // All outputs and the cells' states count, too.
    husk_value mean = husk_graph_reduce(graph, "mean", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), y);
    husk_value cells = husk_graph_reduce(graph, "cells", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), c_n);
    husk_binary_params add = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk_graph_binary(graph, "loss", &add, entropy, husk_graph_binary(graph, "penalty", &add, mean, cells));
}

static void fill(husk_graph *graph)
{
    test_fill_input(graph, "words", 1, WORDS);
    test_fill_input(graph, "labels", 2, CLASSES);
    test_graph_ok(graph, husk_graph_write(graph, "lengths", (int32_t[]){5, 2, 4}, sizeof(int32_t[3])));
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
    husk_graph *graph = test_graph(HUSK_F64, 5);
    husk_value loss = build(graph);
    husk_error error = {0};
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = loss);
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    fill(graph);
    printf("at most %.2g of the gradient\n", test_whole_gradient(graph, "loss", 8));
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
    Suite *suite = suite_create("gradient_lstm");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, backward_is_what_differences_say);
    tcase_add_test(tests, memory_is_shared_rightly);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
