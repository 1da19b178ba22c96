// SPDX-License-Identifier: MIT
#include "train/swept_networks.h"

#include <string.h>

#include "ref/random.h"
#include "support/support.h"
#include "train/swept_graph.h"

enum { MOST_ELEMENTS = 512 };

static const husk_initializer normal = {.size = sizeof normal, .kind = HUSK_INITIALIZER_NORMAL, .spread = 0.3f};
static const husk_initializer one = {.size = sizeof one, .kind = HUSK_INITIALIZER_CONSTANT, .value = 1};

// ---- images ----

static husk_value build_images(husk_graph *g, const husk_value *in)
{
    const husk_conv_params plain = HUSK_CONV_PARAMS(.pad = {1, 1}),
                           relu = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    const husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 4, .window = {3, 3}, .params = &plain);
    husk_value x = husk_graph_conv_layer(g, "conv1", &conv, in[0]);
    x = husk_graph_norm_layer(g, "bn", &HUSK_NORM_LAYER(.params = &batch), x);
    x = husk_graph_activation(g, "relu", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU), x);
    husk_value pooled = husk_graph_pool(g, "pooled", &HUSK_POOL_PARAMS(.window = {2, 2}), x);
    conv.params = &relu;
    x = husk_graph_conv_layer(g, "conv2", &conv, pooled);
    x = husk_graph_binary(g, "sum", NULL, x, pooled);
    x = husk_graph_pool(g, "mean", &HUSK_POOL_PARAMS(.kind = HUSK_POOL_AVG, .global = 1), x);
    x = husk_graph_reshape(g, "flat", x, 2, (int64_t[]){4, -1});
    x = husk_graph_linear(g, "fc", &HUSK_LINEAR_LAYER(.outputs = 5), x);
    husk_graph_output(g, "logits", x);
    husk_graph_freeze(g, "conv1.bias");
    husk_value weight = husk_graph_parameter(g, "class_weight", 1, (int64_t[]){5}, &one);
    return husk_graph_loss(g, "loss", NULL, x, in[1], weight, HUSK_NO_VALUE);
}

static husk_status train_steps(husk_graph *graph, int batches)
{
    husk_status status = HUSK_OK;
    for (int b = 0; b < batches && !status; b++)
        status = SWEPT_STEP(husk_graph_step, graph);
    return status;
}

static husk_status train_one(husk_graph *graph)
{
    return train_steps(graph, 1);
}

static husk_status train_two(husk_graph *graph)
{
    return train_steps(graph, 2);
}

// ---- sequences ----

static husk_value build_sequences(husk_graph *g, const husk_value *in)
{
    const husk_rnn_params lstm = HUSK_RNN_PARAMS(.cell = HUSK_RNN_LSTM, .hidden_size = 4, .bidirectional = 1);
    husk_value h, c;
    husk_value x = husk_graph_embedding_layer(g, "words", &HUSK_EMBEDDING_LAYER(.rows = 7, .columns = 4), in[0]);
    x = husk_graph_rnn_layer(g, "lstm", &HUSK_RNN_LAYER(.params = &lstm), x, in[1], &h, &c);
    x = husk_graph_slice(g, "last", x, 0, 4, 1);
    x = husk_graph_reshape(g, "last_flat", x, 2, (int64_t[]){3, 8});
    h = husk_graph_permute(g, "turned", h, (int32_t[]){1, 0, 2});
    h = husk_graph_reshape(g, "states", h, 2, (int64_t[]){3, 8});
    c = husk_graph_slice(g, "forwards", c, 0, 0, 1);
    c = husk_graph_reshape(g, "cells", c, 2, (int64_t[]){3, 4});
    x = husk_graph_concat(g, "all", &HUSK_CONCAT_PARAMS(.axis = 1), (husk_value[]){x, h, c}, 3);
    x = husk_graph_dropout(g, "dropped", &HUSK_DROPOUT_PARAMS(.p = 0.25f), x);
    x = husk_graph_linear(g, "fc", &HUSK_LINEAR_LAYER(.outputs = 2, .bias = &normal), x);
    husk_graph_output(g, "logits", x);
    husk_value positive = husk_graph_parameter(g, "positive", 1, (int64_t[]){2}, &one);
    return husk_graph_loss(g, "loss",
                           &HUSK_MAKE(husk_loss_params, .kind = HUSK_LOSS_BINARY_LOGITS, .ignore_index = -100), x,
                           in[2], HUSK_NO_VALUE, positive);
}

