// SPDX-License-Identifier: MIT
#include "dist/alike.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "dist/failure.h"
#include "dist/identity.h"
#include "dist/together.h"

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
            return husk__replica_failed(own, status, scope);
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
            return husk__replica_failed(own, status, scope);
        like->cuts = XXH3_64bits_withSeed(&bucket.gradients.shape[0], sizeof(int64_t), like->cuts);
    }
    return HUSK_OK;
}

husk_status husk__alike_compare(husk_parallel *own, const husk__dist_scope *scope)
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

static husk_status visit_tensor(husk_parallel *own, visitor visit, void *user, const husk_parameter *parameter,
                                const husk_tensor *tensor, bool is_state, const husk__dist_scope *scope)
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
        husk_status status = husk__replica_failed(own, husk_graph_parameter_at(own->graph, i, &p), scope);
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

static husk_status take_first_ranks(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state,
                                    void *host, uint64_t bytes, bool *write, const husk__dist_scope *scope)
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
    husk_status status = husk__replica_failed(own, husk_graph_mask_at(own->graph, index, &mask), scope);
    if (status || (!is_wanted && !mask.buffer))
        return status;
    if (!is_wanted)
        return husk__replica_failed(own, husk_graph_set_mask(own->graph, index, NULL, 0), scope);
    const uint64_t bytes = (uint64_t)husk_tensor_count(&mask);
    void *host = calloc(1, bytes + 1);
    if (!host)
        return husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    if (own->dist->rank == 0 && husk_buffer_read(queue, mask.buffer, (uint64_t)mask.offset, bytes, host))
        status = husk__dist_fail_with(own->dist, husk_queue_error(queue)->status, husk_queue_error(queue)->text, scope);
    if (!status)
        status = husk__dist_broadcast(own->dist, host, bytes, "rank 0's masks", scope);
    if (!status && own->dist->rank != 0)
        status = husk__replica_failed(own, husk_graph_set_mask(own->graph, index, host, bytes), scope);
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
        status = husk__replica_failed(own, husk_graph_mask_at(own->graph, i, &mask), scope);
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
husk_status husk__alike_take_graph(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_status status = take_masks(own, scope);
    return status ? status : visit_all(own, take_first_ranks, NULL, scope);
}

static husk_status take_mean(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state, void *host,
                             uint64_t bytes, bool *write, const husk__dist_scope *scope)
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

static husk_status take_hash(husk_parallel *own, void *user, const husk_parameter *parameter, bool is_state, void *host,
                             uint64_t bytes, bool *write, const husk__dist_scope *scope)
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
        status = husk__replica_failed(own, husk_graph_mask_at(own->graph, i, &mask), scope);
        if (status || !mask.buffer)
            continue;
        const uint64_t place = i;
        d.hash = XXH3_64bits_withSeed(&place, sizeof place, d.hash + 1);
        status = visit_tensor(own, take_hash, &d, NULL, &mask, false, scope);
    }
    *hash = d.hash;
    return status;
}

husk_status husk__alike_compare_hashes(husk_parallel *own, const husk__dist_scope *scope)
{
    digest d = {.position = husk_graph_get_position(own->graph)};
    husk_status status = visit_all(own, take_hash, &d, scope);
    if (!status)
        status = hash_masks(own, &d.masks, scope);
    digest *all = status ? NULL : malloc(sizeof *all * (size_t)own->dist->count);
    if (!status && !all)
        status = husk__dist_fail_with(own->dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", scope);
    if (!status)
        status = husk__dist_gather(own->dist, &d, sizeof d, all, "the parameters' hash", scope);
    for (int32_t r = 1; r < own->dist->count && !status; r++) {
        char other[128];
        husk__rank_text(own->dist, r, other);
        if (all[r].position.updates != all[0].position.updates || all[r].position.batches != all[0].position.batches)
            status = husk__dist_refuse(
                scope, HUSK_INVALID_ARGUMENT, "%s has made %llu updates of %llu batches, rank 0 %llu of %llu", other,
                (unsigned long long)all[r].position.updates, (unsigned long long)all[r].position.batches,
                (unsigned long long)all[0].position.updates, (unsigned long long)all[0].position.batches);
        else if (all[r].masks != all[0].masks)
            status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                       "%s has other masks of pruning than rank 0: one has been pruned alone", other);
        else if (all[r].hash != all[0].hash)
            status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                       "%s has other parameters or states than rank 0 after %llu updates", other,
                                       (unsigned long long)all[0].position.updates);
    }
    free(all);
    return status;
}

husk_status husk__alike_take_position(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_graph_position position = husk_graph_get_position(own->graph);
    husk_status status = husk__dist_broadcast(own->dist, &position, sizeof position, "rank 0's position", scope);
    return status ? status : husk__replica_failed(own, husk_graph_set_position(own->graph, position), scope);
}

husk_status husk__alike_take_loss_scale(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    husk_status status = husk__replica_failed(own, husk_graph_get_loss_scale(own->graph, &scale), scope);
    const bool has_one = scale.scale != 0;
    if (!status)
        status = husk__dist_broadcast(own->dist, &scale, sizeof scale, "rank 0's loss scale", scope);
    if (!status && has_one != (scale.scale != 0)) {
        status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "this rank's graph has %s loss scale, rank 0's has %s",
                                   has_one ? "a" : "no", has_one ? "none" : "one");
        husk__dist_fail(own->dist, status, scope->error->text);
    }
    return status || !has_one ? status
                              : husk__replica_failed(own, husk_graph_set_loss_scale(own->graph, &scale), scope);
}

husk_status husk__alike_take_means(husk_parallel *own, const husk__dist_scope *scope)
{
    return visit_all(own, take_mean, NULL, scope);
}
