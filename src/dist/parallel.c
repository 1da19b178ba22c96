// SPDX-License-Identifier: MIT
// The same graph in every rank: gradients are summed while backward goes on.
#include <stdlib.h>

#include "dist/alike.h"
#include "dist/exchange.h"
#include "dist/failure.h"

enum { LEAST_PART = 4096 };

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
        return husk__dist_fail_with(own->dist, status, husk_queue_error(husk_graph_queue(graph))->text, &scope);
    husk__exchange_post(own, index, ready);
    husk_event_release(ready);
    return HUSK_OK;
}

static husk_status check_params(husk_parallel *own, const husk_parallel_params *params, const husk__dist_scope *scope)
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
        return husk__dist_refuse(scope, status, "graph: it has no gradients: it has to be compiled with a loss");
    own->dtype = bucket.gradients.dtype;
    return HUSK_OK;
}

static husk_status make(husk_parallel *own, const husk_parallel_params *params, const husk__dist_scope *scope)
{
    husk_status status = check_params(own, params, scope);
    if (!status)
        status = husk_queue_create(husk_queue_context(husk_graph_queue(own->graph)), NULL, &own->queue, scope->error);
    return status || own->dist->count == 1 ? status : husk__exchange_make(own, scope);
}

husk_status husk_parallel_create(husk_dist *dist, husk_graph *graph, const husk_parallel_params *params,
                                 husk_parallel **parallel, husk_error *error)
{
    husk_error none;
    const husk__dist_scope scope = {"husk_parallel_create", error ? error : &none};
    if (!dist || !graph || !parallel)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !dist    ? "dist"
                                 : !graph ? "graph"
                                          : "parallel");
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
        status = husk__alike_compare(own, &scope);
    if (!status)
        status = husk__alike_take_graph(own, &scope);
    if (!status)
        status = husk__alike_take_position(own, &scope);
    if (!status)
        status = husk__alike_take_loss_scale(own, &scope);
    if (!status)
        status = husk__alike_compare_hashes(own, &scope);
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
    husk__exchange_release(parallel);
    husk_queue_release(parallel->queue);
    free(parallel);
}

static husk_status backward(husk_parallel *own, const husk__dist_scope *scope)
{
    husk_status status = husk__dist_check(own->dist, scope);
    if (status) // parts of the step that has failed may be on their way still
        return status;
    own->posted = 0;
    own->is_due = false;
    status = husk__replica_failed(own, husk_graph_forward(own->graph, HUSK_GRAPH_TRAINING), scope);
    if (!status && own->params.check_finite)
        status = husk__replica_failed(own, husk_graph_check_finite(own->graph), scope);
    if (!status)
        status = husk__replica_failed(own, husk_graph_backward(own->graph), scope);
    return status ? status : husk__exchange_wait(own, scope);
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
        status = husk__replica_failed(parallel, husk_graph_update(parallel->graph), &scope);
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
        status = husk__alike_compare(parallel, &scope);
    if (!status)
        status = husk__alike_take_means(parallel, &scope);
    if (!status && parallel->params.mixed) // other devices round other updates
        status = husk__alike_take_graph(parallel, &scope);
    return status ? status : husk__alike_compare_hashes(parallel, &scope);
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
    *exchange = *husk__exchange_times(parallel, index);
    return HUSK_OK;
}
