// SPDX-License-Identifier: MIT
// The same graph in every rank: gradients are summed while backward goes on.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "dist/identity.h"

enum { LEAST_PART = 4096, TAGS = 4096, BLOCK = 512 };

// A part of a bucket on its way: backward, to host memory, this rank's piece, all pieces, back to the device.
typedef enum stage { STAGE_DEVICE, STAGE_READ, STAGE_SUM, STAGE_SPREAD } stage;

// Host memory that the driver has pinned, where that matters: a buffer that stays mapped. (The gradients themselves
// must not be mapped while kernels write to other parts of them.)
typedef struct staging {
    husk_buffer *buffer;
    void *host;
} staging;

typedef struct part {
    husk__task task;
    husk_parallel *parallel;
    size_t bucket;
    husk_buffer *buffer;
    uint64_t offset, bytes; // within the buffer
    int tag;
    stage stage;
    husk_event *ready;  // backward has come to its end; then, the part is in host memory
    husk_event *landed; // the means are there; the library's thread sets it
    char *host;         // that of its staging
    char *received;     // this rank's piece of the others
    husk_parallel_exchange times;
} part;

struct husk_parallel {
    husk_dist *dist;
    husk_graph *graph;
    husk_parallel_params params;
    husk_dtype dtype;
    husk_queue *queue; // the library's thread's
    staging staging[HUSK__WINDOW]; // in turn
    part *parts;
    size_t part_count;
    size_t posted; // parts of this step
    bool is_due;   // the last of `accumulate` batches
    bool listens;  // to the graph's buckets
};

// ---- the library's thread ----

static uint64_t piece_begin(const part *p, int32_t rank)
{
    uint64_t size = husk_dtype_size(p->parallel->dtype), elements = p->bytes / size;
    return elements * (uint64_t)rank / (uint64_t)p->parallel->dist->count * size;
}

static uint64_t piece_bytes(const part *p, int32_t rank)
{
    return piece_begin(p, rank + 1) - piece_begin(p, rank);
}

static void add_block(double *sum, const char *from, size_t count, husk_dtype dtype)
{
    const double *wide = (const void *)from;
    const float *narrow = (const void *)from;
    for (size_t i = 0; i < count; i++)
        sum[i] += dtype == HUSK_F64 ? wide[i] : (double)narrow[i];
}

// In the order of the ranks, in double, divided by their number.
static void average_piece(part *p)
{
    const husk_dist *dist = p->parallel->dist;
    husk_dtype dtype = p->parallel->dtype;
    uint64_t bytes = piece_bytes(p, dist->rank), size = husk_dtype_size(dtype);
    char *own = p->host + piece_begin(p, dist->rank);
    for (uint64_t at = 0; at < bytes; at += BLOCK * size) {
        double sum[BLOCK] = {0};
        size_t count = (size_t)((bytes - at) / size < BLOCK ? (bytes - at) / size : BLOCK);
        for (int32_t r = 0; r < dist->count; r++)
            add_block(sum, (r == dist->rank ? own : p->received + (uint64_t)r * bytes) + at, count, dtype);
        double *wide = (void *)(own + at);
        float *narrow = (void *)(own + at);
        for (size_t i = 0; i < count; i++)
            if (dtype == HUSK_F64)
                wide[i] = sum[i] / dist->count;
            else
                narrow[i] = (float)(sum[i] / dist->count);
    }
}

static husk_status queue_failed(const part *p, husk_status status, husk_error *error)
{
    if (status)
        *error = *husk_queue_error(p->parallel->queue);
    return status;
}

static husk_status begin_read(part *p, husk_error *error)
{
    husk_queue *queue = p->parallel->queue;
    husk_status status = queue_failed(p, husk_queue_wait(queue, p->ready), error);
    husk_event_release(p->ready);
    p->ready = NULL;
    if (!status)
        status =
            queue_failed(p, husk_buffer_read_async(queue, p->buffer, p->offset, p->bytes, p->host), error);
    return status ? status : queue_failed(p, husk_queue_record(queue, &p->ready), error);
}

static husk_status begin_sum(husk_dist *dist, part *p, husk_error *error)
{
    husk_status status = HUSK_OK;
    uint64_t own = piece_bytes(p, dist->rank);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && own)
            status =
                husk__task_receive(dist, &p->task, p->received + (uint64_t)r * own, own, r, p->tag, error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && piece_bytes(p, r))
            status = husk__task_send(dist, &p->task, p->host + piece_begin(p, r), piece_bytes(p, r), r,
                                     p->tag, error);
    return status;
}

