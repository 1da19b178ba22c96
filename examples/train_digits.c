// SPDX-License-Identifier: MIT
// Handwritten digits: a small convolutional network learns 80% of the 1,797 images of examples/data, and is asked about
// the others. Exit status 0 if it knows 98.5% of them. Arguments: [SEED [IMAGES LABELS]], IDX files such as MNIST's.
#include <stdio.h>
#include <stdlib.h>

#include <husk/train.h>

enum { BATCH = 32, EPOCHS = 30, CLASSES = 10 };

typedef struct trainer {
    husk_context *context;
    husk_graph *graph;
    husk_dataset *all, *train, *test;
    husk_feed *train_feed, *test_feed;
    husk_error error;
} trainer;

/* Two convolutions and a pooling, twice the same with more channels, and two dense layers. */
static husk_value build(husk_graph *graph, int64_t height, int64_t width)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_value images = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){BATCH, height, width});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    husk_conv_layer first = HUSK_CONV_LAYER(.filters = 32, .window = {3, 3}, .params = &same);
    husk_conv_layer second = HUSK_CONV_LAYER(.filters = 64, .window = {3, 3}, .params = &same);
    husk_value x = husk_graph_reshape(graph, "channels", images, 4, (int64_t[]){BATCH, 1, height, width});
    x = husk_graph_conv_layer(graph, "conv1", &first, x);
    x = husk_graph_conv_layer(graph, "conv2", &first, x);
    x = husk_graph_pool(graph, "pool1", &halves, x);
    x = husk_graph_conv_layer(graph, "conv3", &second, x);
    x = husk_graph_pool(graph, "pool2", &halves, x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){BATCH, -1});
    x = husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 128, .activation = HUSK_ACT_RELU), x);
    x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.4f), x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static husk_status open_data(trainer *t, const char *images_path, const char *labels_path, uint64_t seed,
                             husk_tensor *image)
{
    husk_array images = {0}, labels = {0};
    husk_dataset_params params = HUSK_DATASET_PARAMS(.classes = CLASSES);
    husk_status status = husk_idx_read(images_path, &images, &t->error);
    if (!status)
        status = husk_idx_read(labels_path, &labels, &t->error);
    if (!status)
        status = husk_dataset_create(&images, &labels, &params, &t->all, &t->error);
    husk_array_release(&images);
    husk_array_release(&labels);
    if (!status)
        status = husk_dataset_split(t->all, 0.8, seed, &t->train, &t->test, &t->error);
    float mean, deviation;
    if (!status)
        status = husk_dataset_statistics(t->train, 1, 1, &mean, &deviation, &t->error);
    if (status)
        return status;
    husk_feed_params feed = HUSK_FEED_PARAMS(.batch = BATCH, .seed = seed, .channels = 1, .mean = &mean,
                                             .deviation = &deviation, .shift = 1);
    status = husk_feed_create(t->context, t->train, &feed, &t->train_feed, &t->error);
    feed.shift = 0;
    feed.in_order = feed.keep_partial = 1;
    if (!status)
        status = husk_feed_create(t->context, t->test, &feed, &t->test_feed, &t->error);
    husk_dataset_describe(t->all, image, NULL);
    return status;
}

static husk_status next_batch(trainer *t, husk_feed *feed, husk_batch *batch)
{
    husk_status status = husk_feed_next(feed, husk_graph_queue(t->graph), batch, &t->error);
    if (!status)
        status = husk_graph_write_tensor(t->graph, "images", &batch->inputs);
    return status ? status : husk_graph_write_tensor(t->graph, "labels", &batch->labels);
}

static husk_status train_epoch(trainer *t, float *loss)
{
    husk_batch batch = {0};
    husk_status status = HUSK_OK;
    while (!batch.is_last && !status) {
        status = next_batch(t, t->train_feed, &batch);
        if (!status)
            status = husk_graph_step(t->graph);
    }
    return status ? status : husk_graph_read(t->graph, "loss", loss, sizeof *loss);
}

static husk_status count_right(trainer *t, int64_t *right)
{
    husk_batch batch = {0};
    husk_status status = HUSK_OK;
    float logits[BATCH][CLASSES];
    int32_t labels[BATCH];
    *right = 0;
    while (!batch.is_last && !status) {
        status = next_batch(t, t->test_feed, &batch);
        if (!status)
            status = husk_graph_forward(t->graph, HUSK_GRAPH_EVALUATION);
        if (!status)
            status = husk_graph_read(t->graph, "logits", logits, sizeof logits);
        if (!status)
            status = husk_graph_read(t->graph, "labels", labels, sizeof labels);
        for (int64_t i = 0; i < batch.count && !status; i++) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                best = logits[i][c] > logits[i][best] ? c : best;
            *right += best == labels[i];
        }
    }
    return status;
}

static husk_status run(trainer *t, uint64_t seed, const char *images_path, const char *labels_path,
                       int64_t *right)
{
    husk_tensor image;
    husk_graph_params params = HUSK_GRAPH_PARAMS(.seed = seed);
    husk_optimizer_params adam = HUSK_OPTIMIZER_PARAMS(.kind = HUSK_OPTIMIZER_ADAM, .rate = 1e-3f);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam);
    husk_status status = husk_context_create(NULL, NULL, &t->context, &t->error);
    if (!status)
        status = open_data(t, images_path, labels_path, seed, &image);
    if (!status)
        status = husk_graph_create(t->context, &params, &t->graph, &t->error);
    if (status)
        return status;
    options.loss = build(t->graph, image.shape[image.rank - 2], image.shape[image.rank - 1]);
    status = husk_graph_compile(t->graph, &options, &t->error);
    for (int epoch = 0; epoch < EPOCHS && !status; epoch++) {
        float loss;
        if (epoch == EPOCHS * 2 / 3)
            husk_graph_set_rate(t->graph, adam.rate / 10);
        status = train_epoch(t, &loss);
        if (!status && epoch % 5 == 4)
            printf("epoch %d: the last batch's loss is %.4f\n", epoch + 1, (double)loss);
    }
    return status ? status : count_right(t, right);
}

int main(int count, char **arguments)
{
    trainer t = {0};
    uint64_t seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    const char *images = count > 3 ? arguments[2] : HUSK_EXAMPLE_DATA "/digits-images.idx3-ubyte";
    const char *labels = count > 3 ? arguments[3] : HUSK_EXAMPLE_DATA "/digits-labels.idx1-ubyte";
    int64_t right = 0, asked = 1;
    husk_status status = run(&t, seed, images, labels, &right);
    if (status)
        fprintf(stderr, "%s\n", t.error.status ? t.error.text : husk_graph_error(t.graph)->text);
    else {
        asked = husk_dataset_count(t.test);
        printf("%lld of %lld images are known: %.2f%%\n", (long long)right, (long long)asked,
               100.0 * (double)right / (double)asked);
    }
    husk_feed_release(t.train_feed);
    husk_feed_release(t.test_feed);
    husk_dataset_release(t.train);
    husk_dataset_release(t.test);
    husk_dataset_release(t.all);
    husk_graph_release(t.graph);
    husk_context_release(t.context);
    return status != HUSK_OK || (double)right < 0.985 * (double)asked;
}
