// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=600 with=whole_gradient
// Nodes of graphs, each with options that networks seldom have, in f64 against central differences of the loss.
#include <math.h>
#include <stdio.h>

#include "support/support.h"
#include "train/whole_gradient.h"

enum { ROWS = 4, COLUMNS = 6 };

// What a network begins with: inputs, and a linear layer's result, [ROWS, COLUMNS], around which gradients are known.
typedef struct start {
    husk_graph *graph;
    husk_value h, labels, mask, row;
} start;

static husk_value learnt(const start *s, const char *name, int32_t rank, const int64_t *shape)
{
    return husk_graph_parameter(s->graph, name, rank, shape,
                                &HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 1));
}

static husk_value reshape(const start *s, husk_value x, int64_t a, int64_t b, int64_t c)
{
    return husk_graph_reshape(s->graph, NULL, x, 3, (int64_t[]){a, b, c});
}

static husk_value unary(const start *s, husk_unary_params params, husk_value x)
{
    params.size = sizeof params;
    return husk_graph_unary(s->graph, NULL, &params, x);
}

static husk_value positive(const start *s, husk_value x)
{
    return unary(s, (husk_unary_params){.op = HUSK_UNARY_EXP}, x);
}

static husk_value binary(const start *s, husk_binary_params params, husk_value a, husk_value b)
{
    params.size = sizeof params;
    return husk_graph_binary(s->graph, NULL, &params, a, b);
}

// ---- concatenation and views ----

// Computed, learnt, a part of something else, from outside; by an axis that counts from the last.
static husk_value beside_each_other(const start *s)
{
    const husk_value inputs[] = {s->h, learnt(s, "p", 2, (int64_t[]){ROWS, 3}),
                                 husk_graph_slice(s->graph, NULL, s->h, 1, 1, 2), s->mask};
    return husk_graph_concat(s->graph, NULL, &HUSK_CONCAT_PARAMS(.axis = -1), inputs, 4);
}

// One input alone, and one of them twice.
static husk_value above_each_other(const start *s)
{
    husk_value alone = husk_graph_concat(s->graph, NULL, NULL, &s->h, 1);
    return husk_graph_concat(s->graph, NULL, NULL, (husk_value[]){alone, s->h, alone}, 3);
}

static husk_value turned_and_reshaped(const start *s)
{
    husk_value turned = husk_graph_permute(s->graph, NULL, s->h, (int32_t[]){1, 0});
    husk_value flat = husk_graph_reshape(s->graph, NULL, turned, 1, (int64_t[]){-1});
    return husk_graph_slice(s->graph, NULL, flat, 0, 5, 9);
}

// ---- products ----

static husk_value batches(const start *s)
{
    husk_value a = reshape(s, s->h, 2, 2, COLUMNS), b = learnt(s, "b", 3, (int64_t[]){2, COLUMNS, 3});
    return husk_graph_gemm(s->graph, NULL, NULL, 0.5f, a, b, learnt(s, "bias", 1, (int64_t[]){3}));
}

static husk_value a_matrix_of_all_batches(const start *s)
{
    husk_value a = reshape(s, s->h, 2, 2, COLUMNS);
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_b = 1, .activation = HUSK_ACT_SILU);
    husk_value product = husk_graph_gemm(s->graph, NULL, &params, 1, a, learnt(s, "b", 2, (int64_t[]){3, COLUMNS}), 0);
    // The other way round, and one of the batches for all.
    husk_value one = learnt(s, "one", 3, (int64_t[]){1, 5, 2});
    return husk_graph_gemm(s->graph, NULL, NULL, 1, one, product, 0);
}

static husk_value a_bias_of_rows(const start *s)
{
    husk_gemm_params params = HUSK_GEMM_PARAMS(.transpose_a = 1);
    return husk_graph_gemm(s->graph, NULL, &params, 2, s->h, learnt(s, "b", 2, (int64_t[]){ROWS, 3}),
                           learnt(s, "bias", 2, (int64_t[]){COLUMNS, 1}));
}

// ---- elements ----

static husk_value elements(const start *s)
{
    husk_value logarithm = unary(s, (husk_unary_params){.op = HUSK_UNARY_LOG1P}, positive(s, s->h));
    return unary(s, (husk_unary_params){.op = HUSK_UNARY_CLAMP, .low = -9, .high = 9}, logarithm);
}

// Results that backward begins with, and those of which the argument is needed.
static husk_value activations(const start *s)
{
    husk_value y = s->h;
    const husk_activation_params each[] = {HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = 0.25f),
                                           HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = -0.5f),
                                           HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_LEAKY_RELU, .slope = 0),
                                           HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU_TANH),
                                           HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_NONE)};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        char name[16];
        snprintf(name, sizeof name, "between%zu", i);
        y = husk_graph_linear(s->graph, name, &HUSK_LINEAR_LAYER(.outputs = 3), y);
        y = husk_graph_activation(s->graph, NULL, &each[i], y);
    }
    return y;
}