static husk_status begin_spread(husk_dist *dist, part *p, husk_error *error)
{
    average_piece(p);
    p->times.summed_ns = husk__dist_now();
    husk_status status = HUSK_OK;
    uint64_t own = piece_bytes(p, dist->rank);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && piece_bytes(p, r))
            status = husk__task_receive(dist, &p->task, p->host + piece_begin(p, r), piece_bytes(p, r), r,
                                        p->tag + 1, error);
    for (int32_t r = 0; r < dist->count && !status; r++)
        if (r != dist->rank && own)
            status = husk__task_send(dist, &p->task, p->host + piece_begin(p, dist->rank), own, r,
                                     p->tag + 1, error);
    return status;
}

static husk_status land(part *p, husk_error *error)
{
    husk_queue *queue = p->parallel->queue;
    husk_status status =
            queue_failed(p, husk_buffer_write_async(queue, p->buffer, p->offset, p->bytes, p->host), error);
    if (!status)
        status = queue_failed(p, husk_queue_record(queue, &p->landed), error);
    p->times.ended_ns = husk__dist_now();
    return status;
}

static husk_status advance_part(husk_dist *dist, husk__task *task, bool *has_ended, husk_error *error)
{
    part *p = (part *)task;
    bool settled = false;
    husk_status status;
    switch (p->stage) {
    case STAGE_DEVICE:
    case STAGE_READ:
        // Its staging may be in use still.
        if (p - p->parallel->parts >= HUSK__WINDOW && !p[-HUSK__WINDOW].landed)
            return HUSK_OK;
        status = husk__task_device(task, p->ready, &settled, error);
        if (status || !settled)
            return status;
        task->steps++;
        if (p->stage == STAGE_READ) {
            p->stage = STAGE_SUM;
            return begin_sum(dist, p, error);
        }
        p->times.ready_ns = husk__dist_now();
        p->stage = STAGE_READ;
        return begin_read(p, error);
    case STAGE_SUM:
        status = husk__task_settled(task, &settled, error);
        if (status || !settled)
            return status;
        p->stage = STAGE_SPREAD;
        task->steps++;
        return begin_spread(dist, p, error);
    default:
        status = husk__task_settled(task, &settled, error);
        if (status || !settled)
            return status;
        *has_ended = true;
        return land(p, error);
    }
}

// ---- parts ----

static husk_status make_parts(husk_parallel *own, const husk__dist_scope *scope)
{
    uint64_t size = husk_dtype_size(own->dtype), most = own->params.part_bytes / size * size;
    size_t buckets = husk_graph_bucket_count(own->graph), count = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t at = 0;
        for (size_t b = 0; b < buckets; b++) {
            husk_bucket bucket = HUSK_BUCKET();
            husk_status status = husk_graph_bucket_at(own->graph, b, &bucket);
            if (status)
                return husk__dist_pass(scope, status, husk_graph_error(own->graph));
            uint64_t bytes = (uint64_t)bucket.gradients.shape[0] * size;
            for (uint64_t from = 0; from < bytes; from += most, at++) {
                if (pass == 0)
                    continue;
                part *p = &own->parts[at];
                p->parallel = own;
                p->bucket = b;
                p->buffer = bucket.gradients.buffer; // after a failure the thread may be at it while the graph goes
                husk_buffer_retain(p->buffer);
                p->offset = (uint64_t)bucket.gradients.offset * size + from;
                p->bytes = bytes - from < most ? bytes - from : most;
                p->tag = HUSK__TAG_PARTS + 2 * (int)(at % TAGS);
                p->task.advance = advance_part;
                p->task.is_windowed = true;
                p->host = own->staging[at % HUSK__WINDOW].host;
                snprintf(p->task.what, sizeof p->task.what, "part %zu of the gradients", at);
                p->received = malloc((piece_bytes(p, own->dist->rank) + 1) * (size_t)own->dist->count);
                if (!p->received || !husk__task_init(&p->task, 2 * own->dist->count))
                    return husk__dist_no_memory(scope);
            }
        }
        if (pass == 0) {
            count = at;
            own->parts = calloc(count + 1, sizeof *own->parts);
            if (!own->parts)
                return husk__dist_no_memory(scope);
            own->part_count = count;
        }
    }
    return HUSK_OK;
}