// ---- attention ----

static husk_value head(husk_graph *g, const char *name, const char *split, const char *turned, husk_value x)
{
    x = husk_graph_linear(g, name, &HUSK_LINEAR_LAYER(.outputs = 8, .no_bias = 1), x);
    x = husk_graph_reshape(g, split, x, 4, (int64_t[]){2, 6, 2, 4});
    return husk_graph_permute(g, turned, x, (int32_t[]){0, 2, 1, 3});
}

static husk_value build_attention(husk_graph *g, const husk_value *in)
{
    const husk_norm_params rms = husk_norm_defaults(HUSK_NORM_RMS);
    const husk_attention_params own = HUSK_ATTENTION_PARAMS(.dropout = 0.1f);
    husk_value x = husk_graph_norm_layer(g, "ln", NULL, in[0]);
    husk_value q = head(g, "q", "q4", "qt", x), k = head(g, "k", "k4", "kt", x), v = head(g, "v", "v4", "vt", x);
    husk_value y = husk_graph_attention(g, "attention", &own, q, k, v, in[3]);
    y = husk_graph_permute(g, "back", y, (int32_t[]){0, 2, 1, 3});
    y = husk_graph_reshape(g, "joined", y, 3, (int64_t[]){2, 6, 8});
    x = husk_graph_binary(g, "residual", NULL, x, y);
    x = husk_graph_norm_layer(g, "rms", &HUSK_NORM_LAYER(.params = &rms), x);
    x = husk_graph_activation(g, "gelu", &HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_GELU), x);
    husk_value gain = husk_graph_parameter(g, "gain", 1, (int64_t[]){8}, &normal);
    x = husk_graph_binary(g, "scaled",
                          &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_MULTIPLY, .alpha = 1, .beta = 1), x, gain);
    x = husk_graph_unary(g, "waves", &HUSK_UNARY_PARAMS(.op = HUSK_UNARY_SIN), x);
    husk_value means =
        husk_graph_reduce(g, "means", &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axis_count = 1, .axes = {-1}), x);
    means = husk_graph_reshape(g, "means3", means, 3, (int64_t[]){2, 6, 1});
    x = husk_graph_binary(g, "centered",
                          &HUSK_MAKE(husk_binary_params, .op = HUSK_BINARY_SUBTRACT, .alpha = 1, .beta = 1), x, means);
    husk_value w = husk_graph_parameter(g, "w", 2, (int64_t[]){8, 3}, &normal);
    husk_value bias = husk_graph_parameter(g, "bias", 1, (int64_t[]){3}, &normal);
    x = husk_graph_gemm(g, "product", NULL, 0.5f, x, w, bias);
    x = husk_graph_reshape(g, "rows", x, 2, (int64_t[]){12, 3});
    husk_graph_output(g, "p", husk_graph_softmax(g, "soft", NULL, x));
    husk_graph_output(g, "best",
                      husk_graph_reduce(g, "argmax",
                                        &HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_ARGMAX, .axis_count = 1, .axes = {-1}),
                                        x));
    husk_graph_output(g, "numbers", husk_graph_cast(g, "cast", in[2], HUSK_F32));
    husk_graph_input_gradient(g, "dx", in[0]);
    return husk_graph_distillation(g, "loss", NULL, x, in[1], in[2]);
}

static husk_status train_micro_batches(husk_graph *graph)
{
    husk_status status = HUSK_OK;
    for (uint32_t m = 0; m < 2 && !status; m++) {
        status = SWEPT_GRAPH(husk_graph_micro_batch, graph, m);
        if (!status)
            status = SWEPT_GRAPH(husk_graph_forward, graph, HUSK_GRAPH_TRAINING);
    }
    for (uint32_t m = 0; m < 2 && !status; m++) {
        status = SWEPT_GRAPH(husk_graph_micro_batch, graph, m);
        if (!status)
            status = SWEPT_STEP(husk_graph_backward, graph);
    }
    return status ? status : SWEPT_STEP(husk_graph_update, graph);
}

