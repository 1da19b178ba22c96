// SPDX-License-Identifier: MIT
// ctest: tiers=train timeout=290 with=whole_gradient,rounded_gradient
// Whole networks in bf16 and f16: their gradients against the same networks' in f64.
#include <stdio.h>
#include <string.h>

#include "support/support.h"
#include "train/rounded_gradient.h"
#include "train/whole_gradient.h"

enum { BATCH = 4, CLASSES = 5 };

static const husk_binary_params add = {
    .size = sizeof(husk_binary_params), .op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1};

static husk_value act(husk_graph *graph, bool perturbs, husk_act activation, husk_value x)
{
    husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = activation);
    return test_rounded(graph, perturbs, husk_graph_activation(graph, NULL, &params, x));
}

static husk_value linear(husk_graph *graph, bool perturbs, const char *name, int64_t outputs, husk_value x)
{
    return test_rounded(graph, perturbs, husk_graph_linear(graph, name, &HUSK_LINEAR_LAYER(.outputs = outputs), x));
}

// ---- convolution ----

static husk_value conv(husk_graph *graph, bool perturbs, const char *name, husk_value x)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_conv_layer layer = HUSK_CONV_LAYER(.filters = 6, .window = {3, 3}, .params = &same);
    layer.no_bias = strcmp(name, "conv1") == 0; // normalisation takes it out
    return test_rounded(graph, perturbs, husk_graph_conv_layer(graph, name, &layer, x));
}

static husk_value build_cnn(husk_graph *graph, bool perturbs)
{
    husk_dtype wide = perturbs ? HUSK_F64 : HUSK_F32;
    husk_value x = husk_graph_input(graph, "x", wide, 4, (int64_t[]){BATCH, 2, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    x = test_rounded(graph, perturbs, x);
    x = conv(graph, perturbs, "conv1", x);
    x = test_rounded(graph, perturbs, husk_graph_norm_layer(graph, "bn", &HUSK_NORM_LAYER(.params = &batch), x));
    x = act(graph, perturbs, HUSK_ACT_GELU, x);
    husk_value y = act(graph, perturbs, HUSK_ACT_TANH, conv(graph, perturbs, "conv2", x));
    x = test_rounded(graph, perturbs, husk_graph_binary(graph, NULL, &add, x, y));
    husk_pool_params mean = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {2, 2});
    x = test_rounded(graph, perturbs, husk_graph_pool(graph, NULL, &mean, x));
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH, -1});
    x = linear(graph, perturbs, "fc", CLASSES, x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void fill_cnn(husk_graph *graph)
{
    test_fill_input(graph, "x", 1, 0);
    test_fill_input(graph, "labels", 2, CLASSES);
}

// ---- recurrent layers ----

enum { STEPS = 5, WORDS = 11, HIDDEN = 6 };

static husk_value build_lstm(husk_graph *graph, bool perturbs)
{
    husk_value words = husk_graph_input(graph, "words", HUSK_I32, 2, (int64_t[]){STEPS, BATCH});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_embedding_layer table = HUSK_EMBEDDING_LAYER(.rows = WORDS, .columns = HIDDEN);
    husk_rnn_params lstm = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = HIDDEN, .bidirectional = 1);
    husk_value x = test_rounded(graph, perturbs, husk_graph_embedding_layer(graph, "words_in", &table, words)), h_n;
    husk_value y = husk_graph_rnn_layer(graph, "lstm", &HUSK_RNN_LAYER(.params = &lstm), x, 0, &h_n, NULL);
    y = test_rounded(graph, perturbs, y);
    h_n = test_rounded(graph, perturbs, h_n);
    husk_value state = husk_graph_permute(graph, NULL, h_n, (int32_t[]){1, 0, 2});
    state = husk_graph_reshape(graph, NULL, state, 2, (int64_t[]){BATCH, 2 * HIDDEN});
    husk_value sum =
        husk_graph_reduce(graph, NULL, &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axis_count = 1, .axes = {-3}), y);
    sum = test_rounded(graph, perturbs, sum);
    sum = test_rounded(graph, perturbs, husk_graph_binary(graph, NULL, &add, sum, state));
    return husk_graph_loss(graph, "loss", NULL, linear(graph, perturbs, "fc", CLASSES, sum), labels, HUSK_NO_VALUE,
                           HUSK_NO_VALUE);
}

static void fill_lstm(husk_graph *graph)
{
    test_fill_input(graph, "words", 1, WORDS);
    test_fill_input(graph, "labels", 2, CLASSES);
}