static husk_status make_staging(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_context *context = husk_queue_context(own->queue);
    uint64_t most = 0;
    for (size_t b = 0; b < husk_graph_bucket_count(own->graph); b++) {
        husk_bucket bucket = HUSK_BUCKET();
        husk_status status = husk_graph_bucket_at(own->graph, b, &bucket);
        if (status)
            return husk__dist_pass(scope, status, husk_graph_error(own->graph));
        uint64_t bytes = (uint64_t)husk_tensor_extent(&bucket.gradients);
        most = bytes > most ? bytes : most;
    }
    most = most < own->params.part_bytes ? most : own->params.part_bytes;
    for (int i = 0; i < HUSK__WINDOW; i++) {
        husk_status status = husk__dist_staging(context, own->queue, most, &own->staging[i].buffer,
                                                &own->staging[i].host, scope);
        if (status)
            return status;
    }
    return HUSK_OK;
}

// ---- alike in all ranks ----

static husk_status graph_failed(const husk_parallel *own, husk_status status, const husk__dist_scope *scope)
{
    return status ? husk__dist_fail_with(own->dist, status, husk_graph_error(own->graph)->text, scope)
                  : HUSK_OK;
}

static husk_status describe(husk_parallel *own, husk__likeness *like, const husk__dist_scope *scope)
{
    const husk_device_traits *traits = husk_context_traits(husk_queue_context(husk_graph_queue(own->graph)));
    snprintf(like->device, sizeof like->device, "%s", traits->name);
    snprintf(like->driver, sizeof like->driver, "%s", traits->driver_version);
    snprintf(like->dtype, sizeof like->dtype, "%s", husk_dtype_name(own->dtype));
    snprintf(like->update, sizeof like->update, "%s", husk_graph_update_variants(own->graph));
    like->parameters = husk_graph_parameter_count(own->graph);
    like->buckets = husk_graph_bucket_count(own->graph);
    for (size_t i = 0; i < like->parameters; i++) {
        husk_parameter p = HUSK_PARAMETER();
        husk_status status = husk_graph_parameter_at(own->graph, i, &p);
        if (status)
            return graph_failed(own, status, scope);
        like->names = XXH3_64bits_withSeed(p.name, strlen(p.name), like->names + (uint64_t)p.kind + 1);
        int64_t numbers[HUSK_MAX_RANK + 2] = {p.tensor.rank, p.tensor.offset};
        for (int32_t d = 0; d < p.tensor.rank; d++)
            numbers[d + 2] = p.tensor.shape[d];
        for (int s = 0; s < 3; s++)
            numbers[0] |= p.states[s].buffer ? (int64_t)256 << s : 0;
        like->shapes = XXH3_64bits_withSeed(numbers, sizeof numbers, like->shapes);
        like->bytes += (uint64_t)husk_tensor_extent(&p.tensor);
    }
    for (size_t b = 0; b < like->buckets; b++) {
        husk_bucket bucket = HUSK_BUCKET();
        husk_status status = husk_graph_bucket_at(own->graph, b, &bucket);
        if (status)
            return graph_failed(own, status, scope);
        like->cuts = XXH3_64bits_withSeed(&bucket.gradients.shape[0], sizeof(int64_t), like->cuts);
    }
    return HUSK_OK;
}

static husk_status compare(husk_parallel *own, const husk__dist_scope *scope)
{
    husk__likeness like;
    memset(&like, 0, sizeof like);
    husk_status status = describe(own, &like, scope);
    if (status)
        return status;
    husk__likeness *all = malloc(sizeof *all * (size_t)own->dist->count);
    if (!all)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    status = husk__dist_gather(own->dist, &like, sizeof like, all, scope->call, scope);
    char text[1024];
    if (!status && husk__likenesses_differ(own->dist, all, own->params.mixed, text, sizeof text))
        status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "%s", text);
    free(all);
    return status;
}

// Every parameter, statistic and state, in their order, through host memory: what is done with the bytes visit says.
typedef husk_status (*visitor)(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state,
                               void *host, uint64_t bytes, bool *write, const husk__dist_scope *scope);

