// SPDX-License-Identifier: MIT
// A stage of the network in every rank: micro-batches go forward from rank to rank, and their gradients back.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dist/failure.h"
#include "dist/stages.h"
#include "dist/staging.h"
#include "dist/task.h"
#include "dist/transfer.h"

// What goes over a link: an activation to the next stage, or its gradient back.
typedef enum direction { FORWARD, BACKWARD } direction;

// What a micro-batch in the graph has: both tensors of each link.
typedef struct lane {
    husk__transfer previous[HUSK__MOST_LINKS][2], next[HUSK__MOST_LINKS][2];
} lane;

struct husk_pipeline {
    husk_dist *dist;
    husk_graph *graph;
    uint32_t micro_batches, depth;
    size_t previous_count, next_count;
    husk_pipeline_callback load;
    void *load_user;
    husk_queue *queue; // the library's thread's
    husk_buffer *staging;
    void *host;
    lane *lanes;
    husk__stage_description own;
    char *loss_name;
    husk_dtype loss_dtype;
    char *losses; // on their way from the device, eight bytes each
    bool is_used;
};

// ---- making one ----

static husk_status graph_failed(const husk_pipeline *own, husk_status status, const husk__dist_scope *scope)
{
    return status ? husk__dist_fail_with(own->dist, status, husk_graph_error(own->graph)->text, scope) : HUSK_OK;
}

static husk_status make_transfer(husk_pipeline *own, husk__transfer *t, const char *name, size_t link, direction way,
                                 bool is_next, uint64_t *at, const husk__dist_scope *scope)
{
    husk_tensor tensor;
    husk_status status = husk_graph_tensor(own->graph, name, &tensor);
    if (status)
        return husk__dist_pass(scope, status, husk_graph_error(own->graph));
    t->queue = own->queue;
    t->sends = is_next == (way == FORWARD);
    t->peer = own->dist->rank + (is_next ? 1 : -1);
    t->tag = HUSK__TAG_STAGES + (int)(2 * link + (way == FORWARD ? 0 : 1)) * HUSK__MOST_MICRO_BATCHES;
    if (!t->buffer) // after a failure the thread may be at it while the graph goes
        husk_buffer_retain(tensor.buffer);
    t->buffer = tensor.buffer;
    t->offset = (uint64_t)tensor.offset * husk_dtype_size(tensor.dtype);
    t->bytes = (uint64_t)husk_tensor_extent(&tensor);
    t->host = own->host ? (char *)own->host + *at : NULL;
    *at += (t->bytes + 63) / 64 * 64;
    t->task.advance = t->sends ? husk__transfer_send : husk__transfer_receive;
    if (own->host && !husk__task_init(&t->task, 1))
        return husk__dist_no_memory(scope);
    return HUSK_OK;
}

static husk_status make_links(husk_pipeline *own, lane *l, const husk_pipeline_link *links, size_t count, bool is_next,
                              uint64_t *at, const husk__dist_scope *scope)
{
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < count && !status; i++) {
        husk__transfer *both = is_next ? l->next[i] : l->previous[i];
        status = make_transfer(own, &both[FORWARD], links[i].value, i, FORWARD, is_next, at, scope);
        if (!status && links[i].gradient)
            status = make_transfer(own, &both[BACKWARD], links[i].gradient, i, BACKWARD, is_next, at, scope);
    }
    return status;
}

// Twice: how much host memory is wanted, and where each tensor has its own in it.
static husk_status make_lanes(husk_pipeline *own, const husk_pipeline_params *params, const husk__dist_scope *scope)
{
    own->lanes = calloc(own->depth, sizeof *own->lanes);
    if (!own->lanes)
        return husk__dist_no_memory(scope);
    husk_status status = HUSK_OK;
    for (int pass = 0; pass < 2 && !status; pass++) {
        uint64_t at = 0;
        for (uint32_t l = 0; l < own->depth && !status; l++) {
            if (husk_graph_micro_batch(own->graph, l))
                return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT,
                                         "graph: its options' micro_batches has to be %u in this stage "
                                         "(husk_pipeline_depth)",
                                         (unsigned)own->depth);
            status = make_links(own, &own->lanes[l], params->previous, params->previous_count, false, &at, scope);
            if (!status)
                status = make_links(own, &own->lanes[l], params->next, params->next_count, true, &at, scope);
        }
        if (pass == 0 && !status && at > 0)
            status =
                husk__dist_staging(husk_queue_context(own->queue), own->queue, at, &own->staging, &own->host, scope);
        if (at == 0)
            break;
    }
    if (!status && husk_graph_micro_batch(own->graph, 0))
        status = husk__dist_pass(scope, HUSK_INVALID_ARGUMENT, husk_graph_error(own->graph));
    return status;
}

