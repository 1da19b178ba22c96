// SPDX-License-Identifier: MIT
#include "worker/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system/process.h"

json_t *bench_worker_answer(bench_answer answer, const char *reason)
{
    static const char *const names[] = {"ok", "unsupported", "error", "lost"};
    json_t *reply = json_object();
    json_object_set_new(reply, "answer", json_string(names[answer]));
    if (answer != BENCH_OK) {
        // A driver's text may be no UTF-8, which JSON must be.
        json_t *text = json_string(reason);
        json_object_set_new(reply, "reason", text ? text : json_string("(text that is not UTF-8)"));
    }
    return reply;
}

void bench_worker_put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text ? json_string(text) : NULL;
    json_object_set_new(object, key, value ? value : json_null());
}

bool bench_worker_send(json_t *reply)
{
    char *text = json_dumps(reply, JSON_COMPACT);
    json_decref(reply);
    if (!text)
        return false;
    size_t size = strlen(text), done = 0;
    text[size++] = '\n';
    while (done < size) {
        ssize_t wrote = write(BENCH_WORKER_REPLIES, text + done, size - done);
        if (wrote < 0 && errno != EINTR)
            break;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    free(text);
    return done == size;
}

void bench_worker_say(const char *what)
{
    bench_worker_send(json_pack("{s:s}", "at", what));
}

void bench_worker_put_details(const bench_worker *w, void *state, json_t *reply)
{
    bench_details d = {0};
    w->runner->details(state, &d);
    bench_worker_put_text(reply, "variant", d.variant);
    bench_worker_put_text(reply, "configuration", d.configuration);
    bench_worker_put_text(reply, "choice", d.choice);
    json_object_set_new(reply, "executed_flops", json_real(d.executed_flops));
    json_object_set_new(reply, "predicted_ns", json_real(d.predicted_ns));
    json_object_set_new(reply, "error_factor", json_real(d.error_factor));
    json_object_set_new(reply, "workspace", json_integer((json_int_t)d.workspace));
    json_object_set_new(reply, "build_ns", json_integer((json_int_t)d.build_ns));
    json_object_set_new(reply, "builds", json_integer((json_int_t)d.builds));
    json_object_set_new(reply, "cache_loads", json_integer((json_int_t)d.cache_loads));
    json_object_set_new(reply, "on_device", json_boolean(d.on_device));
}

void *bench_worker_slot(bench_worker *w, json_t *request, json_t **reply)
{
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    if (slot >= 0 && slot < BENCH_SLOTS && w->slots[slot])
        return w->slots[slot];
    *reply = bench_worker_answer(BENCH_ERROR, "nothing is prepared in that slot");
    return NULL;
}