static husk_value shares(const start *s)
{
    husk_value row = learnt(s, "r", 1, (int64_t[]){COLUMNS}), cube = learnt(s, "cube", 3, (int64_t[]){2, ROWS, 1});
    husk_value sum = binary(s, (husk_binary_params){.op = HUSK_BINARY_ADD, .alpha = 2, .beta = -3}, row, s->h);
    husk_value product = binary(s, husk_binary_defaults(HUSK_BINARY_MULTIPLY), sum, cube);
    husk_value plain = binary(s, (husk_binary_params){.op = HUSK_BINARY_ADD, .alpha = 1, .beta = 1}, product, product);
    return binary(s, husk_binary_defaults(HUSK_BINARY_DIVIDE), plain, positive(s, row));
}

static husk_value along_axes(const start *s)
{
    husk_value x = reshape(s, s->h, 2, 3, 4);
    husk_value soft = husk_graph_softmax(s->graph, NULL, &HUSK_MAKE(husk_softmax_params, .axis = -2), x);
    husk_value sums = husk_graph_reduce(
        s->graph, NULL, &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_LOG_SUM_EXP, .axis_count = 1, .axes = {-3}), x);
    husk_value most = husk_graph_reduce(
        s->graph, NULL, &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MAX, .axis_count = 2, .axes = {-2, -1}), soft);
    husk_value column = husk_graph_reshape(s->graph, NULL, most, 2, (int64_t[]){2, 1});
    return binary(s, husk_binary_defaults(HUSK_BINARY_ADD),
                  husk_graph_reshape(s->graph, NULL, sums, 1, (int64_t[]){12}), column);
}

// ---- windows and normalisation ----

static husk_value means_of_windows(const start *s)
{
    husk_value image = reshape(s, s->h, 2, 2, COLUMNS);
    husk_pool_params mean = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .window = {3}, .stride = {2}, .pad = {1});
    husk_pool_params whole = HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .global = 1);
    return husk_graph_pool(s->graph, NULL, &whole, husk_graph_pool(s->graph, NULL, &mean, image));
}

static husk_value normalised(const start *s)
{
    husk_value x = reshape(s, s->h, 2, 4, 3);
    husk_norm_params rms = HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_RMS, .axis = -2, .epsilon = 1e-5f);
    husk_norm_params group =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 2, .axis = -1, .epsilon = 1e-5f);
    husk_norm_params instance = husk_norm_defaults(HUSK_NORM_INSTANCE);
    husk_value y = husk_graph_norm_layer(s->graph, "rms", &HUSK_NORM_LAYER(.params = &rms), x);
    y = husk_graph_norm_layer(s->graph, "group", &HUSK_NORM_LAYER(.params = &group), y);
    y = husk_graph_activation(s->graph, NULL, &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_SILU), y);
    y = husk_graph_norm(s->graph, NULL, &instance, y, learnt(s, "scale", 1, (int64_t[]){4}), 0, 0, 0);
    return husk_graph_norm_layer(s->graph, "bare", &HUSK_NORM_LAYER(.no_scale = 1, .no_bias = 1), positive(s, y));
}

// ---- losses ----

static husk_value loss(const start *s, husk_loss_params params, husk_value x, husk_value target, husk_value weight,
                       husk_value positive_weight)
{
    params.size = sizeof params;
    return husk_graph_loss(s->graph, NULL, &params, x, target, weight, positive_weight);
}

static husk_value weighted_labels(const start *s)
{
    husk_value weights = positive(s, s->row);
    husk_value entropy =
        loss(s, (husk_loss_params){.ignore_index = -100, .label_smoothing = 0.1f}, s->h, s->labels, weights, 0);
    husk_value logarithms =
        husk_graph_softmax(s->graph, NULL, &HUSK_MAKE(husk_softmax_params, .log = 1, .axis = -1), s->h);
    husk_value each =
        loss(s, (husk_loss_params){.ignore_index = -100, .kind = HUSK_LOSS_NEGATIVE_LOG, .reduction = HUSK_LOSS_NONE},
             logarithms, s->labels, weights, 0);
    husk_value one =
        husk_graph_reshape(s->graph, NULL, husk_graph_slice(s->graph, NULL, s->h, 0, 2, 1), 1, (int64_t[]){-1});
    husk_value soft = husk_graph_softmax(s->graph, NULL, NULL, s->row); // one row, of probabilities
    husk_value last = loss(s, (husk_loss_params){.reduction = HUSK_LOSS_SUM}, one, soft, 0, 0);
    husk_binary_params add = husk_binary_defaults(HUSK_BINARY_ADD);
    return binary(s, add, binary(s, add, entropy, each), last);
}

