// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>

#include "train/data/gather.h"
#include "train/data/order.h"

enum { LEAST_SLOTS = 2, MOST_SLOTS = 8 };

typedef struct slot {
    husk_buffer *inputs, *labels;
    husk_event *loaded; // when the feed's queue has filled it
    husk_event *used;   // when the work that used it has ended; NULL: there was none
    husk_feed_position position;
    int64_t count;
    bool is_last;
} slot;

// The slots are a ring: `given` is out, then come `loaded` ones that wait, the others are free.
struct husk_feed {
    husk_context *context;
    husk_dataset *dataset;
    husk__gather gather;
    husk_queue *queue;
    uint64_t seed;
    int64_t batch;
    bool in_order, keep_partial;
    int32_t shards, shard;
    slot slots[MOST_SLOTS];
    int slot_count, head, loaded; // head: the next to give
    slot *given;                  // until it is done with
    const husk_queue *given_queue; // where it is used; to be compared only
    husk_feed_position ahead;     // the next to be loaded
    int64_t *order;
    uint64_t ordered; // the epoch of it; UINT64_MAX: none yet
    char *staging;    // a batch's inputs, then its labels
};

// ---- making one ----

static husk_status check_params(const husk_feed_params *params, const husk_dataset *dataset, const husk__source *source)
{
    const char *rule = NULL;
    if (params->size != sizeof *params)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: " HUSK__TRAIN_SIZE_RULE,
                                 (unsigned)params->size, (unsigned)sizeof *params, "HUSK_FEED_PARAMS");
    if (params->batch < 1)
        rule = "batch: a batch has one example or more";
    else if (params->slots != 0 && (params->slots < LEAST_SLOTS || params->slots > MOST_SLOTS))
        rule = "slots: 2 to 8";
    else if (params->shards < 0 || params->shard < 0 || params->shard >= (params->shards ? params->shards : 1))
        rule = "shard: it is below shards";
    else if (params->shards > params->batch)
        rule = "shards: a batch has fewer examples";
    else if (dataset->count < (params->keep_partial ? 1 : params->batch))
        rule = "batch: the dataset has fewer examples";
    return rule ? husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: %s", rule) : HUSK_OK;
}

// Examples of this shard before those of another shard, of a batch of count.
static int64_t share_begin(const husk_feed *feed, int64_t count, int32_t shard)
{
    return count / feed->shards * shard + (count % feed->shards) * shard / feed->shards;
}

static uint64_t input_bytes(const husk_feed *feed, int64_t count)
{
    return (uint64_t)(count * husk__dataset_inputs(feed->dataset)->elements) * sizeof(float);
}

static uint64_t label_bytes(const husk_feed *feed, int64_t count)
{
    const husk__column *labels = husk__dataset_labels(feed->dataset);
    return labels->data ? (uint64_t)(count * labels->elements) * sizeof(float) : 0;
}

static husk_status pass_on(const husk__source *source, const husk_error *error)
{
    return husk__caused_by(source->error, error, husk__source_fail(source, error->status, "%s", error->text));
}

static husk_status make_memory(husk_feed *feed, const husk__source *source)
{
    const int64_t most = feed->batch / feed->shards + 1;
    const husk__column *inputs = husk__dataset_inputs(feed->dataset), *labels = husk__dataset_labels(feed->dataset);
    int64_t elements;
    if (__builtin_mul_overflow(most, inputs->elements + (labels->data ? labels->elements : 0), &elements) ||
        elements > INT64_MAX / 8)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "params: batch: its bytes are beyond 63 bits");
    feed->order = husk__example_list(feed->dataset->count);
    feed->staging = malloc((size_t)(input_bytes(feed, most) + label_bytes(feed, most)) + 1);
    if (!feed->order || !feed->staging)
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the feed");
    husk_error error;
    husk_status status = HUSK_OK;
    for (int i = 0; i < feed->slot_count && !status; ++i) {
        status = husk_buffer_create(feed->context, input_bytes(feed, most), &feed->slots[i].inputs, &error);
        if (!status && labels->data)
            status = husk_buffer_create(feed->context, label_bytes(feed, most), &feed->slots[i].labels, &error);
    }
    return status ? pass_on(source, &error) : HUSK_OK;
}