// ---- a stage of a pipeline ----

static husk_value build_stage(husk_graph *g, const husk_value *in)
{
    const husk_norm_params group =
        HUSK_MAKE(husk_norm_params, .kind = HUSK_NORM_GROUP, .groups = 2, .axis = -1, .epsilon = 1e-5f);
    husk_value x = husk_graph_linear(
        g, "fc", &HUSK_LINEAR_LAYER(.outputs = 6, .activation = HUSK_ACT_TANH, .bias = &normal), in[0]);
    x = husk_graph_norm_layer(g, "group", &HUSK_NORM_LAYER(.params = &group), x);
    husk_graph_permute(g, "turned", x, (int32_t[]){2, 0, 1});
    x = husk_graph_unary(g, "exp", &HUSK_UNARY_PARAMS(.op = HUSK_UNARY_EXP), x);
    x = husk_graph_copy(g, "copy", husk_graph_slice(g, "part", x, 1, 1, 2));
    husk_graph_output(g, "y", x);
    husk_graph_output_gradient(g, "dy", x);
    husk_graph_input_gradient(g, "dx", in[0]);
    return HUSK_NO_VALUE;
}

static husk_status train_stage(husk_graph *graph)
{
    float dy[3 * 2 * 6];
    for (int i = 0; i < 3 * 2 * 6; i++)
        dy[i] = husk_ref_random_float(9, (uint64_t)i);
    husk_status status = SWEPT_GRAPH(husk_graph_forward, graph, HUSK_GRAPH_TRAINING);
    husk_tensor tensor;
    if (!status)
        status = SWEPT_GRAPH(husk_graph_tensor, graph, "dy", &tensor);
    uint16_t narrow[3 * 2 * 6];
    for (int i = 0; i < 3 * 2 * 6; i++)
        narrow[i] = (uint16_t)(0x3000 + 16 * i); // f16, 0.125 and more
    if (!status && tensor.dtype == HUSK_F32)
        status = SWEPT_GRAPH(husk_graph_write, graph, "dy", dy, sizeof dy);
    else if (!status)
        status = SWEPT_GRAPH(husk_graph_write, graph, "dy", narrow, sizeof narrow);
    if (!status)
        status = SWEPT_STEP(husk_graph_backward, graph);
    return status ? status : SWEPT_STEP(husk_graph_update, graph);
}

// ---- all of them ----

static const husk_optimizer_params momentum = {
    .size = sizeof momentum, .kind = HUSK_OPTIMIZER_SGD, .rate = 0.05f, .momentum = 0.9f};
static const husk_optimizer_params adam = {.size = sizeof adam,
                                           .kind = HUSK_OPTIMIZER_ADAM,
                                           .rate = 0.01f,
                                           .amsgrad = 1,
                                           .beta = 0.9,
                                           .beta2 = 0.999,
                                           .epsilon = 1e-8};
static const husk_optimizer_params rmsprop = {.size = sizeof rmsprop,
                                              .kind = HUSK_OPTIMIZER_RMSPROP,
                                              .rate = 0.01f,
                                              .momentum = 0.5f,
                                              .centered = 1,
                                              .beta = 0.99,
                                              .epsilon = 1e-8};
static const husk_optimizer_params adamw = {.size = sizeof adamw,
                                            .kind = HUSK_OPTIMIZER_ADAMW,
                                            .rate = 0.01f,
                                            .weight_decay = 0.01f,
                                            .beta = 0.9,
                                            .beta2 = 0.999,
                                            .epsilon = 1e-8};

