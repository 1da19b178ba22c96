// SPDX-License-Identifier: MIT
// How long a network takes to answer: a convolutional one on images of 32 x 32, in batches of 1, 8 and 32. Each run
// writes the images, computes, and reads the scores, and its time is the host's, from the first call to the answer.
// Percentiles are nearest ranks: p99 is a time that was measured, of which 99% of the runs stay within. Exit status 2
// after a failure, 1 where two runs on the same images differ.
//     infer_latency [--bind] [--runs N]
// --bind: the driver's threads on a CPU each (husk_context_bind_threads), which may be faster or slower: compare.
#define _POSIX_C_SOURCE 200809L // clock_gettime
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <husk/train.h>

enum { SIDE = 32, CHANNELS = 3, CLASSES = 10, MOST = 32 };

static husk_error error;

static void ok(husk_status status, const husk_error *of)
{
    if (status) {
        fprintf(stderr, "%s\n", of->text);
        exit(2);
    }
}

static husk_value block(husk_graph *graph, const char *name, int64_t filters, husk_value x)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    return husk_graph_conv_layer(graph, name, &HUSK_CONV_LAYER(.filters = filters, .window = {3, 3}, .params = &same),
                                 x);
}

// Without a loss a graph compiles for evaluation alone: no gradients, no optimizer.
static husk_graph *make(husk_context *context, int64_t batch)
{
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_graph *graph;
    ok(husk_graph_create(context, &HUSK_GRAPH_PARAMS(.seed = 1), &graph, &error), &error);
    husk_value x = husk_graph_input(graph, "images", HUSK_F32, 4, (int64_t[]){batch, CHANNELS, SIDE, SIDE});
    x = husk_graph_pool(graph, NULL, &halves, block(graph, "conv1", 32, x));
    x = husk_graph_pool(graph, NULL, &halves, block(graph, "conv2", 64, x));
    x = husk_graph_pool(graph, NULL, &halves, block(graph, "conv3", 128, x));
    x = husk_graph_reshape(graph, NULL, x, 2, (int64_t[]){batch, -1});
    x = husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = 128, .activation = HUSK_ACT_RELU), x);
    x = husk_graph_linear(graph, "fc2", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "scores", x);
    ok(husk_graph_compile(graph, &HUSK_GRAPH_OPTIONS(0), &error), &error);
    return graph;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// The nearest rank: the smallest time that so much of all are within.
static double percentile(const double *sorted, int count, int percent)
{
    int rank = (int)(((int64_t)count * percent + 99) / 100);
    return sorted[rank > 0 ? rank - 1 : 0];
}

// Returns whether all runs gave the same scores.
static int measure(husk_context *context, int64_t batch, int runs)
{
    static float images[MOST * CHANNELS * SIDE * SIDE], first[MOST * CLASSES], scores[MOST * CLASSES];
    const uint64_t in = sizeof images / MOST * (uint64_t)batch, out = sizeof scores / MOST * (uint64_t)batch;
    double *times = malloc(sizeof *times * (size_t)runs), sum = 0;
    int same = 1;
    if (!times)
        exit(2);
    for (size_t i = 0; i < sizeof images / sizeof images[0]; i++)
        images[i] = (float)((i * 2654435761u >> 8) % 1000) / 500 - 1;
    husk_graph *graph = make(context, batch);
    for (int run = -10; run < runs; run++) { // ten more beforehand
        double begin = now();
        ok(husk_graph_write(graph, "images", images, in), husk_graph_error(graph));
        ok(husk_graph_forward(graph, HUSK_GRAPH_EVALUATION), husk_graph_error(graph));
        ok(husk_graph_read(graph, "scores", scores, out), husk_graph_error(graph));
        if (run == -10)
            memcpy(first, scores, out);
        same = same && memcmp(first, scores, out) == 0;
        if (run >= 0)
            sum += times[run] = 1e6 * (now() - begin);
    }
    qsort(times, (size_t)runs, sizeof *times, by_size);
    printf("%5lld %8.0f %8.0f %8.0f %8.0f %8.0f %12.0f\n", (long long)batch, times[0], percentile(times, runs, 50),
           percentile(times, runs, 90), percentile(times, runs, 99), times[runs - 1], 1e6 * (double)batch * runs / sum);
    husk_graph_release(graph);
    free(times);
    return same;
}

int main(int count, char **arguments)
{
    const int bind = count > 1 && strcmp(arguments[1], "--bind") == 0, at = 1 + bind;
    const int has_runs = count == at + 2 && strcmp(arguments[at], "--runs") == 0;
    int runs = has_runs ? atoi(arguments[at + 1]) : 200, same = 1;
    if (runs < 1 || (count != at && !has_runs)) {
        fprintf(stderr, "%s [--bind] [--runs N]\n", arguments[0]);
        return 2;
    }
    husk_context *context;
    ok(husk_context_create(NULL, NULL, &context, &error), &error);
    if (bind && husk_context_bind_threads(context, NULL, 0, &error))
        fprintf(stderr, "threads are not bound: %s\n", error.text);
    printf("%s, microseconds of %d runs\n", husk_context_traits(context)->name, runs);
    printf("batch      min      p50      p90      p99      max     images/s\n");
    for (int64_t batch = 1; batch <= MOST; batch *= batch == 1 ? 8 : 4)
        same = measure(context, batch, runs) && same;
    husk_context_release(context);
    if (!same)
        fprintf(stderr, "two runs on the same images differ\n");
    return !same;
}