static husk_status make(husk_feed *feed, const husk_dataset *dataset, const husk_feed_params *params,
                        const husk__source *source)
{
    *feed = (husk_feed){
        .seed = params->seed,
        .batch = params->batch < dataset->count ? params->batch : dataset->count, // larger ones are never full
        .in_order = params->in_order != 0,
        .keep_partial = params->keep_partial != 0,
        .shards = params->shards ? params->shards : 1,
        .shard = params->shard,
        .slot_count = params->slots ? params->slots : LEAST_SLOTS,
        .ordered = UINT64_MAX,
        .context = feed->context,
    };
    husk_context_retain(feed->context);
    if (!(feed->dataset = husk__dataset_share(dataset)))
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the feed");
    husk_status status = husk__gather_make(&feed->gather, feed->dataset, params, source);
    if (!status)
        status = make_memory(feed, source);
    husk_error error;
    if (!status &&
        husk_queue_create(feed->context, &HUSK_QUEUE_PARAMS(.profiling = params->profiling != 0), &feed->queue, &error))
        status = pass_on(source, &error);
    return status;
}

husk_status husk_feed_create(husk_context *context, const husk_dataset *dataset, const husk_feed_params *params,
                             husk_feed **feed, husk_error *error)
{
    const husk__source source = {.call = "husk_feed_create", .error = error};
    if (!context || !dataset || !params || !feed)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !context   ? "context"
                                 : !dataset ? "dataset"
                                 : !params  ? "params"
                                            : "feed");
    *feed = NULL;
    husk_status status = check_params(params, dataset, &source);
    if (status)
        return status;
    husk_feed *made = calloc(1, sizeof *made);
    if (!made)
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for the feed");
    made->context = context;
    status = make(made, dataset, params, &source);
    if (status) {
        husk_feed_release(made);
        return status;
    }
    *feed = made;
    return HUSK_OK;
}

static void forget(husk_event **event)
{
    if (*event)
        husk_event_release(*event);
    *event = NULL;
}

void husk_feed_release(husk_feed *feed)
{
    if (!feed)
        return;
    for (int i = 0; i < feed->slot_count; ++i) {
        forget(&feed->slots[i].loaded);
        forget(&feed->slots[i].used);
        husk_buffer_release(feed->slots[i].inputs);
        husk_buffer_release(feed->slots[i].labels);
    }
    husk_queue_release(feed->queue);
    husk__gather_free(&feed->gather);
    husk_dataset_release(feed->dataset);
    husk_context_release(feed->context);
    free(feed->order);
    free(feed->staging);
    free(feed);
}

// ---- filling ----

int64_t husk_feed_batches(const husk_feed *feed)
{
    const int64_t count = feed ? feed->dataset->count : 0;
    return feed ? count / feed->batch + (feed->keep_partial && count % feed->batch != 0) : 0;
}

static void order_epoch(husk_feed *feed, uint64_t epoch)
{
    if (feed->ordered == epoch)
        return;
    if (!feed->in_order)
        husk__order(feed->order, feed->dataset->count, feed->seed, "husk_feed order", epoch);
    else
        for (int64_t i = 0; i < feed->dataset->count; ++i)
            feed->order[i] = i;
    feed->ordered = epoch;
}

// The batch ahead, into the staging memory.
static void gather_batch(husk_feed *feed, slot *to)
{
    const husk__column *labels = husk__dataset_labels(feed->dataset);
    const int64_t first = (int64_t)feed->ahead.batch * feed->batch, left = feed->dataset->count - first;
    const int64_t whole = left < feed->batch ? left : feed->batch, begin = share_begin(feed, whole, feed->shard);
    order_epoch(feed, feed->ahead.epoch);
    to->position = feed->ahead;
    to->count = share_begin(feed, whole, feed->shard + 1) - begin;
    to->is_last = (int64_t)feed->ahead.batch + 1 == husk_feed_batches(feed);
    char *input = feed->staging, *label = feed->staging + input_bytes(feed, to->count);
    for (int64_t i = 0; i < to->count; ++i) {
        const int64_t example = husk__dataset_example(feed->dataset, feed->order[first + begin + i]);
        husk__gather_example(&feed->gather, example, feed->ahead.epoch, input);
        input += input_bytes(feed, 1);
        if (labels->data)
            husk__column_read(labels, example, label);
        label += label_bytes(feed, 1);
    }
}

static husk_status send(husk_feed *feed, slot *to, const husk__source *source)
{
    const uint64_t inputs = input_bytes(feed, to->count), labels = label_bytes(feed, to->count);
    husk_status status = HUSK_OK;
    if (to->used)
        status = husk_queue_wait(feed->queue, to->used);
    if (!status)
        status = husk_buffer_write_async(feed->queue, to->inputs, 0, inputs, feed->staging);
    if (!status && to->labels)
        status = husk_buffer_write_async(feed->queue, to->labels, 0, labels, feed->staging + inputs);
    forget(&to->loaded);
    if (!status)
        status = husk_queue_record(feed->queue, &to->loaded);
    if (!status)
        status = husk_queue_flush(feed->queue);
    if (status)
        return pass_on(source, husk_queue_error(feed->queue));
    forget(&to->used);
    return HUSK_OK;
}