const swept_network swept_networks[SWEPT_NETWORKS] = {
    {.name = "images",
     .inputs = {{"images", HUSK_F32, 4, {4, 2, 6, 6}, 0, 0}, {"labels", HUSK_I32, 1, {4}, 0, 5}},
     .outputs = {"logits", "loss"},
     .build = build_images,
     .train = train_one,
     .options = {.size = sizeof(husk_graph_options),
                 .optimizer = &momentum,
                 .check_finite = 1,
                 .clip_norm = 1,
                 .clip_value = 0.5f}},
    {.name = "sequences",
     .inputs = {{"tokens", HUSK_I32, 2, {5, 3}, 0, 7},
                {"lengths", HUSK_I32, 1, {3}, 1, 6},
                {"wanted", HUSK_F32, 2, {3, 2}, 0, 0}},
     .outputs = {"logits", "loss"},
     .build = build_sequences,
     .train = train_two,
     .options = {.size = sizeof(husk_graph_options), .optimizer = &adam, .accumulate = 2, .bucket_bytes = 64},
     .scale = {.size = sizeof(husk_loss_scale_params), .start = 1024, .interval = 1}},
    {.name = "attention",
     .inputs = {{"x", HUSK_F32, 3, {2, 6, 8}, 0, 0},
                {"teacher", HUSK_F32, 2, {12, 3}, 0, 0},
                {"labels", HUSK_I32, 1, {12}, 0, 3},
                {"mask", HUSK_U8, 2, {6, 6}, 1, 2}},
     .outputs = {"p", "best", "numbers", "dx", "loss"},
     .build = build_attention,
     .train = train_micro_batches,
     .options = {.size = sizeof(husk_graph_options),
                 .optimizer = &rmsprop,
                 .accumulate = 2,
                 .micro_batches = 2,
                 .clip_norm = 0.1f}},
    {.name = "stage",
     .inputs = {{"x", HUSK_F32, 3, {3, 4, 5}, 0, 0}},
     .outputs = {"y", "dx", "turned", "fc"},
     .build = build_stage,
     .train = train_stage,
     .options = {.size = sizeof(husk_graph_options), .optimizer = &adamw, .keep_values = 1}},
};

husk_graph *swept_build(const swept_network *network, husk_dtype dtype, husk_value *loss)
{
    husk_graph *graph = NULL;
    husk_value inputs[5] = {0};
    swept_call = "husk_graph_create";
    if (husk_graph_create(test_context(), &HUSK_GRAPH_PARAMS(.dtype = dtype, .seed = 5), &graph, &swept_error))
        return NULL;
    for (int i = 0; network->inputs[i].name; i++) {
        const swept_input *in = &network->inputs[i];
        inputs[i] = husk_graph_input(graph, in->name, in->dtype, in->rank, in->shape);
    }
    *loss = network->build(graph, inputs);
    swept_call = "husk_graph_";
    return graph;
}

husk_status swept_write(const swept_network *network, husk_graph *graph)
{
    const uint32_t micro_batches = network->options.micro_batches ? network->options.micro_batches : 1;
    husk_status status = HUSK_OK;
    for (uint32_t m = micro_batches; m-- > 0 && !status;) {
        status = SWEPT_GRAPH(husk_graph_micro_batch, graph, m);
        for (int i = 0; network->inputs[i].name && !status; i++) {
            const swept_input *in = &network->inputs[i];
            float wide[MOST_ELEMENTS];
            int32_t whole[MOST_ELEMENTS];
            uint8_t small[MOST_ELEMENTS];
            uint64_t count = 1;
            for (int32_t d = 0; d < in->rank; d++)
                count *= (uint64_t)in->shape[d];
            for (uint64_t e = 0; e < count; e++) {
                wide[e] = husk_ref_random_float(10 * m + (uint64_t)i, e);
                whole[e] = in->first + (int32_t)((wide[e] + 1) / 2 * (float)(in->past - in->first));
                small[e] = (uint8_t)whole[e];
            }
            status = SWEPT_GRAPH(husk_graph_write, graph, in->name,
                                 in->dtype == HUSK_F32   ? (void *)wide
                                 : in->dtype == HUSK_I32 ? (void *)whole
                                                         : (void *)small,
                                 count * husk_dtype_size(in->dtype));
            // So that the queue needs no further staging memory, whether the device is fast or slow.
            if (!status && (swept_call = "husk_queue_finish", status = husk_queue_finish(husk_graph_queue(graph))))
                swept_error = *husk_queue_error(husk_graph_queue(graph));
        }
    }
    return status;
}
