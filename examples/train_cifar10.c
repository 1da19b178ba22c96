// SPDX-License-Identifier: MIT
// Small colour photographs of ten kinds of things: a convolutional network. FOLDER holds CIFAR-10's binary files
// (data_batch_1.bin ... data_batch_5.bin, test_batch.bin). Without it the program generates a small set of its own,
// which is not CIFAR-10: gratings of ten directions in random colours and places, with noise. Exit status 0 if half
// of what it is asked is known, 1 if not, 2 after a failure.
//     train_cifar10 [--seed N] [--epochs N] [--steps N] [--log FILE] [FOLDER]
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <husk/train.h>

enum { BATCH = 64, CLASSES = 10, SIDE = 32, CHANNELS = 3, IMAGE = CHANNELS * SIDE * SIDE };

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

// ---- images ----

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), as a number in [0, 1).
static double draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

// A grating: stripes of a random colour, width and place, whose direction is the class.
static void generate_image(uint8_t *image, int label, uint64_t *state)
{
    const double angle = 3.14159265358979 * (label + 0.3 * draw(state)) / CLASSES, waves = 2 + 3 * draw(state);
    const double across = waves * cos(angle) / SIDE, down = waves * sin(angle) / SIDE, begin = draw(state);
    double bright[CHANNELS], dark[CHANNELS];
    for (int c = 0; c < CHANNELS; c++) {
        bright[c] = 255 * draw(state);
        dark[c] = 255 * draw(state);
    }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double wave = 0.5 + 0.5 * sin(6.28318530717959 * (across * x + down * y + begin));
            for (int c = 0; c < CHANNELS; c++) {
                double value = bright[c] * wave + dark[c] * (1 - wave) + 40 * (draw(state) - 0.5);
                image[(c * SIDE + y) * SIDE + x] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
            }
        }
}

static void generate(int64_t count, uint64_t seed, husk_array *images, husk_array *labels)
{
    *images = (husk_array){HUSK_U8, 4, {count, CHANNELS, SIDE, SIDE}, (uint64_t)count * IMAGE, NULL};
    *labels = (husk_array){HUSK_U8, 1, {count}, (uint64_t)count, NULL};
    images->data = malloc(images->bytes);
    labels->data = malloc(labels->bytes);
    if (!images->data || !labels->data)
        exit(2);
    for (int64_t i = 0; i < count; i++) {
        ((uint8_t *)labels->data)[i] = (uint8_t)(i % CLASSES);
        generate_image((uint8_t *)images->data + i * IMAGE, (int)(i % CLASSES), &seed);
    }
}

static husk_dataset *read_files(const char *folder, const char *const *names, size_t count, husk_array *images,
                                husk_array *labels)
{
    char paths[5][4096];
    const char *list[5];
    husk_dataset *dataset;
    for (size_t i = 0; i < count && folder; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%s", folder, names[i]);
        list[i] = paths[i];
    }
    if (folder)
        ok(husk_cifar10_read(list, count, images, labels, &error), &error);
    ok(husk_dataset_create(images, labels, &HUSK_DATASET_PARAMS(.classes = CLASSES), &dataset, &error), &error);
    return dataset;
}

// ---- the network ----

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