static husk_value weighted_logits(const start *s)
{
    husk_value target =
        husk_graph_activation(s->graph, NULL, &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_SIGMOID), s->mask);
    husk_value narrow = husk_graph_slice(s->graph, NULL, s->h, 1, 0, 5),
               row = husk_graph_slice(s->graph, NULL, s->row, 0, 0, 5);
    husk_value logits = loss(s, (husk_loss_params){.kind = HUSK_LOSS_BINARY_LOGITS},
                             husk_graph_copy(s->graph, NULL, narrow), target, positive(s, row), positive(s, target));
    husk_loss_params huber = {.kind = HUSK_LOSS_HUBER, .beta = 0.5f, .reduction = HUSK_LOSS_SUM};
    return binary(s, husk_binary_defaults(HUSK_BINARY_ADD), logits, loss(s, huber, narrow, target, 0, 0));
}

// ---- sequences ----

// States from outside; those of the end alone are read; no biases.
static husk_value last_states(const start *s)
{
    husk_rnn_params params = HUSK_RNN_PARAMS(.cell = HUSK_RNN_TANH, .hidden_size = 3);
    husk_value x = reshape(s, s->h, 3, 2, 4), h_n, c_n;
    husk_value given = learnt(s, "h0", 3, (int64_t[]){1, 2, 3}), cells = learnt(s, "c0", 3, (int64_t[]){1, 2, 3});
    husk_value weights[] = {learnt(s, "ih", 2, (int64_t[]){3, 4}), learnt(s, "hh", 2, (int64_t[]){3, 3}), 0, 0};
    husk_graph_rnn(s->graph, NULL, &params, &HUSK_RNN_VALUES(.x = x, .h0 = given, .weights = weights), &h_n, NULL);
    params.cell = HUSK_RNN_LSTM;
    husk_value more[] = {learnt(s, "ih4", 2, (int64_t[]){12, 4}), learnt(s, "hh4", 2, (int64_t[]){12, 3}),
                         learnt(s, "b4", 1, (int64_t[]){12}), 0};
    husk_graph_rnn(s->graph, NULL, &params, &HUSK_RNN_VALUES(.x = x, .h0 = h_n, .c0 = cells, .weights = more), &h_n,
                   &c_n);
    return binary(s, husk_binary_defaults(HUSK_BINARY_ADD), h_n, c_n);
}

static const struct {
    const char *name;
    husk_value (*build)(const start *s);
} all[] = {
    {"concatenation", beside_each_other},
    {"concatenation by rows", above_each_other},
    {"views", turned_and_reshaped},
    {"batches", batches},
    {"one matrix for all", a_matrix_of_all_batches},
    {"bias of rows", a_bias_of_rows},
    {"elements", elements},
    {"activations", activations},
    {"shares", shares},
    {"axes", along_axes},
    {"windows", means_of_windows},
    {"normalisation", normalised},
    {"labels", weighted_labels},
    {"logits", weighted_logits},
    {"states", last_states},
};

START_TEST(a_node_has_the_gradient_that_differences_say)
{
    if (!husk_context_has(test_context(), HUSK_FEATURE_F64)) {
        puts("SKIPPED: the device has no f64");
        return;
    }
    husk_error error = {0};
    start s = {.graph = test_graph(HUSK_F64, 3)};
    husk_value x = husk_graph_input(s.graph, "x", HUSK_F64, 2, (int64_t[]){ROWS, 5});
    s.labels = husk_graph_input(s.graph, "labels", HUSK_I32, 1, (int64_t[]){ROWS});
    s.mask = husk_graph_input(s.graph, "mask", HUSK_F64, 2, (int64_t[]){ROWS, 5});
    s.row = husk_graph_input(s.graph, "row", HUSK_F64, 1, (int64_t[]){COLUMNS});
    s.h = husk_graph_linear(s.graph, "fc", &HUSK_LINEAR_LAYER(.outputs = COLUMNS), x);
    husk_value y = all[_i].build(&s);
    husk_value sum = husk_graph_reduce(s.graph, "loss", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_NORM), y);
    ck_assert_msg(sum != HUSK_NO_VALUE, "%s: %s", all[_i].name, husk_graph_error(s.graph)->text);
    test_ok_error(husk_graph_compile(s.graph, &HUSK_GRAPH_OPTIONS(.loss = sum), &error), &error);
    test_fill_input(s.graph, "x", 1, 0);
    test_fill_input(s.graph, "mask", 2, 0);
    test_fill_input(s.graph, "row", 3, 0);
    test_fill_input(s.graph, "labels", 4, COLUMNS);
    printf("%s: at most %.2g of the gradient\n", all[_i].name, test_whole_gradient(s.graph, "loss", 4));
    husk_graph_release(s.graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("train/nodes");
    TCase *tcase = tcase_create("all");
    tcase_add_loop_test(tcase, a_node_has_the_gradient_that_differences_say, 0, (int)(sizeof all / sizeof *all));
    suite_add_tcase(suite, tcase);
    return test_main(suite);
}