// ---- attention; the table of words is the last layer's, too, and places are learnt ----

enum { LENGTH = 5, WIDTH = 8, HEADS = 2 };

// Without biases: softmax does not see that of the keys.
static husk_value heads(husk_graph *graph, bool perturbs, const char *name, husk_value x)
{
    husk_linear_layer layer = HUSK_LINEAR_LAYER(.outputs = WIDTH, .no_bias = 1);
    x = test_rounded(graph, perturbs, husk_graph_linear(graph, name, &layer, x));
    x = husk_graph_reshape(graph, NULL, x, 4, (int64_t[]){BATCH, LENGTH, HEADS, WIDTH / HEADS});
    return husk_graph_permute(graph, NULL, x, (int32_t[]){0, 2, 1, 3});
}

static husk_value build_transformer(husk_graph *graph, bool perturbs)
{
    husk_value words = husk_graph_input(graph, "words", HUSK_I32, 2, (int64_t[]){BATCH, LENGTH});
    husk_value next = husk_graph_input(graph, "next", HUSK_I32, 1, (int64_t[]){BATCH * LENGTH});
    husk_initializer normal = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.5f);
    husk_value table = husk_graph_parameter(graph, "table", 2, (int64_t[]){WORDS, WIDTH}, &normal);
    husk_value places = husk_graph_parameter(graph, "places", 2, (int64_t[]){LENGTH, WIDTH}, &normal);
    husk_value x = test_rounded(graph, perturbs, husk_graph_embedding(graph, NULL, NULL, table, words));
    x = test_rounded(graph, perturbs, husk_graph_binary(graph, NULL, &add, x, places));
    husk_value inside = test_rounded(graph, perturbs, husk_graph_norm_layer(graph, "norm1", NULL, x));
    husk_attention_params causal = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_TOP_LEFT);
    inside =
        husk_graph_attention(graph, NULL, &causal, heads(graph, perturbs, "q", inside),
                             heads(graph, perturbs, "k", inside), heads(graph, perturbs, "v", inside), HUSK_NO_VALUE);
    inside = husk_graph_permute(graph, NULL, inside, (int32_t[]){0, 2, 1, 3});
    inside = husk_graph_reshape(graph, NULL, inside, 3, (int64_t[]){BATCH, LENGTH, WIDTH});
    inside = linear(graph, perturbs, "out", WIDTH, test_rounded(graph, perturbs, inside));
    x = test_rounded(graph, perturbs, husk_graph_binary(graph, NULL, &add, x, inside));
    husk_norm_params rms = husk_norm_defaults(HUSK_NORM_RMS);
    inside = husk_graph_norm_layer(graph, "norm2", &HUSK_NORM_LAYER(.params = &rms), x);
    inside = linear(graph, perturbs, "up", 12, test_rounded(graph, perturbs, inside));
    inside = linear(graph, perturbs, "down", WIDTH, act(graph, perturbs, HUSK_ACT_SILU, inside));
    x = test_rounded(graph, perturbs, husk_graph_binary(graph, NULL, &add, x, inside));
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH * LENGTH, WIDTH});
    x = husk_graph_gemm(graph, "logits", &HUSK_GEMM_PARAMS(.transpose_b = 1), 1, x, table, HUSK_NO_VALUE);
    return husk_graph_loss(graph, "loss", NULL, test_rounded(graph, perturbs, x), next, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void fill_transformer(husk_graph *graph)
{
    test_fill_input(graph, "words", 1, WORDS);
    test_fill_input(graph, "next", 2, WORDS);
}

static const test_rounded_network networks[] = {
    {build_cnn, fill_cnn}, {build_lstm, fill_lstm}, {build_transformer, fill_transformer}};

START_TEST(gradients_are_those_of_f64)
{
    static const char *const names[] = {"cnn", "lstm", "transformer"};
    if (!husk_context_has(test_context(), HUSK_FEATURE_F64))
        return;
    const husk_dtype dtype = _i % 2 ? HUSK_F16 : HUSK_BF16;
    printf("%s of %s: at most %.2f of the bound\n", names[_i / 2], husk_dtype_name(dtype),
           test_rounded_gradient(&networks[_i / 2], dtype, HUSK_F64));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mixed_whole");
    TCase *tests = tcase_create("all");
    tcase_add_loop_test(tests, gradients_are_those_of_f64, 0, 6);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