static husk_status visit_tensor(husk_parallel *own, visitor visit, void *user,
                                const husk_parameter *parameter, const husk_tensor *tensor, bool is_state,
                                const husk__dist_scope *scope)
{
    husk_queue *queue = husk_graph_queue(own->graph);
    uint64_t bytes = (uint64_t)husk_tensor_extent(tensor);
    uint64_t offset = (uint64_t)tensor->offset * husk_dtype_size(tensor->dtype);
    void *host = malloc(bytes + 1);
    if (!host)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    bool write = false;
    husk_status status = husk_buffer_read(queue, tensor->buffer, offset, bytes, host);
    if (status)
        status = husk__dist_fail_with(own->dist, status, husk_queue_error(queue)->text, scope);
    if (!status)
        status = visit(own, user, parameter, is_state, host, bytes, &write, scope);
    if (!status && write) {
        status = husk_buffer_write(queue, tensor->buffer, offset, bytes, host);
        if (status)
            status = husk__dist_fail_with(own->dist, status, husk_queue_error(queue)->text, scope);
    }
    free(host);
    return status;
}

static husk_status visit_all(husk_parallel *own, visitor visit, void *user, const husk__dist_scope *scope)
{
    size_t count = husk_graph_parameter_count(own->graph);
    for (size_t i = 0; i < count; i++) {
        husk_parameter p = HUSK_PARAMETER();
        husk_status status = graph_failed(own, husk_graph_parameter_at(own->graph, i, &p), scope);
        if (!status)
            status = visit_tensor(own, visit, user, &p, &p.tensor, false, scope);
        for (int s = 0; s < 3 && !status; s++)
            if (p.states[s].buffer)
                status = visit_tensor(own, visit, user, &p, &p.states[s], true, scope);
        if (status)
            return status;
    }
    return HUSK_OK;
}

static husk_status take_first_ranks(husk_parallel *own, void *user, const husk_parameter *parameter,
                                    bool is_state, void *host, uint64_t bytes, bool *write,
                                    const husk__dist_scope *scope)
{
    (void)user;
    (void)parameter;
    (void)is_state;
    *write = own->dist->rank != 0;
    return husk__dist_broadcast(own->dist, host, bytes, "rank 0's parameters", scope);
}

// Rank 0's; a parameter of which it has none loses its own.
static husk_status take_mask(husk_parallel *own, size_t index, bool is_wanted, const husk__dist_scope *scope)
{
    husk_tensor mask;
    husk_queue *queue = husk_graph_queue(own->graph);
    husk_status status = graph_failed(own, husk_graph_mask_at(own->graph, index, &mask), scope);
    if (status || (!is_wanted && !mask.buffer))
        return status;
    if (!is_wanted)
        return graph_failed(own, husk_graph_set_mask(own->graph, index, NULL, 0), scope);
    const uint64_t bytes = (uint64_t)husk_tensor_count(&mask);
    void *host = calloc(1, bytes + 1);
    if (!host)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    if (own->dist->rank == 0 && husk_buffer_read(queue, mask.buffer, (uint64_t)mask.offset, bytes, host))
        status = husk__dist_fail_with(own->dist, husk_queue_error(queue)->status, husk_queue_error(queue)->text, scope);
    if (!status)
        status = husk__dist_broadcast(own->dist, host, bytes, "rank 0's masks", scope);
    if (!status && own->dist->rank != 0)
        status = graph_failed(own, husk_graph_set_mask(own->graph, index, host, bytes), scope);
    free(host);
    return status;
}

static husk_status take_masks(husk_parallel *own, const husk__dist_scope *scope)
{
    const size_t count = husk_graph_parameter_count(own->graph);
    husk_status status = HUSK_OK;
    uint8_t *wanted = malloc(count + 1); // whether rank 0 has one
    if (!wanted)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    for (size_t i = 0; i < count && !status; i++) {
        husk_tensor mask;
        status = graph_failed(own, husk_graph_mask_at(own->graph, i, &mask), scope);
        wanted[i] = !status && mask.buffer;
    }
    if (!status)
        status = husk__dist_broadcast(own->dist, wanted, count, "rank 0's masks", scope);
    for (size_t i = 0; i < count && !status; i++)
        status = take_mask(own, i, wanted[i], scope);
    free(wanted);
    return status;
}

