// SPDX-License-Identifier: MIT
// Handwritten digits learnt by several processes, each with a part of every batch:
//
//     mpirun -n 2 --bind-to none example_train_distributed [CHECKPOINT]
//
// Their number has to divide the batch, 32. With a checkpoint's path, one is written after every epoch, and a run that
// finds one goes on from there. Exit status 0 if 97% of the images that were held back are known.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <husk/dist.h>

#ifndef HUSK_EXAMPLE_DATA // the build gives its place
#define HUSK_EXAMPLE_DATA "data"
#endif

enum { BATCH = 32, EPOCHS = 30, CLASSES = 10, SEED = 1 };

typedef struct trainer {
    husk_dist *dist;
    husk_context *context;
    husk_graph *graph;
    husk_parallel *parallel;
    husk_dataset *all, *train, *test;
    husk_feed *train_feed, *test_feed;
    const char *checkpoint;
    int64_t part; /* of a batch, this rank's */
    husk_error error;
} trainer;

static husk_value build(husk_graph *graph, int64_t batch)
{
    husk_conv_params same = HUSK_CONV_PARAMS(.pad = {1, 1}, .activation = HUSK_ACT_RELU);
    husk_pool_params halves = HUSK_POOL_PARAMS(.window = {2, 2});
    husk_conv_layer conv = HUSK_CONV_LAYER(.filters = 48, .window = {3, 3}, .params = &same);
    husk_value images = husk_graph_input(graph, "images", HUSK_F32, 3, (int64_t[]){batch, 8, 8});
    husk_value labels = husk_graph_input(graph, "labels", HUSK_I32, 1, (int64_t[]){batch});
    husk_value x = husk_graph_reshape(graph, "channels", images, 4, (int64_t[]){batch, 1, 8, 8});
    x = husk_graph_conv_layer(graph, "conv1", &conv, x);
    x = husk_graph_pool(graph, "pool1", &halves, x);
    x = husk_graph_conv_layer(graph, "conv2", &conv, x);
    x = husk_graph_reshape(graph, "flat", x, 2, (int64_t[]){batch, -1});
    x = husk_graph_dropout(graph, "dropout", &HUSK_DROPOUT_PARAMS(.p = 0.2f), x);
    x = husk_graph_linear(graph, "fc1", &HUSK_LINEAR_LAYER(.outputs = CLASSES), x);
    husk_graph_output(graph, "logits", x);
    return husk_graph_loss(graph, "loss", NULL, x, labels, HUSK_NO_VALUE, HUSK_NO_VALUE);
}

/* Every rank reads all images, and its feeds hand out its part of each batch. */
static husk_status open_data(trainer *t)
{
    husk_array images = {0}, labels = {0};
    husk_dataset_params params = HUSK_DATASET_PARAMS(.classes = CLASSES);
    husk_status status = husk_idx_read(HUSK_EXAMPLE_DATA "/digits-images.idx3-ubyte", &images, &t->error);
    if (!status)
        status = husk_idx_read(HUSK_EXAMPLE_DATA "/digits-labels.idx1-ubyte", &labels, &t->error);
    if (!status)
        status = husk_dataset_create(&images, &labels, &params, &t->all, &t->error);
    husk_array_release(&images);
    husk_array_release(&labels);
    if (!status)
        status = husk_dataset_split(t->all, 0.8, SEED, &t->train, &t->test, &t->error);
    husk_feed_params feed = HUSK_FEED_PARAMS(.batch = BATCH, .seed = SEED, .scale = 1.0f / 16, .shift = 1,
                                             .shards = husk_dist_count(t->dist), .shard = husk_dist_rank(t->dist));
    if (!status)
        status = husk_feed_create(t->context, t->train, &feed, &t->train_feed, &t->error);
    feed.shift = 0;
    feed.in_order = feed.keep_partial = 1;
    return status ? status : husk_feed_create(t->context, t->test, &feed, &t->test_feed, &t->error);
}

static husk_status make_graph(trainer *t)
{
    /* Dropout's masks differ between the ranks; husk_parallel_create gives all of them rank 0's parameters. */
    husk_graph_params params = HUSK_GRAPH_PARAMS(.seed = SEED + (uint64_t)husk_dist_rank(t->dist));
    husk_optimizer_params adam = husk_adam(2e-3);
    husk_graph_options options = HUSK_GRAPH_OPTIONS(.optimizer = &adam, .bucket_bytes = 16384);
    husk_status status = husk_graph_create(t->context, &params, &t->graph, &t->error);
    if (status)
        return status;
    t->part = BATCH / husk_dist_count(t->dist);
    options.loss = build(t->graph, t->part);
    return husk_graph_compile(t->graph, &options, &t->error);
}

/* Rank 0 has the checkpoint; the others take over from it what it has read. */
static husk_status resume(trainer *t)
{
    husk_status status = HUSK_OK;
    if (husk_dist_rank(t->dist) == 0 && t->checkpoint && access(t->checkpoint, F_OK) == 0) {
        husk_safetensors *file = NULL;
        husk_load_params load = HUSK_LOAD_PARAMS(.feed = t->train_feed);
        status = husk_safetensors_open(t->checkpoint, NULL, &file, &t->error);
        if (!status)
            status = husk_graph_load(t->graph, file, &load, NULL, &t->error);
        husk_safetensors_close(file);
    }
    husk_feed_position position = husk_feed_tell(t->train_feed);
    if (!status)
        status = husk_parallel_create(t->dist, t->graph, NULL, &t->parallel, &t->error);
    if (!status)
        status = husk_dist_broadcast(t->dist, &position, sizeof position);
    return status ? status : husk_feed_seek(t->train_feed, position, &t->error);
}

