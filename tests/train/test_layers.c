// SPDX-License-Identifier: MIT
// ctest: tiers=default timeout=60 with=whole_gradient
// Layers: what they refuse, the parameters that they make, and batch normalisation's two modes.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"
#include "train/graph/compiled.h"
#include "train/whole_gradient.h"

typedef husk_value (*planted)(husk_graph *graph);

static husk_value ids(husk_graph *g)
{
    return husk_graph_input(g, "ids", HUSK_I32, 2, (int64_t[]){5, 3});
}
static husk_value sequence(husk_graph *g)
{
    return husk_graph_input(g, "x", HUSK_F32, 3, (int64_t[]){5, 3, 6});
}
static husk_value heads(husk_graph *g, const char *name, int64_t count, int64_t length, int64_t width)
{
    return husk_graph_input(g, name, HUSK_F32, 4, (int64_t[]){2, count, length, width});
}

static husk_value norm_of_nothing(husk_graph *g)
{
    husk_norm_params params = HUSK_MAKE(husk_norm_params, .axis = -4, .epsilon = 1e-5f);
    return husk_graph_norm_layer(g, "norm", &HUSK_NORM_LAYER(.params = &params), sequence(g));
}
static husk_value norm_of_groups(husk_graph *g)
{
    husk_norm_params params =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 2, .axis = -1, .epsilon = 1e-5f);
    return husk_graph_norm_layer(g, "norm", &HUSK_NORM_LAYER(.params = &params), sequence(g));
}
static husk_value norm_scale(husk_graph *g)
{
    husk_value scale = husk_graph_parameter(g, "scale", 1, (int64_t[]){5}, NULL);
    return husk_graph_norm(g, "norm", NULL, sequence(g), scale, 0, 0, 0);
}
static husk_value norm_without_statistics(husk_graph *g)
{
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_BATCH);
    return husk_graph_norm(g, "norm", &params, sequence(g), 0, 0, 0, 0);
}
static husk_value norm_of_parameters(husk_graph *g)
{
    husk_norm_params params = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_value mean = husk_graph_parameter(g, "mean", 1, (int64_t[]){3}, NULL);
    return husk_graph_norm(g, "norm", &params, sequence(g), 0, 0, mean, husk_graph_statistic(g, "variance", 3, 1));
}
static husk_value embedding_of_numbers(husk_graph *g)
{
    return husk_graph_embedding_layer(g, "words", &HUSK_EMBEDDING_LAYER(.rows = 4, .columns = 2), sequence(g));
}
static husk_value embedding_of_nothing(husk_graph *g)
{
    return husk_graph_embedding_layer(g, "words", &HUSK_EMBEDDING_LAYER(.rows = 4), ids(g));
}
static husk_value rnn_without_size(husk_graph *g)
{
    return husk_graph_rnn_layer(g, "lstm", NULL, sequence(g), 0, NULL, NULL);
}
static husk_value rnn_lengths(husk_graph *g)
{
    husk_rnn_params params = HUSK_RNN_PARAMS(.hidden_size = 4);
    return husk_graph_rnn_layer(g, "rnn", &HUSK_RNN_LAYER(.params = &params), sequence(g), ids(g), NULL, NULL);
}
static husk_value rnn_cells(husk_graph *g)
{
    husk_value h_n, c_n;
    husk_rnn_params params = HUSK_RNN_PARAMS(.hidden_size = 4);
    return husk_graph_rnn_layer(g, "rnn", &HUSK_RNN_LAYER(.params = &params), sequence(g), 0, &h_n, &c_n);
}
static husk_value rnn_states(husk_graph *g)
{
    husk_rnn_params params = HUSK_RNN_PARAMS(.hidden_size = 4);
    husk_value x = sequence(g);
    husk_rnn_values values = HUSK_RNN_VALUES(.x = x, .c0 = x);
    return husk_graph_rnn(g, "rnn", &params, &values, NULL, NULL);
}
static husk_value rnn_weights(husk_graph *g)
{
    husk_rnn_params params = HUSK_RNN_PARAMS(.hidden_size = 4);
    husk_value w = husk_graph_parameter(g, "w", 2, (int64_t[]){4, 5}, NULL);
    husk_rnn_values values = HUSK_RNN_VALUES(.x = sequence(g), .weights = (husk_value[]){w, w, 0, 0});
    return husk_graph_rnn(g, "rnn", &params, &values, NULL, NULL);
}
static husk_value attention_heads(husk_graph *g)
{
    return husk_graph_attention(g, "attention", NULL, heads(g, "q", 3, 5, 4), heads(g, "k", 2, 5, 4),
                                heads(g, "v", 2, 5, 4), 0);
}
static husk_value attention_values(husk_graph *g)
{
    return husk_graph_attention(g, "attention", NULL, heads(g, "q", 2, 5, 4), heads(g, "k", 2, 6, 4),
                                heads(g, "v", 2, 5, 4), 0);
}
static husk_value attention_strides(husk_graph *g)
{
    husk_value q = husk_graph_permute(g, NULL, heads(g, "q", 2, 4, 5), (int32_t[]){0, 1, 3, 2});
    return husk_graph_attention(g, "attention", NULL, q, heads(g, "k", 2, 6, 4), heads(g, "v", 2, 6, 4), 0);
}
static husk_value attention_mask(husk_graph *g)
{
    return husk_graph_attention(g, "attention", NULL, heads(g, "q", 2, 5, 4), heads(g, "k", 2, 6, 4),
                                heads(g, "v", 2, 6, 4), heads(g, "mask", 2, 5, 5));
}