// Masks come before the parameters, some of which they set to zero.
static husk_status take_first_graph(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_status status = take_masks(own, scope);
    return status ? status : visit_all(own, take_first_ranks, NULL, scope);
}

static husk_status take_mean(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state,
                             void *host, uint64_t bytes, bool *write, const husk__dist_scope *scope)
{
    (void)user;
    if (is_state || parameter->kind != HUSK_PARAMETER_STATISTIC)
        return HUSK_OK;
    int32_t count = own->dist->count;
    char *all = malloc(bytes * (size_t)count + 1);
    if (!all)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    husk_status status = husk__dist_gather(own->dist, host, bytes, all, "running statistics", scope);
    uint64_t size = husk_dtype_size(own->dtype);
    for (uint64_t e = 0; e < bytes / size && !status; e++) {
        double sum = 0;
        for (int32_t r = 0; r < count; r++) {
            const char *from = all + (uint64_t)r * bytes;
            sum += own->dtype == HUSK_F64 ? ((const double *)(const void *)from)[e]
                                          : (double)((const float *)(const void *)from)[e];
        }
        if (own->dtype == HUSK_F64)
            ((double *)host)[e] = sum / count;
        else
            ((float *)host)[e] = (float)(sum / count);
    }
    *write = true;
    free(all);
    return status;
}

typedef struct digest {
    uint64_t hash, masks;
    husk_graph_position position;
} digest;

static husk_status take_hash(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state,
                             void *host, uint64_t bytes, bool *write, const husk__dist_scope *scope)
{
    (void)own;
    (void)parameter;
    (void)is_state;
    (void)write;
    (void)scope;
    digest *d = user;
    d->hash = XXH3_64bits_withSeed(host, bytes, d->hash);
    return HUSK_OK;
}

// Ranks with other masks would make other updates of the same gradients.
static husk_status hash_masks(husk_parallel *own, uint64_t *hash, const husk__dist_scope *scope)
{
    digest d = {.hash = 0};
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < husk_graph_parameter_count(own->graph) && !status; i++) {
        husk_tensor mask;
        status = graph_failed(own, husk_graph_mask_at(own->graph, i, &mask), scope);
        if (status || !mask.buffer)
            continue;
        const uint64_t place = i;
        d.hash = XXH3_64bits_withSeed(&place, sizeof place, d.hash + 1);
        status = visit_tensor(own, take_hash, &d, NULL, &mask, false, scope);
    }
    *hash = d.hash;
    return status;
}

static husk_status compare_hashes(husk_parallel *own, const husk__dist_scope *scope)
{
    digest d = {.position = husk_graph_get_position(own->graph)};
    husk_status status = visit_all(own, take_hash, &d, scope);
    if (!status)
        status = hash_masks(own, &d.masks, scope);
    digest *all = status ? NULL : malloc(sizeof *all * (size_t)own->dist->count);
    if (!status && !all)
        status =
            husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    if (!status)
        status = husk__dist_gather(own->dist, &d, sizeof d, all, "the parameters' hash", scope);
    for (int32_t r = 1; r < own->dist->count && !status; r++) {
        char other[128];
        husk__rank_text(own->dist, r, other);
        if (all[r].position.updates != all[0].position.updates ||
            all[r].position.batches != all[0].position.batches)
            status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                       "%s has made %llu updates of %llu batches, rank 0 %llu of %llu", other,
                                       (unsigned long long)all[r].position.updates,
                                       (unsigned long long)all[r].position.batches,
                                       (unsigned long long)all[0].position.updates,
                                       (unsigned long long)all[0].position.batches);
        else if (all[r].masks != all[0].masks)
            status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                       "%s has other masks of pruning than rank 0: one has been pruned alone", other);
        else if (all[r].hash != all[0].hash)
            status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                       "%s has other parameters or states than rank 0 after %llu updates",
                                       other, (unsigned long long)all[0].position.updates);
    }
    free(all);
    return status;
}

static husk_status take_position(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_graph_position position = husk_graph_get_position(own->graph);
    husk_status status = husk__dist_broadcast(own->dist, &position, sizeof position, "rank 0's position", scope);
    return status ? status : graph_failed(own, husk_graph_set_position(own->graph, position), scope);
}

