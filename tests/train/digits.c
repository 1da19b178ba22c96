// SPDX-License-Identifier: MIT
#include "train/digits.h"

#include <stdlib.h>

#include <check.h>

#include "support/device.h"
#include "train/whole_gradient.h"

#define DATA HUSK_SOURCE_DIR "/examples/data/digits-"

static husk_error error;

void test_digits_open(husk_dataset **learnt, husk_dataset **asked)
{
    husk_array images = {0}, labels = {0};
    husk_dataset *all;
    husk_dataset_params params = HUSK_DATASET_PARAMS(.classes = DIGITS_CLASSES);
    test_ok_error(husk_idx_read(DATA "images.idx3-ubyte", &images, &error), &error);
    test_ok_error(husk_idx_read(DATA "labels.idx1-ubyte", &labels, &error), &error);
    test_ok_error(husk_dataset_create(&images, &labels, &params, &all, &error), &error);
    test_ok_error(husk_dataset_split(all, 0.8, 1, learnt, asked, &error), &error);
    husk_dataset_release(all);
}

husk_feed *test_digits_feed(const husk_dataset *dataset, int64_t batch, uint64_t seed)
{
    return test_digits_feed_in(test_context(), dataset, batch, seed);
}

husk_feed *test_digits_feed_in(husk_context *context, const husk_dataset *dataset, int64_t batch, uint64_t seed)
{
    static const float mean = 4.9f, deviation = 6;
    husk_feed_params params = HUSK_FEED_PARAMS(.batch = batch, .seed = seed, .channels = 1, .mean = &mean,
                                               .deviation = &deviation, .shift = seed ? 1 : 0);
    params.in_order = params.keep_partial = seed == 0;
    husk_feed *feed;
    test_ok_error(husk_feed_create(context, dataset, &params, &feed, &error), &error);
    return feed;
}

husk_value test_digits_network(husk_graph *graph, int64_t batch, int64_t width, husk_value *labels)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_conv_layer first = HUSK_CONV_LAYER(.filters = width, .window = {3, 3}, .params = &same);
    husk_conv_layer second = HUSK_CONV_LAYER(.filters = 2 * width, .window = {3, 3}, .params = &same);
    husk_linear_layer hidden = HUSK_LINEAR_LAYER(.outputs = 4 * width, .activation = HUSK_ACT_RELU);
    husk_value x = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){batch, DIGITS_SIZE, DIGITS_SIZE});
    husk_value given = husk_graph_input(graph, "labels", HUSK_I32, 1, &batch);
    if (labels)
        *labels = given;
    x = husk_graph_reshape(graph, NULL, x, 4, (int64_t[]){batch, 1, DIGITS_SIZE, DIGITS_SIZE});
    x = husk_graph_conv_layer(graph, "conv1", &first, x);
    x = husk_graph_conv_layer(graph, "conv2", &first, x);
    x = husk_graph_pool(graph, NULL, &halves, x);
    x = husk_graph_conv_layer(graph, "conv3", &second, x);
    x = husk_graph_pool(graph, NULL, &halves, x);
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){batch, -1});
    x = husk_graph_linear(graph, "fc1", &hidden, x);
    x = husk_graph_dropout(graph, NULL, &HUSK_DROPOUT_PARAMS(.p = 0.4f), x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = DIGITS_CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return x;
}

int64_t test_digits_next(husk_graph *graph, husk_feed *feed, bool *is_last)
{
    husk_batch batch;
    test_ok_error(husk_feed_next(feed, husk_graph_queue(graph), &batch, &error), &error);
    test_graph_ok(graph, husk_graph_write_tensor(graph, "images", &batch.inputs));
    test_graph_ok(graph, husk_graph_write_tensor(graph, "labels", &batch.labels));
    if (is_last)
        *is_last = batch.is_last;
    return batch.count;
}

void test_digits_train(husk_graph *graph, husk_feed *feed, int64_t batches)
{
    for (int64_t b = 0; b < batches; b++) {
        test_digits_next(graph, feed, NULL);
        test_graph_ok(graph, husk_graph_step(graph));
    }
}

double test_digits_accuracy(husk_graph *graph, const husk_dataset *dataset, int64_t batch)
{
    float *logits = malloc(sizeof *logits * (size_t)(batch * DIGITS_CLASSES));
    int32_t *labels = malloc(sizeof *labels * (size_t)batch);
    husk_feed *feed = test_digits_feed_in(husk_queue_context(husk_graph_queue(graph)), dataset, batch, 0);
    int64_t right = 0;
    for (bool is_last = false; !is_last;) {
        int64_t count = test_digits_next(graph, feed, &is_last);
        test_graph_ok(graph, husk_graph_forward(graph, HUSK_GRAPH_EVALUATION));
        test_graph_ok(graph,
                      husk_graph_read(graph, "logits", logits, sizeof *logits * (size_t)(batch * DIGITS_CLASSES)));
        test_graph_ok(graph, husk_graph_read(graph, "labels", labels, sizeof *labels * (size_t)batch));
        for (int64_t i = 0; i < count; i++) {
            int best = 0;
            for (int c = 1; c < DIGITS_CLASSES; c++)
                best = logits[i * DIGITS_CLASSES + c] > logits[i * DIGITS_CLASSES + best] ? c : best;
            right += best == labels[i];
        }
    }
    husk_feed_release(feed);
    free(logits);
    free(labels);
    return 100.0 * (double)right / (double)husk_dataset_count(dataset);
}
