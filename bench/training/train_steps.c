// SPDX-License-Identifier: MIT
// Steps of training, timed for bench/training/compare.py: makes the network that is named, and writes "ready" with the
// bytes of device memory. Then for each number N on standard input: N steps, and a line with the nanoseconds that they
// took, the reading of the last loss included, and that loss. Data are by chance; the time does not depend on them.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <husk/train.h>

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

// ---- networks; compare.py has the same ----

static const husk_pool_params halves = {.size = sizeof(husk_pool_params), .window = {2, 2}};

static husk_value add(husk_graph *graph, husk_value a, husk_value b)
{
    husk_binary_params params = husk_binary_defaults(HUSK_BINARY_ADD);
    return husk_graph_binary(graph, NULL, &params, a, b);
}

// Convolution, batch normalisation, ReLU.
static husk_value block(husk_graph *graph, int64_t filters, husk_value x)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_activation_params relu = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = filters, .window = {3, 3}, .params = &same, .no_bias = 1);
    x = husk_graph_conv_layer(graph, NULL, &conv, x);
    x = husk_graph_norm_layer(graph, NULL, &HUSK_NORM_LAYER(.params = &batch), x);
    return husk_graph_activation(graph, NULL, &relu, x);
}

static husk_value digits(husk_graph *graph)
{
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){64, 1, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){64});
    x = husk_graph_pool(graph, NULL, &halves, block(graph, 48, block(graph, 48, x)));
    x = husk_graph_pool(graph, NULL, &halves, block(graph, 96, x));
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){64, -1});
    x = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = 128, .activation = HUSK_ACT_RELU), x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.4f), x);
    x = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = 10), x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_value cifar(husk_graph *graph)
{
    husk_reduce_params mean = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axis_count = 2, .axes = {-2, -1});
    husk_value x = husk_graph_input(graph, "x", HUSK_F32, 4, (int64_t[]){64, 3, 32, 32});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){64});
    for (int64_t filters = 32; filters <= 128; filters *= 2)
        x = husk_graph_pool(graph, NULL, &halves, block(graph, filters, block(graph, filters, x)));
    x = husk_graph_reduce(graph, NULL, &mean, x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.1f), x);
    x = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = 10), x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_value lstm(husk_graph *graph)
{
    husk_rnn_params both = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = 128, .bidirectional = 1);
    husk_reduce_params over_steps = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MAX, .axis_count = 1, .axes = {-3});
    husk_value x = husk_graph_input(graph, "ids", HUSK_I32, 2, (int64_t[]){64, 32});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){32});
    x = husk_graph_embedding_layer(graph, NULL, &HUSK_EMBEDDING_LAYER(.rows = 8000, .columns = 128), x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.5f), x);
    x = husk_graph_rnn_layer(graph, NULL, &HUSK_RNN_LAYER(.params = &both), x, HUSK_NO_VALUE, NULL, NULL);
    x = husk_graph_reduce(graph, NULL, &over_steps, x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.5f), x);
    x = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = 2), x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

enum { BATCH = 16, LENGTH = 64, WIDTH = 128, HEADS = 4, BYTES = 96 };

// Part `which` of [BATCH, LENGTH, 3 WIDTH], as [BATCH, HEADS, LENGTH, WIDTH / HEADS].
static husk_value heads(husk_graph *graph, husk_value all, int64_t which)
{
    husk_value part = husk_graph_slice(graph, NULL, all, 2, which * WIDTH, WIDTH);
    part = husk_graph_copy(graph, NULL, part);
    part = husk_graph_reshape(graph, NULL, part, 4, (int64_t[]){BATCH, LENGTH, HEADS, WIDTH / HEADS});
    return husk_graph_permute(graph, NULL, part, (int32_t[]){0, 2, 1, 3});
}

