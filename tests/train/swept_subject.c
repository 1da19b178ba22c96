// SPDX-License-Identifier: MIT
#include "train/swept_subject.h"

#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { MOST = 1 << 16 };

husk_status swept_of_graph(const husk_graph *graph, husk_status status)
{
    if (status)
        swept_error = *husk_graph_error(graph);
    return status;
}

void swept_begin(swept_subject *s)
{
    s->options = s->network->options;
    if (s->dtype == HUSK_F16 && s->network->scale.size)
        s->options.loss_scale = &s->network->scale;
    s->start = calloc(5, MOST);
    s->now = s->start + MOST;
    s->trained = s->now + MOST;
    s->outputs = s->trained + MOST;
    s->wanted = s->outputs + MOST;
}

void swept_release(void *subject)
{
    swept_subject *s = subject;
    husk_graph_release(s->graph);
    s->graph = NULL;
}

void swept_end(swept_subject *s)
{
    swept_release(s);
    free(s->start);
}

// ---- parameters and states ----

static size_t move(husk_queue *queue, const husk_tensor *tensor, char *host, bool to_device)
{
    const uint64_t size = husk_dtype_size(tensor->dtype), bytes = (uint64_t)husk_tensor_count(tensor) * size;
    const uint64_t offset = (uint64_t)tensor->offset * size;
    ck_assert_int_eq(to_device ? husk_buffer_write(queue, tensor->buffer, offset, bytes, host)
                               : husk_buffer_read(queue, tensor->buffer, offset, bytes, host),
                     HUSK_OK);
    return bytes;
}

// Statistics come last.
static void move_all(swept_subject *s, char *host, bool to_device)
{
    husk_queue *queue = husk_graph_queue(s->graph);
    husk_parameter p = HUSK_PARAMETER();
    size_t at = 0;
    for (int statistics = 0; statistics < 2; statistics++) {
        s->learnt = statistics ? at : 0;
        for (size_t i = 0; i < husk_graph_parameter_count(s->graph); i++) {
            ck_assert_int_eq(husk_graph_parameter_at(s->graph, i, &p), HUSK_OK);
            if ((p.kind == HUSK_PARAMETER_STATISTIC) != (statistics == 1))
                continue;
            at += move(queue, &p.tensor, host + at, to_device);
            for (int state = 0; state < 3; state++)
                if (p.states[state].buffer)
                    at += move(queue, &p.states[state], host + at, to_device);
            ck_assert_uint_lt(at, MOST / 2);
        }
    }
    s->bytes = at;
}

void swept_keep_start(swept_subject *s)
{
    move_all(s, s->start, false);
    s->scale = HUSK_LOSS_SCALE();
    ck_assert_int_eq(husk_graph_get_loss_scale(s->graph, &s->scale), HUSK_OK);
}

void swept_restart(swept_subject *s)
{
    move_all(s, s->start, true);
    ck_assert_int_eq(husk_graph_parameters_changed(s->graph), HUSK_OK);
    ck_assert_int_eq(husk_graph_set_position(s->graph, (husk_graph_position){0}), HUSK_OK);
    if (s->scale.scale > 0)
        ck_assert_int_eq(husk_graph_set_loss_scale(s->graph, &s->scale), HUSK_OK);
}

// ---- training ----

static husk_status read_outputs(swept_subject *s)
{
    husk_status status = HUSK_OK;
    s->output_bytes = 0;
    for (int i = 0; i < 5 && s->network->outputs[i] && !status; i++) {
        husk_tensor tensor;
        const char *name = s->network->outputs[i];
        status = SWEPT_GRAPH(husk_graph_tensor, s->graph, name, &tensor);
        const uint64_t bytes = status ? 0 : (uint64_t)husk_tensor_count(&tensor) * husk_dtype_size(tensor.dtype);
        if (!status)
            status = SWEPT_GRAPH(husk_graph_read, s->graph, name, s->outputs + s->output_bytes, bytes);
        s->output_bytes += bytes;
    }
    return status;
}

husk_status swept_train(swept_subject *s)
{
    husk_loss_scale scale = HUSK_LOSS_SCALE();
    husk_status status = swept_write(s->network, s->graph);
    if (!status)
        status = s->network->train(s->graph);
    if (!status)
        status = SWEPT_GRAPH(husk_graph_get_loss_scale, s->graph, &scale);
    if (!status)
        status = SWEPT_GRAPH(husk_graph_forward, s->graph, HUSK_GRAPH_EVALUATION);
    if (!status)
        status = read_outputs(s);
    if (!status && s->output_bytes + sizeof scale <= MOST) {
        memcpy(s->outputs + s->output_bytes, &scale, sizeof scale);
        s->output_bytes += sizeof scale;
    }
    return status;
}

void swept_expect(swept_subject *s, const char *when)
{
    move_all(s, s->now, false);
    const husk_graph_position position = husk_graph_get_position(s->graph);
    ck_assert_msg(position.updates == 1, "%s: %llu updates", when, (unsigned long long)position.updates);
    if (!s->has_wanted) {
        memcpy(s->trained, s->now, s->bytes);
        memcpy(s->wanted, s->outputs, s->output_bytes);
        s->has_wanted = true;
    }
    ck_assert_msg(memcmp(s->now, s->trained, s->bytes) == 0, "%s: parameters have other bits", when);
    ck_assert_msg(memcmp(s->outputs, s->wanted, s->output_bytes) == 0, "%s: outputs have other bits", when);
}

void swept_expect_old_or_new(swept_subject *s, const char *when)
{
    move_all(s, s->now, false);
    ck_assert_msg(memcmp(s->now, s->start, s->learnt) == 0 || memcmp(s->now, s->trained, s->learnt) == 0,
                  "%s: what is learnt is half of an update", when);
}

void swept_expect_start(swept_subject *s, const char *when)
{
    move_all(s, s->now, false);
    ck_assert_msg(memcmp(s->now, s->start, s->bytes) == 0, "%s: parameters or statistics have changed", when);
}

void swept_keep(swept_subject *s)
{
    move_all(s, s->trained, false);
}

void swept_expect_same(swept_subject *s, const char *when)
{
    move_all(s, s->now, false);
    ck_assert_msg(memcmp(s->now, s->trained, s->bytes) == 0, "%s: parameters or states have other bits", when);
}