static husk_status next_batch(trainer *t, husk_feed *feed, husk_batch *batch)
{
    husk_status status = husk_feed_next(feed, husk_graph_queue(t->graph), batch, &t->error);
    if (!status)
        status = husk_graph_write_tensor(t->graph, "images", &batch->inputs);
    if (!status)
        status = husk_graph_write_tensor(t->graph, "labels", &batch->labels);
    return status ? status : husk_feed_done(feed, husk_graph_queue(t->graph), &t->error);
}

static husk_status train_epoch(trainer *t, uint64_t epoch)
{
    husk_batch batch = {0};
    husk_status status = HUSK_OK;
    husk_rate_params rate = husk_rate_defaults(HUSK_RATE_COSINE, 2e-3); /* of the step alone: a resumed run goes on */
    rate.steps = EPOCHS * (uint64_t)husk_feed_batches(t->train_feed);
    while (!batch.is_last && !status) {
        status = next_batch(t, t->train_feed, &batch);
        if (!status)
            status = husk_graph_schedule_rate(t->graph, &rate);
        if (!status)
            status = husk_parallel_step(t->parallel);
    }
    float loss = 0;
    if (!status)
        status = husk_graph_read(t->graph, "loss", &loss, sizeof loss);
    double sum = (double)loss;
    if (!status)
        status = husk_dist_sum(t->dist, &sum, 1);
    if (!status)
        status = husk_parallel_settle(t->parallel);
    if (status || husk_dist_rank(t->dist) != 0)
        return status;
    printf("epoch %llu: the last batch's loss is %.4f\n", (unsigned long long)epoch + 1,
           sum / husk_dist_count(t->dist));
    husk_save_params save = HUSK_SAVE_PARAMS(.feed = t->train_feed);
    return t->checkpoint ? husk_graph_save(t->graph, t->checkpoint, &save, &t->error) : HUSK_OK;
}

/* Each rank asks about its part of the images. */
static husk_status count_right(trainer *t, double *right)
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
            status = husk_graph_read(t->graph, "logits", logits, sizeof **logits * CLASSES * (size_t)t->part);
        if (!status)
            status = husk_graph_read(t->graph, "labels", labels, sizeof *labels * (size_t)t->part);
        for (int64_t i = 0; i < batch.count && !status; i++) {
            int best = 0;
            for (int c = 1; c < CLASSES; c++)
                best = logits[i][c] > logits[i][best] ? c : best;
            *right += best == labels[i];
        }
    }
    return status ? status : husk_dist_sum(t->dist, right, 1);
}

static husk_status run(trainer *t, double *right)
{
    husk_status status = husk_dist_create(NULL, &t->dist, &t->error);
    if (!status && BATCH % husk_dist_count(t->dist) != 0) {
        status = t->error.status = HUSK_INVALID_ARGUMENT;
        snprintf(t->error.text, sizeof t->error.text, "%d ranks do not divide a batch of %d",
                 (int)husk_dist_count(t->dist), BATCH);
    }
    if (!status)
        status = husk_dist_context_create(t->dist, NULL, NULL, &t->context, &t->error);
    if (!status)
        status = open_data(t);
    if (!status)
        status = make_graph(t);
    if (!status)
        status = resume(t);
    while (!status && husk_feed_tell(t->train_feed).epoch < EPOCHS)
        status = train_epoch(t, husk_feed_tell(t->train_feed).epoch);
    return status ? status : count_right(t, right);
}

/* Whoever has failed in a call says why; from the others' calls it is then heard. */
static void explain(const trainer *t)
{
    const husk_error *error = &t->error;
    if (!error->status && husk_dist_error(t->dist)->status)
        error = husk_dist_error(t->dist);
    else if (!error->status)
        error = husk_graph_error(t->graph);
    fprintf(stderr, "rank %d: %s\n", (int)husk_dist_rank(t->dist), error->text);
    husk_dist_fail(t->dist, error);
}

int main(int count, char **arguments)
{
    if (count > 2) {
        fprintf(stderr, "%s [CHECKPOINT]\n", arguments[0]);
        return 2;
    }
    trainer t = {.checkpoint = count > 1 ? arguments[1] : NULL};
    double right = 0, asked = 1;
    husk_status status = run(&t, &right);
    if (status)
        explain(&t);
    else {
        asked = (double)husk_dataset_count(t.test);
        if (husk_dist_rank(t.dist) == 0)
            printf("%.0f of %.0f images are known: %.2f%%\n", right, asked, 100 * right / asked);
    }
    husk_feed_release(t.train_feed);
    husk_feed_release(t.test_feed);
    husk_dataset_release(t.train);
    husk_dataset_release(t.test);
    husk_dataset_release(t.all);
    husk_parallel_release(t.parallel);
    husk_graph_release(t.graph);
    husk_context_release(t.context);
    husk_dist_release(t.dist);
    return status != HUSK_OK || right < 0.97 * asked;
}