START_TEST(the_first_mistake_is_named)
{
    const struct {
        planted build;
        const char *text;
    } all[] = {
        {norm_of_nothing, "husk_graph_norm_layer: norm: params: axis is -4, must be -3 to 2: x has 3 dimensions"},
        {norm_of_groups, "husk_graph_norm_layer: norm: params: 2 groups do not divide x's 3 channels"},
        {norm_scale, "husk_graph_norm: norm: scale: its shape is [5]; [6] is wanted"},
        {norm_without_statistics, "husk_graph_norm: norm: running_mean: batch normalisation needs it"},
        {norm_of_parameters, "husk_graph_norm: norm: running_mean: it has to be made by husk_graph_statistic"},
        {embedding_of_numbers, "husk_graph_embedding: words: indices: 3 dimensions of f32"},
        {embedding_of_nothing, "husk_graph_embedding_layer: words: layer: 4 rows of 0 columns"},
        {rnn_without_size, "husk_graph_rnn_layer: lstm: params: hidden_size is 0"},
        {rnn_lengths, "husk_graph_rnn: rnn: lengths: [5, 3] of i32; [3] of i32 is wanted"},
        {rnn_cells, "husk_graph_rnn: rnn: c_n: only an LSTM has"},
        {rnn_states, "husk_graph_rnn: rnn: c0: only an LSTM has"},
        {rnn_weights, "husk_graph_rnn: rnn: weights: input: its shape is [4, 5]; [4, 6] is wanted"},
        {attention_heads, "husk_graph_attention: attention: k: its shape is [2, 2, 5, 4], which does not go with q's"},
        {attention_values, "husk_graph_attention: attention: v: its shape is [2, 2, 5, 4], which does not go with k's"},
        {attention_strides, "husk_graph_attention: attention: q: its shape is [2, 2, 5, 4]; the last dimension"},
        {attention_mask, "husk_graph_attention: attention: mask: [2, 2, 5, 5] of f32; what broadcasts to [2, 2, 5, 6]"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        husk_graph *graph = test_graph(HUSK_F32, 0);
        ck_assert_int_eq(all[i].build(graph), HUSK_NO_VALUE);
        const char *text = husk_graph_error(graph)->text;
        ck_assert_msg(strncmp(text, all[i].text, strlen(all[i].text)) == 0, "\"%s\" is not \"%s\"", text, all[i].text);
        husk_graph_release(graph);
    }
}
END_TEST

START_TEST(layers_name_their_parameters)
{
    husk_graph *graph = test_graph(HUSK_F32, 0);
    husk_rnn_params lstm = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = 4, .layers = 2, .bidirectional = 1);
    husk_value h_n, c_n, shape_of;
    int64_t shape[HUSK_MAX_RANK];
    husk_value y =
        husk_graph_rnn_layer(graph, "lstm", &HUSK_RNN_LAYER(.params = &lstm), sequence(graph), 0, &h_n, &c_n);
    ck_assert_int_eq(husk_graph_shape(graph, y, shape), 3);
    ck_assert(shape[0] == 5 && shape[1] == 3 && shape[2] == 8);
    ck_assert_int_eq(husk_graph_shape(graph, c_n, shape), 3);
    ck_assert(shape[0] == 4 && shape[1] == 3 && shape[2] == 4);
    const struct {
        const char *name;
        int64_t rows, columns;
    } wanted[] = {{"lstm.weight_ih_l0", 16, 6}, {"lstm.weight_ih_l1_reverse", 16, 8}, {"lstm.weight_hh_l1", 16, 4}};
    for (int i = 0; i < 3; i++) {
        shape_of = husk__graph_find(graph, wanted[i].name);
        ck_assert_int_eq(husk_graph_shape(graph, shape_of, shape), 2);
        ck_assert(shape[0] == wanted[i].rows && shape[1] == wanted[i].columns);
    }
    ck_assert_int_gt(husk__graph_find(graph, "lstm.bias_hh_l1_reverse"), 0);
    husk_graph_release(graph);
}
END_TEST