static husk_status load(husk_feed *feed, const husk__source *source)
{
    while (feed->loaded + (feed->given != NULL) < feed->slot_count) {
        slot *free_slot = &feed->slots[(feed->head + feed->loaded) % feed->slot_count];
        gather_batch(feed, free_slot);
        const husk_status status = send(feed, free_slot, source);
        if (status)
            return status;
        feed->loaded++;
        feed->ahead.batch++;
        if (free_slot->is_last)
            feed->ahead = (husk_feed_position){.epoch = feed->ahead.epoch + 1};
    }
    return HUSK_OK;
}

// ---- handing out ----

// The caller's work on this queue is the last that uses the batch which is out.
static husk_status finish_given(husk_feed *feed, husk_queue *queue, const husk__source *source)
{
    if (!feed->given)
        return HUSK_OK;
    forget(&feed->given->used);
    const husk_status status = husk_queue_record(queue, &feed->given->used);
    if (status)
        return pass_on(source, husk_queue_error(queue));
    feed->given = NULL;
    // The feed's queue waits for it: it has to be on its way.
    const husk_status flushed = husk_queue_flush(queue);
    return flushed ? pass_on(source, husk_queue_error(queue)) : HUSK_OK;
}

static husk_status check_queue(const husk_feed *feed, husk_queue *queue, const husk__source *source)
{
    if (!feed || !queue)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", feed ? "queue" : "feed");
    if (husk_queue_context(queue) != feed->context)
        return husk__source_fail(source, HUSK_INVALID_ARGUMENT, "queue: it belongs to another context than the feed");
    return HUSK_OK;
}

husk_status husk_feed_done(husk_feed *feed, husk_queue *queue, husk_error *error)
{
    const husk__source source = {.call = "husk_feed_done", .error = error};
    husk_status status = check_queue(feed, queue, &source);
    if (!status)
        status = finish_given(feed, queue, &source);
    return status ? status : load(feed, &source);
}

static husk_tensor tensor_of(const husk__column *column, husk_buffer *buffer, int64_t count)
{
    int64_t shape[HUSK_MAX_RANK] = {count};
    memcpy(shape + 1, column->shape, (size_t)column->rank * sizeof *shape);
    husk_tensor tensor = husk_tensor_make(buffer, column->given, column->rank + 1, shape);
    if (!column->data)
        tensor.rank = -1;
    return tensor;
}

husk_status husk_feed_next(husk_feed *feed, husk_queue *queue, husk_batch *batch, husk_error *error)
{
    const husk__source source = {.call = "husk_feed_next", .error = error};
    husk_status status = check_queue(feed, queue, &source);
    if (!status && !batch)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "batch: it is NULL");
    if (!status && feed->given && queue != feed->given_queue)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT,
                                   "queue: the last batch is in use on another one, so husk_feed_done comes first");
    if (!status)
        status = finish_given(feed, queue, &source);
    if (!status)
        status = load(feed, &source);
    if (status)
        return status;
    slot *next = &feed->slots[feed->head];
    if ((status = husk_queue_wait(queue, next->loaded)))
        return pass_on(&source, husk_queue_error(queue));
    feed->given = next;
    feed->given_queue = queue;
    feed->head = (feed->head + 1) % feed->slot_count;
    feed->loaded--;
    *batch = (husk_batch){
        .inputs = tensor_of(husk__dataset_inputs(feed->dataset), next->inputs, next->count),
        .labels = tensor_of(husk__dataset_labels(feed->dataset), next->labels, next->count),
        .count = next->count,
        .position = next->position,
        .is_last = next->is_last,
    };
    return HUSK_OK;
}

// ---- places ----

husk_feed_position husk_feed_tell(const husk_feed *feed)
{
    if (!feed)
        return (husk_feed_position){0};
    return feed->loaded ? feed->slots[feed->head].position : feed->ahead;
}

husk_status husk_feed_seek(husk_feed *feed, husk_feed_position position, husk_error *error)
{
    const husk__source source = {.call = "husk_feed_seek", .error = error};
    if (!feed)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "feed: it is NULL");
    if (position.epoch == UINT64_MAX || position.batch >= (uint64_t)husk_feed_batches(feed))
        return husk__source_fail(
            &source, HUSK_INVALID_ARGUMENT, "position: batch %llu of epoch %llu, and an epoch has %lld",
            (unsigned long long)position.batch, (unsigned long long)position.epoch, (long long)husk_feed_batches(feed));
    feed->loaded = 0; // what is on its way is written over; the feed's queue is in order
    feed->ahead = position;
    return HUSK_OK;
}

husk_queue *husk_feed_queue(const husk_feed *feed)
{
    return feed ? feed->queue : NULL;
}
