// SPDX-License-Identifier: MIT
// Handwritten digits: a small convolutional network learns 80% of the 1,797 images of examples/data, and is asked
// about the others. Exit status 0 if it knows 98.5% of them, 1 if not, 2 after a failure.
//     train_digits [--seed N] [--steps N] [--batch N] [--dtype f32|bf16|f16] [--log FILE]
//                  [IMAGES LABELS]
// With --steps it ends after so many steps and asks nothing. IMAGES and LABELS are IDX files such as MNIST's.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train.h>

#ifndef HUSK_EXAMPLE_DATA // the build gives its place
#define HUSK_EXAMPLE_DATA "data"
#endif

enum { EPOCHS = 80, CLASSES = 10 };

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

// Convolution, batch normalisation, ReLU.
static husk_value block(husk_graph *graph, const char *name, int64_t filters, husk_value x)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1});
    husk_norm_params batch = husk_norm_defaults(HUSK_NORM_BATCH);
    husk_activation_params relu = HUSK_ACTIVATION_PARAMS(.activation = HUSK_ACT_RELU);
    char norm[32];
    snprintf(norm, sizeof norm, "%s_norm", name);
    x = husk_graph_conv_layer(graph, name,
                              &HUSK_CONV_LAYER(.filters = filters, .window = {3, 3}, .params = &same, .no_bias = 1), x);
    x = husk_graph_norm_layer(graph, norm, &HUSK_NORM_LAYER(.params = &batch), x);
    return husk_graph_activation(graph, NULL, &relu, x);
}

// Two blocks and a pooling, a wider one and a pooling, two dense layers.
static husk_value build(husk_graph *graph, int64_t batch, int64_t height, int64_t width)
{
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_loss_params smoothed = husk_loss_defaults(HUSK_LOSS_CROSS_ENTROPY);
    smoothed.label_smoothing = 0.1f;
    husk_value images = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){batch, height, width});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){batch});
    husk_value x = husk_graph_reshape(graph, "channels", images, 4, (int64_t[]){batch, 1, height, width});
    x = block(graph, "conv1", 48, x);
    x = block(graph, "conv2", 48, x);
    x = husk_graph_pool(graph, "pool1", &halves, x);
    x = block(graph, "conv3", 96, x);
    x = husk_graph_pool(graph, "pool2", &halves, x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){batch, -1});
    x = husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 128, .activation = HUSK_ACT_RELU), x);
    x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.4f), x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", &smoothed, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void next_batch(husk_graph *graph, husk_feed *feed, husk_batch *batch)
{
    ok(husk_feed_next(feed, husk_graph_queue(graph), batch, &error), &error);
    ok(husk_graph_write_tensor(graph, "images", &batch->inputs), husk_graph_error(graph));
    ok(husk_graph_write_tensor(graph, "labels", &batch->labels), husk_graph_error(graph));
}

static void train(husk_graph *graph, husk_feed *feed, uint64_t steps, const husk_rate_params *rate,
                  const char *log_path)
{
    const char *const columns[] = {"step", "loss", "rate"};
    husk_progress *progress;
    husk_log *log = NULL;
    husk_batch batch;
    ok(husk_progress_create(&HUSK_PROGRESS_PARAMS(.stream = stderr, .label = "digits", .total = steps), &progress,
                            &error),
       &error);
    if (log_path)
        ok(husk_log_open(log_path, &HUSK_LOG_PARAMS(.columns = columns, .count = 3), &log, &error), &error);
    for (uint64_t step = 1; step <= steps; step++) {
        next_batch(graph, feed, &batch);
        ok(husk_graph_schedule_rate(graph, rate), husk_graph_error(graph));
        ok(husk_graph_step(graph), husk_graph_error(graph));
        if (!batch.is_last && step < steps)
            continue;
        float loss;
        double now;
        char text[32];
        ok(husk_graph_read(graph, "loss", &loss, sizeof loss), husk_graph_error(graph));
        ok(husk_rate_at(rate, step - 1, &now, &error), &error);
        snprintf(text, sizeof text, "loss %.4f", (double)loss);
        husk_progress_show(progress, step, text);
        if (log)
            ok(husk_log_write(log, (double[]){(double)step, (double)loss, now}, &error), &error);
    }
    husk_progress_release(progress);
    husk_log_close(log);
}

static husk_metrics_report evaluate(husk_context *context, husk_graph *graph, husk_feed *feed, int64_t rows)
{
    husk_metrics_report report = HUSK_METRICS_REPORT();
    husk_metrics *metrics;
    husk_batch batch = {0};
    husk_tensor logits, labels;
    ok(husk_metrics_create(context, &HUSK_METRICS_PARAMS(.classes = CLASSES, .rows = rows), &metrics, &error), &error);
    ok(husk_graph_tensor(graph, "logits", &logits), husk_graph_error(graph));
    ok(husk_graph_tensor(graph, "labels", &labels), husk_graph_error(graph));
    while (!batch.is_last) {
        next_batch(graph, feed, &batch);
        ok(husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_metrics_add(metrics, husk_graph_queue(graph), &logits, &labels, batch.count, &error), &error);
    }
    ok(husk_metrics_read(metrics, husk_graph_queue(graph), &report, &error), &error);
    husk_metrics_release(metrics);
    return report;
}