static husk_value transformer(husk_graph *graph)
{
    husk_initializer small = HUSK_INITIALIZER(.kind = HUSK_INITIALIZER_NORMAL, .spread = 0.1f);
    husk_attention_params causal = HUSK_ATTENTION_PARAMS(.causal = HUSK_CAUSAL_TOP_LEFT);
    husk_value x = husk_graph_input(graph, "ids", HUSK_I32, 2, (int64_t[]){BATCH, LENGTH});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH * LENGTH});
    husk_value places = husk_graph_parameter(graph, "places", 2, (int64_t[]){LENGTH, WIDTH}, &small);
    x = husk_graph_embedding_layer(graph, NULL, &HUSK_EMBEDDING_LAYER(.rows = BYTES, .columns = WIDTH), x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.1f), add(graph, x, places));
    for (int i = 0; i < 2; i++) {
        husk_value normal = husk_graph_norm_layer(graph, NULL, NULL, x);
        husk_value all = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = 3 * WIDTH), normal);
        husk_value seen = husk_graph_attention(graph, NULL, &causal, heads(graph, all, 0), heads(graph, all, 1),
                                               heads(graph, all, 2), HUSK_NO_VALUE);
        seen = husk_graph_permute(graph, NULL, seen, (int32_t[]){0, 2, 1, 3});
        seen = husk_graph_reshape(graph, NULL, seen, 3, (int64_t[]){BATCH, LENGTH, WIDTH});
        x = add(graph, x, husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = WIDTH), seen));
        husk_linear_layer up = HUSK_LINEAR_LAYER(.outputs = 4 * WIDTH, .activation = HUSK_ACT_GELU);
        husk_value wide = husk_graph_linear(graph, NULL, &up, husk_graph_norm_layer(graph, NULL, NULL, x));
        wide = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = WIDTH), wide);
        x = add(graph, x, husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.1f), wide));
    }
    x = husk_graph_norm_layer(graph, NULL, NULL, x);
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){BATCH * LENGTH, WIDTH});
    x = husk_graph_linear(graph, NULL, &HUSK_LINEAR_LAYER(.outputs = BYTES), x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static const struct {
    const char *name;
    husk_value (*build)(husk_graph *graph);
    int32_t ids, classes; /* ids: what they are below; 0: the input is numbers */
} networks[] = {
    {"digits", digits, 0, 10},
    {"cifar", cifar, 0, 10},
    {"lstm", lstm, 8000, 2},
    {"transformer", transformer, BYTES, BYTES},
};

// ---- data ----

static void fill(husk_graph *graph, const char *name, int32_t below)
{
    husk_tensor tensor;
    ok(husk_graph_tensor(graph, name, &tensor), husk_graph_error(graph));
    const int64_t count = husk_tensor_count(&tensor);
    void *host = malloc(4 * (size_t)count);
    uint32_t state = 2026;
    for (int64_t i = 0; i < count && host; i++) {
        state = state * 1664525u + 1013904223u;
        if (below)
            ((int32_t *)host)[i] = (int32_t)((state >> 8) % (uint32_t)below);
        else
            ((float *)host)[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    ok(host ? husk_graph_write(graph, name, host, 4 * (uint64_t)count) : HUSK_OUT_OF_HOST_MEMORY,
       husk_graph_error(graph));
    free(host);
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

int main(int count, char **arguments)
{
    size_t which = 0;
    const size_t all = sizeof networks / sizeof *networks;
    while (which < all && (count != 2 || strcmp(arguments[1], networks[which].name) != 0))
        which++;
    if (which == all) {
        fprintf(stderr, "usage: train_steps digits|cifar|lstm|transformer\n");
        return 2;
    }
    husk_context *context;
    husk_graph *graph;
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = 1), &graph, &error), &error);
    husk_optimizer_params adam = husk_adam(1e-3);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.loss = networks[which].build(graph), .optimizer = &adam);
    ok(husk_graph_compile(graph, &options, &error), &error);
    fill(graph, networks[which].ids ? "ids" : "x", networks[which].ids);
    fill(graph, "labels", networks[which].classes);
    husk_graph_memory memory;
    husk_graph_memory_used(graph, &memory);
    printf("ready %" PRIu64 "\n", memory.total);
    fflush(stdout);
    long steps;
    while (scanf("%ld", &steps) == 1 && steps > 0) {
        float loss;
        const uint64_t start = now();
        for (long i = 0; i < steps; i++)
            ok(husk_graph_step(graph), husk_graph_error(graph));
        ok(husk_graph_read(graph, "loss", &loss, sizeof loss), husk_graph_error(graph));
        printf("%" PRIu64 " %.9g\n", now() - start, (double)loss);
        fflush(stdout);
    }
    husk_graph_release(graph);
    husk_context_release(context);
    return 0;
}