static husk_status take_loss(husk_pipeline *own, const char *name, const husk__dist_scope *scope)
{
    husk_tensor loss;
    if (!name)
        return HUSK_OK;
    if (husk_graph_tensor(own->graph, name, &loss))
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: loss: %s", husk_graph_error(own->graph)->text);
    if (husk_tensor_count(&loss) != 1)
        return husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: loss: %s is no number", name);
    own->loss_dtype = loss.dtype;
    own->loss_name = malloc(strlen(name) + 1);
    own->losses = calloc(own->micro_batches, sizeof(double));
    if (!own->loss_name || !own->losses)
        return husk__dist_no_memory(scope);
    strcpy(own->loss_name, name);
    own->own.has_loss = 1;
    return HUSK_OK;
}

uint32_t husk_pipeline_depth(const husk_dist *dist, uint32_t micro_batches)
{
    uint32_t behind = dist ? (uint32_t)(dist->count - dist->rank) : 1;
    return micro_batches < behind ? micro_batches : behind;
}

static husk_status make(husk_pipeline *own, const husk_pipeline_params *given, const husk__dist_scope *scope)
{
    husk_pipeline_params params;
    husk_status status = husk__dist_struct(&params, sizeof params, "HUSK_PIPELINE_PARAMS", given, "params", scope);
    if (!status && (params.micro_batches < 1 || params.micro_batches > HUSK__MOST_MICRO_BATCHES))
        status = husk__dist_refuse(scope, HUSK_INVALID_ARGUMENT, "params: micro_batches: %u; 1 to %d",
                                   (unsigned)params.micro_batches, HUSK__MOST_MICRO_BATCHES);
    if (status)
        return status;
    own->micro_batches = own->own.micro_batches = params.micro_batches;
    own->depth = husk_pipeline_depth(own->dist, params.micro_batches);
    own->previous_count = own->own.previous_count = (uint32_t)params.previous_count;
    own->next_count = own->own.next_count = (uint32_t)params.next_count;
    own->load = params.load;
    own->load_user = params.load_user;
    status = husk_queue_create(husk_queue_context(husk_graph_queue(own->graph)), NULL, &own->queue, scope->error);
    if (!status)
        status = husk__stage_describe(own->graph, params.previous, params.previous_count, own->own.previous, "previous",
                                      scope);
    if (!status)
        status = husk__stage_describe(own->graph, params.next, params.next_count, own->own.next, "next", scope);
    if (!status)
        status = take_loss(own, params.loss, scope);
    if (!status)
        status = make_lanes(own, &params, scope);
    return status;
}

husk_status husk_pipeline_create(husk_dist *dist, husk_graph *graph, const husk_pipeline_params *params,
                                 husk_pipeline **pipeline, husk_error *error)
{
    husk_error none;
    const husk__dist_scope scope = {"husk_pipeline_create", error ? error : &none};
    if (!dist || !graph || !pipeline)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "%s: it is NULL",
                                 !dist    ? "dist"
                                 : !graph ? "graph"
                                          : "pipeline");
    *pipeline = NULL;
    husk_pipeline *own = calloc(1, sizeof *own);
    if (!own)
        return husk__dist_fail_with(dist, HUSK_OUT_OF_HOST_MEMORY, "host memory does not suffice", &scope);
    own->dist = dist;
    own->graph = graph;
    husk_status status = make(own, params, &scope);
    if (status) // the others wait for this rank's description
        husk__dist_fail(dist, status, scope.error->text);
    else
        status = husk__stages_compare(own->dist, &own->own, &scope);
    if (status) {
        husk_pipeline_release(own);
        return status;
    }
    *pipeline = own;
    return HUSK_OK;
}

static void forget_transfers(husk__transfer (*transfers)[2])
{
    for (int i = 0; i < HUSK__MOST_LINKS; i++)
        for (int way = 0; way < 2; way++)
            husk__transfer_clear(&transfers[i][way]);
}