// FNV-1a of all parameters: two runs of one seed have the same.
static uint64_t digest(husk_graph *graph)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < husk_graph_parameter_count(graph); i++) {
        husk_parameter parameter = HUSK_PARAMETER();
        ok(husk_graph_parameter_at(graph, i, &parameter), husk_graph_error(graph));
        uint64_t bytes = (uint64_t)husk_tensor_extent(&parameter.tensor);
        unsigned char *values = malloc(bytes);
        if (!values)
            exit(2);
        ok(husk_graph_read(graph, parameter.name, values, bytes), husk_graph_error(graph));
        for (uint64_t b = 0; b < bytes; b++)
            hash = (hash ^ values[b]) * 1099511628211u;
        free(values);
    }
    return hash;
}

// A whole number; anything else ends the program.
static uint64_t whole(const char *option, const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno) {
        fprintf(stderr, "%s: \"%s\" is no whole number\n", option, text);
        exit(2);
    }
    return value;
}

static int usage(const char *program)
{
    fprintf(stderr, "%s [--seed N] [--steps N] [--batch N] [--dtype f32|bf16|f16] [--log FILE] [IMAGES LABELS]\n",
            program);
    return 2;
}

int main(int count, char **arguments)
{
    const char *images_path = HUSK_EXAMPLE_DATA "/digits-images.idx3-ubyte", *log_path = NULL;
    const char *labels_path = HUSK_EXAMPLE_DATA "/digits-labels.idx1-ubyte";
    uint64_t seed = 1, steps = 0;
    int64_t batch = 32;
    husk_dtype dtype = HUSK_F32;
    if (count % 2 == 0)
        return usage(arguments[0]);
    for (int i = 1; i < count; i += 2) {
        const char *option = arguments[i], *value = arguments[i + 1];
        if (strcmp(option, "--seed") == 0)
            seed = whole(option, value);
        else if (strcmp(option, "--steps") == 0)
            steps = whole(option, value);
        else if (strcmp(option, "--batch") == 0)
            batch = (int64_t)whole(option, value);
        else if (strcmp(option, "--dtype") == 0 && strcmp(value, "f16") == 0)
            dtype = HUSK_F16;
        else if (strcmp(option, "--dtype") == 0 && strcmp(value, "bf16") == 0)
            dtype = HUSK_BF16;
        else if (strcmp(option, "--dtype") == 0 && strcmp(value, "f32") == 0)
            dtype = HUSK_F32;
        else if (strcmp(option, "--log") == 0)
            log_path = value;
        else if (strncmp(option, "--", 2) != 0)
            images_path = option, labels_path = value;
        else
            return usage(arguments[0]);
    }

    husk_array images = {0}, labels = {0};
    husk_dataset *all, *learnt, *asked;
    ok(husk_idx_read(images_path, &images, &error), &error);
    ok(husk_idx_read(labels_path, &labels, &error), &error);
    ok(husk_dataset_create(&images, &labels, &HUSK_DATASET_PARAMS(.classes = CLASSES), &all, &error), &error);
    ok(husk_dataset_split(all, 0.8, seed, &learnt, &asked, &error), &error);

    husk_context *context;
    husk_feed *learning, *asking;
    float mean, deviation;
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    ok(husk_dataset_statistics(learnt, 1, 1, &mean, &deviation, &error), &error);
    husk_feed_params feed = HUSK_FEED_PARAMS(.batch = batch, .seed = seed, .channels = 1, .mean = &mean,
                                             .deviation = &deviation, .shift = 1);
    ok(husk_feed_create(context, learnt, &feed, &learning, &error), &error);
    feed.shift = 0;
    feed.in_order = feed.keep_partial = 1;
    ok(husk_feed_create(context, asked, &feed, &asking, &error), &error);

    husk_graph *graph;
    husk_tensor image;
    husk_rate_params rate = husk_rate_defaults(HUSK_RATE_COSINE, 2e-3);
    rate.steps = EPOCHS * (uint64_t)husk_feed_batches(learning);
    husk_optimizer_params adam = husk_adamw(2e-3);
    adam.weight_decay = 0.05;
    husk_dataset_describe(all, &image, NULL);
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.dtype = dtype, .seed = seed), &graph, &error), &error);
    husk_value loss = build(graph, batch, image.shape[image.rank - 2], image.shape[image.rank - 1]);
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss, .optimizer = &adam), &error), &error);

    int result = 0;
    train(graph, learning, steps ? steps : rate.steps, &rate, log_path);
    if (steps == 0) {
        husk_metrics_report report = evaluate(context, graph, asking, batch);
        printf("%lld of %lld images are known: %.2f%%\n", (long long)report.right, (long long)report.rows,
               100 * report.accuracy);
        result = report.accuracy < 0.985;
    }
    printf("%llu steps, parameters %016llx\n", (unsigned long long)husk_graph_get_position(graph).updates,
           (unsigned long long)digest(graph));

    husk_graph_release(graph);
    husk_feed_release(learning);
    husk_feed_release(asking);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
    husk_dataset_release(all);
    husk_context_release(context);
    return result;
}