static husk_status take_loss_scale(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    husk_status status = graph_failed(own, husk_graph_get_loss_scale(own->graph, &scale), scope);
    const bool has_one = scale.scale != 0;
    if (!status)
        status = husk__dist_broadcast(own->dist, &scale, sizeof scale, "rank 0's loss scale", scope);
    if (!status && has_one != (scale.scale != 0)) {
        status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "this rank's graph has %s loss scale, rank 0's has %s",
                                   has_one ? "a" : "no", has_one ? "none" : "one");
        husk__dist_fail(own->dist, status, scope->error->text);
    }
    return status || !has_one ? status : graph_failed(own, husk_graph_set_loss_scale(own->graph, &scale), scope);
}

// ---- the program's thread ----

static husk_status on_bucket(void *user, husk_graph *graph, size_t index)
{
    husk_parallel *own = user;
    const husk__dist_scope scope = {"husk_parallel_step", &own->dist->error};
    husk_event *ready;
    own->is_due = true;
    if (own->part_count == 0)
        return HUSK_OK;
    husk_status status = husk_queue_record(husk_graph_queue(graph), &ready);
    if (status)
        return husk__dist_fail_with(own->dist, status, husk_queue_error(husk_graph_queue(graph))->text,
                                    &scope);
    uint64_t now = husk__dist_now();
    for (size_t i = own->posted; i < own->part_count && own->parts[i].bucket == index; i++) {
        part *p = &own->parts[i];
        husk_event_release(p->ready);
        husk_event_release(p->landed);
        husk_event_retain(ready);
        p->ready = ready;
        p->landed = NULL;
        p->stage = STAGE_DEVICE;
        p->times = (husk_parallel_exchange){.size = sizeof p->times, .bytes = p->bytes, .enqueued_ns = now};
        own->posted++;
        husk__task_post(own->dist, &p->task);
    }
    husk_event_release(ready);
    return HUSK_OK;
}

static husk_status check_params(husk_parallel *own, const husk_parallel_params *params,
                                const husk__dist_scope *scope)
{
    husk_status status =
        husk__dist_struct(&own->params, sizeof own->params, "HUSK_PARALLEL_PARAMS", params, "params", scope);
    if (status)
        return status;
    if (own->params.part_bytes == 0)
        own->params.part_bytes = (uint64_t)16 << 20;
    if (own->params.part_bytes < LEAST_PART || own->params.part_bytes > (uint64_t)1 << 30)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: part_bytes: 4096 to 2^30");
    husk_bucket bucket = HUSK_BUCKET();
    status = husk_graph_bucket_at(own->graph, 0, &bucket);
    if (status)
        return husk__dist_refuse(scope, status,
                                 "graph: it has no gradients: it has to be compiled with a loss");
    own->dtype = bucket.gradients.dtype;
    return HUSK_OK;
}

static husk_status make(husk_parallel *own, const husk_parallel_params *params, const husk__dist_scope *scope)
{
    husk_status status = check_params(own, params, scope);
    if (!status)
        status = husk_queue_create(husk_queue_context(husk_graph_queue(own->graph)), NULL, &own->queue, scope->error);
    if (!status && own->dist->count > 1)
        status = make_staging(own, scope);
    return status || own->dist->count == 1 ? status : make_parts(own, scope);
}

husk_status husk_parallel_create(husk_dist *dist, husk_graph *graph, const husk_parallel_params *params,
                                 husk_parallel **parallel, husk_error *error)
{
    husk_error none;
    const husk__dist_scope scope = {"husk_parallel_create", error ? error : &none};
    if (!dist || !graph || !parallel)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !dist ? "dist" : !graph ? "graph" : "parallel");
    *parallel = NULL;
    husk_parallel *own = calloc(1, sizeof *own);
    if (!own)
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", &scope);
    own->dist = dist;
    own->graph = graph;
    husk_status status = make(own, params, &scope);
    if (status) // the others wait for this rank's description
        husk__dist_fail(dist, status, scope.error->text);
    else
        status = compare(own, &scope);
    if (!status)
        status = take_first_graph(own, &scope);
    if (!status)
        status = take_position(own, &scope);
    if (!status)
        status = take_loss_scale(own, &scope);
    if (!status)
        status = compare_hashes(own, &scope);
    if (status) {
        husk_parallel_release(own);
        return status;
    }
    husk_graph_on_bucket(graph, on_bucket, own);
    own->listens = true;
    *parallel = own;
    return HUSK_OK;
}