void husk_pipeline_release(husk_pipeline *pipeline)
{
    if (!pipeline)
        return;
    const husk__dist_scope silent = {"husk_pipeline_release", NULL};
    // After a failure MPI may still write to what was in use, until the run ends.
    if (pipeline->is_used && husk__dist_check(pipeline->dist, &silent))
        return;
    for (uint32_t l = 0; pipeline->lanes && l < pipeline->depth; l++) {
        forget_transfers(pipeline->lanes[l].previous);
        forget_transfers(pipeline->lanes[l].next);
    }
    free(pipeline->lanes);
    if (pipeline->losses) // reads of them may be under way
        husk_queue_finish(husk_graph_queue(pipeline->graph));
    free(pipeline->losses);
    free(pipeline->loss_name);
    if (pipeline->host)
        husk_buffer_unmap(pipeline->queue, pipeline->staging, pipeline->host);
    husk_buffer_release(pipeline->staging);
    husk_queue_release(pipeline->queue);
    free(pipeline);
}

// ---- a step, in the program's thread ----

static husk_status record(husk_pipeline *own, husk_event **event, const husk__dist_scope *scope)
{
    husk_queue *queue = husk_graph_queue(own->graph);
    husk_status status = husk_queue_record(queue, event);
    return status ? husk__dist_fail_with(own->dist, status, husk_queue_error(queue)->text, scope) : HUSK_OK;
}

// Post all transfers of a micro-batch that go one way; sends: those that leave this rank, or those that arrive.
static husk_status post_all(husk_pipeline *own, uint32_t micro_batch, direction way, bool sends,
                            const husk__dist_scope *scope)
{
    lane *l = &own->lanes[micro_batch % own->depth];
    bool is_next = sends == (way == FORWARD);
    size_t count = is_next ? own->next_count : own->previous_count;
    husk_event *ready = NULL;
    husk_status status = count ? record(own, &ready, scope) : HUSK_OK;
    for (size_t i = 0; i < count && !status; i++) {
        husk__transfer *t = is_next ? &l->next[i][way] : &l->previous[i][way];
        if (t->queue)
            husk__transfer_post(own->dist, t, micro_batch, is_next, ready);
    }
    husk_event_release(ready);
    return status;
}

static husk_status settle_all(husk_pipeline *own, uint32_t micro_batch, direction way, bool sends,
                              const husk__dist_scope *scope)
{
    lane *l = &own->lanes[micro_batch % own->depth];
    bool is_next = sends == (way == FORWARD);
    size_t count = is_next ? own->next_count : own->previous_count;
    husk_status status = HUSK_OK;
    for (size_t i = 0; i < count && !status; i++)
        status = husk__transfer_settle(own->dist, is_next ? &l->next[i][way] : &l->previous[i][way],
                                       husk_graph_queue(own->graph), scope);
    return status;
}

// A lane is free: what its next micro-batch is to receive may come.
static husk_status expect(husk_pipeline *own, uint32_t micro_batch, const husk__dist_scope *scope)
{
    if (micro_batch >= own->micro_batches)
        return HUSK_OK;
    husk_status status = post_all(own, micro_batch, FORWARD, false, scope);
    return status ? status : post_all(own, micro_batch, BACKWARD, false, scope);
}

static husk_status load(husk_pipeline *own, uint32_t micro_batch, const husk__dist_scope *scope)
{
    if (!own->load)
        return HUSK_OK;
    const husk_error *said = husk_graph_error(own->graph), before = *said;
    const husk_status status = own->load(own->load_user, own->graph, micro_batch);
    if (!status)
        return HUSK_OK;
    // What has failed may be none of the graph's calls, and the graph keeps the text of one that failed before.
    const bool is_new = said->status && (before.status != said->status || strcmp(before.text, said->text) != 0);
    const bool is_old = said->status && !is_new;
    char text[HUSK_ERROR_TEXT_CAPACITY];
    snprintf(text, sizeof text, "load has failed at micro-batch %u: %.900s%s%.900s", (unsigned)micro_batch,
             is_new ? said->text : husk_status_text(status), is_old ? "; the graph's last failure was " : "",
             is_old ? said->text : "");
    return husk__dist_fail_with(own->dist, status, text, scope);
}

