// SPDX-License-Identifier: MIT
// ctest: tiers=train timeout=60 with=whole_gradient,shared_memory
// A small Transformer in f64 against finite differences: embedding with positions, causal attention of two heads,
// layer and RMS normalisation, GELU, residual sums, an output layer that shares the embedding's table; and, on top of
// it, batch and group normalisation.
#include <stdio.h>

#include "support/support.h"
#include "train/shared_memory.h"
#include "train/whole_gradient.h"

enum { BATCH = 2, LENGTH = 5, WORDS = 7, WIDTH = 8, HEADS = 2 };

static const husk_binary_params add = {
    .size = sizeof(husk_binary_params), .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1};

// [BATCH, LENGTH, WIDTH] to [BATCH, HEADS, LENGTH, WIDTH / HEADS].
static husk_value split_heads(husk_graph *graph, husk_value x)
{
    husk_value heads = husk_graph_reshape(graph, NULL, x, 4, (int64_t[]){BATCH, LENGTH, HEADS, WIDTH / HEADS});
    return husk_graph_permute(graph, NULL, heads, (int32_t[]){0, 2, 1, 3});
}

static husk_value attend(husk_graph *graph, husk_value x)
{
    husk_linear_layer wide = HUSK_LINEAR_LAYER(.outputs = 3 * WIDTH);
    husk_value all = husk_graph_linear(graph, "qkv", &wide, x), parts[3];
    for (int i = 0; i < 3; i++) // of the last dimension: views that lie between each other
        parts[i] = husk_graph_copy(graph, NULL, husk_graph_slice(graph, NULL, all, 2, i * WIDTH, WIDTH));
    husk_attention_params causal = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_TOP_LEFT, .dropout = 0.2f);
    husk_value y = husk_graph_attention(graph, "attention", &causal, split_heads(graph, parts[0]),
                                        split_heads(graph, parts[1]), split_heads(graph, parts[2]), HUSK_NO_VALUE);
    husk_value beside = husk_graph_permute(graph, NULL, y, (int32_t[]){0, 2, 1, 3});
    husk_value joined = husk_graph_reshape(graph, NULL, beside, 3, (int64_t[]){BATCH, LENGTH, WIDTH});
    return husk_graph_linear(graph, "projection", &HUSK_LINEAR_LAYER(.outputs = WIDTH), joined);
}

static husk_value build(husk_graph *graph)
{
    husk_value words = husk_graph_input(graph, "words", HUSK_I32, 2, (int64_t[]){BATCH, LENGTH});
    husk_value next = husk_graph_input(graph, "next", HUSK_I32, 1, (int64_t[]){BATCH * LENGTH});
    husk_initializer normal = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.5f);
    husk_value table = husk_graph_parameter(graph, "table", 2, (int64_t[]){WORDS, WIDTH}, &normal);
    husk_value places = husk_graph_parameter(graph, "places", 2, (int64_t[]){LENGTH, WIDTH}, &normal);
    husk_value x = husk_graph_embedding(graph, "embedding", NULL, table, words);
    x = husk_graph_binary(graph, "placed", &add, x, places);
    husk_value attended = attend(graph, husk_graph_norm_layer(graph, "norm1", NULL, x));
    x = husk_graph_binary(graph, "after_attention", &add, x, attended);
    husk_norm_params rms = husk_norm_defaults(HUSK_NORM_RMS);
    husk_value inside = husk_graph_norm_layer(graph, "norm2", &HUSK_NORM_LAYER(.params = &rms), x);
    inside = husk_graph_linear(graph, "up", &HUSK_LINEAR_LAYER(.outputs = 12, .activation = HUSK_ACT_GELU), inside);
    inside = husk_graph_linear(graph, "down", &HUSK_LINEAR_LAYER(.outputs = WIDTH), inside);
    x = husk_graph_binary(graph, "after_linear", &add, x, inside);
    // Channels are the width: [BATCH, WIDTH, LENGTH].
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_norm_params group =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 2, .axis = -1, .epsilon = 1e-5f);
    x = husk_graph_permute(graph, NULL, x, (int32_t[]){0, 2, 1});
    x = husk_graph_norm_layer(graph, "norm3", &HUSK_NORM_LAYER(.params = &batch), x);
    x = husk_graph_norm_layer(graph, "norm4", &HUSK_NORM_LAYER(.params = &group), x);
    x = husk_graph_permute(graph, NULL, x, (int32_t[]){0, 2, 1});
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH * LENGTH, WIDTH});
    x = husk_graph_gemm(graph, "logits", &HUSK_GEMM_PARAMS(.transpose_b = 1), 1, x, table, HUSK_NO_VALUE);
    return husk_graph_loss(graph, "loss", NULL, x, next, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void fill(husk_graph *graph)
{
    test_fill_input(graph, "words", 1, WORDS);
    test_fill_input(graph, "next", 2, WORDS);
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
    husk_graph *graph = test_graph(HUSK_F64, 6);
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
    Suite *suite = suite_create("gradient_transformer");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, backward_is_what_differences_say);
    tcase_add_test(tests, memory_is_shared_rightly);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