enum { BATCH = 4, CHANNELS = 3, SPACE = 10, COUNT = BATCH * CHANNELS * SPACE };

// Mean and variance (divided by n - 1) of a channel.
static void moments(const float *x, int channel, double *mean, double *variance)
{
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int n = 0; n < BATCH; n++)
            for (int s = 0; s < SPACE; s++) {
                double number = (double)x[(n * CHANNELS + channel) * SPACE + s];
                if (pass == 0)
                    sum += number;
                else
                    squares += (number - sum / (BATCH * SPACE)) * (number - sum / (BATCH * SPACE));
            }
    *mean = sum / (BATCH * SPACE);
    *variance = squares / (BATCH * SPACE - 1);
}

START_TEST(batch_normalisation_knows_its_modes)
{
    husk_graph *graph = test_graph(HUSK_F32, 0);
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 3, (int64_t[]){BATCH, CHANNELS, SPACE});
    husk_value target = husk_graph_input(graph, "target", HUSK_F32, 3, (int64_t[]){BATCH, CHANNELS, SPACE});
    husk_norm_params params =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_BATCH, .momentum = 0.25f, .axis = -1, .epsilon = 1e-5f);
    husk_value y = husk_graph_norm_layer(graph, "norm", &HUSK_NORM_LAYER(.params = &params), x);
    husk_graph_output(graph, "norm", y);
    husk_loss_params square = husk_loss_defaults(HUSK_LOSS_MEAN_SQUARE);
    husk_optimizer_params sgd = HUSK_MAKE(husk_optimizer_params, .rate = 0.0);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &sgd);
    options.loss = husk_graph_loss(graph, "loss", &square, y, target, 0, 0);
    husk_error error = {0};
    test_ok_error(husk_graph_compile(graph, &options, &error), &error);
    test_fill_input(graph, "x", 3, 0);
    float host[COUNT], result[COUNT], mean[CHANNELS], variance[CHANNELS];
    test_graph_ok(graph, husk_graph_read(graph, "x", host, sizeof host));
    // Evaluation, before anything is learnt: mean 0, variance 1, epsilon 1e-5.
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "norm", result, sizeof result));
    for (int i = 0; i < COUNT; i++)
        ck_assert(fabs((double)result[i] - (double)host[i] / sqrt(1 + 1e-5)) < 1e-5);
    test_graph_ok(graph, husk_graph_step(graph));
    test_graph_ok(graph, husk_graph_read(graph, "norm.running_mean", mean, sizeof mean));
    test_graph_ok(graph, husk_graph_read(graph, "norm.running_var", variance, sizeof variance));
    test_graph_ok(graph, husk_graph_read(graph, "norm", result, sizeof result));
    for (int c = 0; c < CHANNELS; c++) {
        double m, v, own_m, own_v;
        moments(host, c, &m, &v);
        ck_assert_msg(fabs((double)mean[c] - 0.25 * m) < 1e-6, "%g for %g", (double)mean[c], 0.25 * m);
        ck_assert_msg(fabs((double)variance[c] - 0.75 - 0.25 * v) < 1e-6, "%g", (double)variance[c]);
        moments(result, c, &own_m, &own_v);
        ck_assert(fabs(own_m) < 1e-5 && fabs(own_v * (BATCH * SPACE - 1) / (BATCH * SPACE) - 1) < 1e-3);
    }
    // Two of the four parameters are statistics, and an evaluation leaves them alone.
    husk_parameter parameter = HUSK_PARAMETER();
    int statistics = 0;
    for (size_t i = 0; i < husk_graph_parameter_count(graph); i++) {
        test_graph_ok(graph, husk_graph_parameter_at(graph, i, &parameter));
        statistics += parameter.kind == HUSK_PARAMETER_STATISTIC;
    }
    ck_assert_int_eq(statistics, 2);
    float after[CHANNELS];
    test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
    test_graph_ok(graph, husk_graph_read(graph, "norm.running_mean", after, sizeof after));
    ck_assert(memcmp(mean, after, sizeof mean) == 0);
    husk_graph_release(graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("layers");
    TCase *tests = tcase_create("all");
    tcase_add_test(tests, the_first_mistake_is_named);
    tcase_add_test(tests, layers_name_their_parameters);
    tcase_add_test(tests, batch_normalisation_knows_its_modes);
    suite_add_tcase(suite, tests);
    return test_main(suite);
}