static husk_status forward(husk_pipeline *own, uint32_t micro_batch, const husk__dist_scope *scope)
{
    husk_status status = graph_failed(own, husk_graph_micro_batch(own->graph, micro_batch % own->depth), scope);
    if (!status) // what the lane's last micro-batch has sent has left
        status = settle_all(own, micro_batch, FORWARD, true, scope);
    if (!status)
        status = settle_all(own, micro_batch, BACKWARD, true, scope);
    if (!status)
        status = load(own, micro_batch, scope);
    if (!status)
        status = settle_all(own, micro_batch, FORWARD, false, scope);
    if (!status)
        status = graph_failed(own, husk_graph_forward(own->graph, HUSK_GRAPH_TRAINING), scope);
    return status ? status : post_all(own, micro_batch, FORWARD, true, scope);
}

static husk_status read_loss(husk_pipeline *own, uint32_t micro_batch, const husk__dist_scope *scope)
{
    husk_tensor loss;
    if (!own->loss_name)
        return HUSK_OK;
    husk_status status = graph_failed(own, husk_graph_tensor(own->graph, own->loss_name, &loss), scope);
    husk_queue *queue = husk_graph_queue(own->graph);
    uint64_t size = husk_dtype_size(own->loss_dtype);
    if (!status && husk_buffer_read_async(queue, loss.buffer, (uint64_t)loss.offset * size, size,
                                          own->losses + micro_batch * sizeof(double)))
        status = husk__dist_fail_with(own->dist, husk_queue_error(queue)->status, husk_queue_error(queue)->text, scope);
    return status;
}

static husk_status backward(husk_pipeline *own, uint32_t micro_batch, const husk__dist_scope *scope)
{
    husk_status status = graph_failed(own, husk_graph_micro_batch(own->graph, micro_batch % own->depth), scope);
    if (!status)
        status = settle_all(own, micro_batch, BACKWARD, false, scope);
    if (!status)
        status = graph_failed(own, husk_graph_backward(own->graph), scope);
    if (!status)
        status = read_loss(own, micro_batch, scope);
    if (!status)
        status = post_all(own, micro_batch, BACKWARD, true, scope);
    return status ? status : expect(own, micro_batch + own->depth, scope);
}

husk_status husk_pipeline_step(husk_pipeline *pipeline)
{
    if (!pipeline)
        return HUSK_INVALID_ARGUMENT;
    husk_pipeline *own = pipeline;
    const husk__dist_scope scope = {"husk_pipeline_step", &own->dist->error};
    uint32_t count = own->micro_batches, ahead = own->depth - 1;
    husk_status status = husk__dist_check(own->dist, &scope);
    own->is_used = true;
    for (uint32_t m = 0; m < own->depth && !status; m++)
        status = expect(own, m, &scope);
    for (uint32_t m = 0; m < ahead && !status; m++)
        status = forward(own, m, &scope);
    for (uint32_t m = 0; m < count && !status; m++) {
        if (m + ahead < count)
            status = forward(own, m + ahead, &scope);
        if (!status)
            status = backward(own, m, &scope);
    }
    for (uint32_t m = count - own->depth; m < count && !status; m++) {
        status = settle_all(own, m, FORWARD, true, &scope);
        if (!status)
            status = settle_all(own, m, BACKWARD, true, &scope);
    }
    return status ? status : graph_failed(own, husk_graph_update(own->graph), &scope);
}

husk_status husk_pipeline_loss(husk_pipeline *pipeline, double *loss)
{
    if (!pipeline)
        return HUSK_INVALID_ARGUMENT;
    husk_pipeline *own = pipeline;
    const husk__dist_scope scope = {"husk_pipeline_loss", &own->dist->error};
    if (!loss)
        return husk__dist_refuse(&scope, HUSK_INVALID_ARGUMENT, "loss: it is NULL");
    husk_queue *queue = husk_graph_queue(own->graph);
    *loss = 0;
    if (own->losses && husk_queue_finish(queue))
        return husk__dist_fail_with(own->dist, husk_queue_error(queue)->status, husk_queue_error(queue)->text, &scope);
    for (uint32_t m = 0; own->losses && m < own->micro_batches; m++) {
        double wide;
        float narrow;
        memcpy(&wide, own->losses + m * sizeof wide, sizeof wide);
        memcpy(&narrow, own->losses + m * sizeof wide, sizeof narrow);
        *loss += own->loss_dtype == HUSK_F64 ? wide : (double)narrow;
    }
    *loss /= own->micro_batches;
    husk_status status = husk_dist_sum(own->dist, loss, 1);
    if (status)
        husk__dist_check(own->dist, &scope);
    return status;
}