// Three times two blocks and a pooling, then the mean over each channel and a linear layer.
static husk_value build(husk_graph *graph)
{
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_reduce_params mean = HUSK_REDUCE_PARAMS(.kind = HUSK_REDUCE_MEAN, .axis_count = 2, .axes = {-2, -1});
    husk_value x = husk_graph_input(graph, "images", HUSK_F32, 4, (int64_t[]){BATCH, CHANNELS, SIDE, SIDE});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){BATCH});
    for (int i = 0; i < 3; i++) {
        char first[24], second[24];
        snprintf(first, sizeof first, "conv%d_1", i + 1);
        snprintf(second, sizeof second, "conv%d_2", i + 1);
        x = block(graph, first, 32 << i, x);
        x = block(graph, second, 32 << i, x);
        x = husk_graph_pool(graph, NULL, &halves, x);
    }
    x = husk_graph_reduce(graph, "mean", &mean, x);
    x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.1f), x);
    x = husk_graph_linear(graph, "fc", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

static void next_batch(husk_graph *graph, husk_feed *feed, husk_batch *batch)
{
    ok(husk_feed_next(feed, husk_graph_queue(graph), batch, &error), &error);
    ok(husk_graph_write_tensor(graph, "images", &batch->inputs), husk_graph_error(graph));
    ok(husk_graph_write_tensor(graph, "labels", &batch->labels), husk_graph_error(graph));
}

// One pass over a feed, at most so many steps; with a rate it learns.
static husk_metrics_report pass(husk_graph *graph, husk_feed *feed, husk_metrics *metrics, const husk_rate_params *rate,
                                uint64_t most, husk_progress *progress)
{
    husk_metrics_report report = HUSK_METRICS_REPORT();
    husk_batch batch = {0};
    husk_tensor logits, labels;
    ok(husk_graph_tensor(graph, "logits", &logits), husk_graph_error(graph));
    ok(husk_graph_tensor(graph, "labels", &labels), husk_graph_error(graph));
    husk_metrics_reset(metrics);
    for (uint64_t step = 0; step < most && !batch.is_last; step++) {
        next_batch(graph, feed, &batch);
        if (rate)
            ok(husk_graph_schedule_rate(graph, rate), husk_graph_error(graph));
        ok(rate ? husk_graph_step(graph) : husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_metrics_add(metrics, husk_graph_queue(graph), &logits, &labels, batch.count, &error), &error);
        husk_progress_show(progress, husk_graph_get_position(graph).updates, rate ? "learning" : "asking");
    }
    ok(husk_metrics_read(metrics, husk_graph_queue(graph), &report, &error), &error);
    return report;
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
    fprintf(stderr, "%s [--seed N] [--epochs N] [--steps N] [--log FILE] [FOLDER]\n", program);
    return 2;
}

int main(int count, char **arguments)
{
    const char *folder = NULL, *log_path = NULL;
    uint64_t seed = 1, epochs = 8, steps = 0;
    for (int i = 1; i < count; i++) {
        if (strncmp(arguments[i], "--", 2) != 0) {
            if (folder)
                return usage(arguments[0]);
            folder = arguments[i];
            continue;
        }
        if (i + 1 == count)
            return usage(arguments[0]);
        const char *option = arguments[i], *value = arguments[++i];
        if (strcmp(option, "--seed") == 0)
            seed = whole(option, value);
        else if (strcmp(option, "--epochs") == 0)
            epochs = whole(option, value);
        else if (strcmp(option, "--steps") == 0)
            steps = whole(option, value);
        else if (strcmp(option, "--log") == 0)
            log_path = value;
        else
            return usage(arguments[0]);
    }

    static const char *const batches[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                          "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
    husk_array images = {0}, labels = {0};
    if (!folder)
        generate(1600, 1, &images, &labels);
    husk_dataset *learnt = read_files(folder, batches, 5, &images, &labels);
    if (!folder)
        generate(500, 2, &images, &labels);
    husk_dataset *asked = read_files(folder, batches + 5, 1, &images, &labels);
    printf("%s: %lld images to learn, %lld to be asked about\n", folder ? folder : "a generated set, not CIFAR-10",
           (long long)husk_dataset_count(learnt), (long long)husk_dataset_count(asked));

    husk_context *context;
    husk_graph *graph;
    husk_feed *learning, *asking;
    husk_metrics *metrics;
    float mean[CHANNELS], deviation[CHANNELS];
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    ok(husk_dataset_statistics(learnt, 1, CHANNELS, mean, deviation, &error), &error);
    husk_feed_params feed =
        HUSK_FEED_PARAMS(.batch = BATCH, .seed = seed, .channels = CHANNELS, .mean = mean, .deviation = deviation);
    feed.in_order = feed.keep_partial = 1;
    ok(husk_feed_create(context, asked, &feed, &asking, &error), &error);
    feed.in_order = feed.keep_partial = 0;
    feed.shift = 4;
    feed.flip = folder != NULL; // a grating that is mirrored is one of another class
    ok(husk_feed_create(context, learnt, &feed, &learning, &error), &error);

    husk_optimizer_params sgd = husk_sgd(0.1);
    sgd.momentum = 0.9;
    sgd.nesterov = 1;
    sgd.weight_decay = 5e-4;
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = seed), &graph, &error), &error);
    husk_value loss = build(graph);
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(.loss = loss, .optimizer = &sgd), &error), &error);
    ok(husk_metrics_create(context, &HUSK_METRICS_PARAMS(.classes = CLASSES, .rows = BATCH, .top = 3, .confusion = 1),
                           &metrics, &error),
       &error);

    const char *const columns[] = {"epoch", "loss", "accuracy", "loss_of_others", "accuracy_of_others"};
    husk_rate_params rate = husk_rate_defaults(HUSK_RATE_ONE_CYCLE, 0.1);
    husk_progress *progress;
    husk_log *log = NULL;
    husk_metrics_report others = HUSK_METRICS_REPORT();
    rate.steps = epochs * (uint64_t)husk_feed_batches(learning);
    if (steps == 0 || steps > rate.steps)
        steps = rate.steps;
    ok(husk_progress_create(&HUSK_PROGRESS_PARAMS(.stream = stderr, .label = "cifar10", .total = steps), &progress,
                            &error),
       &error);
    if (log_path)
        ok(husk_log_open(log_path, &HUSK_LOG_PARAMS(.columns = columns, .count = 5), &log, &error), &error);
    for (uint64_t epoch = 1, left; (left = steps - husk_graph_get_position(graph).updates) > 0; epoch++) {
        husk_metrics_report own = pass(graph, learning, metrics, &rate, left, progress);
        others = pass(graph, asking, metrics, NULL, UINT64_MAX, progress);
        printf("epoch %llu: loss %.4f, %.2f%% known; of the others %.2f%%, among the best three %.2f%%\n",
               (unsigned long long)epoch, own.cross_entropy, 100 * own.accuracy, 100 * others.accuracy,
               100 * others.top_accuracy);
        const double row[] = {(double)epoch, own.cross_entropy, own.accuracy, others.cross_entropy, others.accuracy};
        if (log)
            ok(husk_log_write(log, row, &error), &error);
    }
    husk_log_close(log);
    husk_progress_release(progress);

    int64_t counts[CLASSES * CLASSES];
    husk_class_score macro;
    ok(husk_metrics_read_confusion(metrics, husk_graph_queue(graph), counts, &error), &error);
    ok(husk_confusion_scores(counts, CLASSES, NULL, &macro, NULL, &error), &error);
    printf("of the others by class: precision %.3f, recall %.3f, F1 %.3f\n", macro.precision, macro.recall, macro.f1);

    husk_metrics_release(metrics);
    husk_graph_release(graph);
    husk_feed_release(learning);
    husk_feed_release(asking);
    husk_dataset_release(learnt);
    husk_dataset_release(asked);
    husk_context_release(context);
    return !(others.accuracy >= 0.5);
}