void husk_parallel_release(husk_parallel *parallel)
{
    if (!parallel)
        return;
    const husk__dist_scope silent = {"husk_parallel_release", NULL};
    if (parallel->listens) // else another one may
        husk_graph_on_bucket(parallel->graph, NULL, NULL);
    // After a failure MPI may still write to what was in use, until the run ends.
    if (parallel->posted && husk__dist_check(parallel->dist, &silent))
        return;
    for (size_t i = 0; i < parallel->part_count; i++) {
        husk_event_release(parallel->parts[i].ready);
        husk_event_release(parallel->parts[i].landed);
        husk_buffer_release(parallel->parts[i].buffer);
        husk__task_clear(&parallel->parts[i].task);
        free(parallel->parts[i].received);
    }
    free(parallel->parts);
    for (int i = 0; i < HUSK__WINDOW; i++) {
        if (parallel->staging[i].host)
            husk_buffer_unmap(parallel->queue, parallel->staging[i].buffer, parallel->staging[i].host);
        husk_buffer_release(parallel->staging[i].buffer);
    }
    husk_queue_release(parallel->queue);
    free(parallel);
}

static husk_status backward(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_queue *queue = husk_graph_queue(own->graph);
    husk_status status = husk__dist_check(own->dist, scope);
    if (status) // parts of the step that has failed may be on their way still
        return status;
    own->posted = 0;
    own->is_due = false;
    status = graph_failed(own, husk_graph_forward(own->graph, HUSK_GRAPH_TRAINING), scope);
    if (!status && own->params.check_finite)
        status = graph_failed(own, husk_graph_check_finite(own->graph), scope);
    if (!status)
        status = graph_failed(own, husk_graph_backward(own->graph), scope);
    for (size_t i = 0; i < own->posted && !status; i++) {
        part *p = &own->parts[i];
        status = husk__task_wait(own->dist, &p->task, scope);
        if (!status && husk_queue_wait(queue, p->landed))
            status = husk__dist_fail_with(own->dist, husk_queue_error(queue)->status,
                                          husk_queue_error(queue)->text, scope);
    }
    return status;
}

static husk_status check(husk_parallel *parallel)
{
    return parallel ? HUSK_OK : HUSK_INVALID_ARGUMENT;
}

husk_status husk_parallel_backward(husk_parallel *parallel)
{
    husk_status status = check(parallel);
    if (status)
        return status;
    const husk__dist_scope scope = {"husk_parallel_backward", &parallel->dist->error};
    return backward(parallel, &scope);
}

husk_status husk_parallel_step(husk_parallel *parallel)
{
    husk_status status = check(parallel);
    if (status)
        return status;
    const husk__dist_scope scope = {"husk_parallel_step", &parallel->dist->error};
    status = backward(parallel, &scope);
    if (!status && parallel->is_due)
        status = graph_failed(parallel, husk_graph_update(parallel->graph), &scope);
    return status;
}

husk_status husk_parallel_settle(husk_parallel *parallel)
{
    husk_status status = check(parallel);
    if (status)
        return status;
    const husk__dist_scope scope = {"husk_parallel_settle", &parallel->dist->error};
    status = husk__dist_check(parallel->dist, &scope);
    if (!status) // what graphs that are compiled cold could not say before
        status = compare(parallel, &scope);
    if (!status)
        status = visit_all(parallel, take_mean, NULL, &scope);
    if (!status && parallel->params.mixed) // other devices round other updates
        status = take_first_graph(parallel, &scope);
    return status ? status : compare_hashes(parallel, &scope);
}

size_t husk_parallel_exchange_count(const husk_parallel *parallel)
{
    return parallel ? parallel->posted : 0;
}

husk_status husk_parallel_exchange_at(husk_parallel *parallel, size_t index, husk_parallel_exchange *exchange)
{
    husk_status status = check(parallel);
    if (status)
        return status;
    const husk__dist_scope scope = {"husk_parallel_exchange_at", &parallel->dist->error};
    if (!exchange)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "exchange: it is NULL");
    status = husk__dist_size(exchange->size, sizeof *exchange, "HUSK_PARALLEL_EXCHANGE", "exchange", &scope);
    if (status)
        return status;
    if (index >= parallel->posted)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "index: %zu; there are %zu parts", index,
                                 parallel->posted);
    *exchange = parallel->parts[index].times;
    return HUSK_OK;
}
