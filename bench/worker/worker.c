// SPDX-License-Identifier: MIT
#include "worker/worker.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cases/data.h"
#include "cases/parse.h"
#include "common/text.h"
#include "system/process.h"
#include "system/timer.h"
#include "worker/requests.h"
#include "worker/session.h"
#include "worker/timing.h"
#include "worker/verifying.h"

static void say_building(const char *program, const char *mark)
{
    bench_worker_send(json_pack("{s:s?, s:s?}", "building", program, "mark", mark));
}

static void say_launching(const char *kernel)
{
    bench_worker_send(json_pack("{s:s}", "first_launch", kernel));
}

static void release_slot(bench_worker *w, size_t slot)
{
    if (w->slots[slot])
        w->runner->release(w->slots[slot]);
    w->slots[slot] = NULL;
}

static void release_all(bench_worker *w)
{
    for (size_t i = 0; i < BENCH_SLOTS; i++)
        release_slot(w, i);
    if (w->has_case)
        bench_data_free(&w->c, &w->data);
    w->has_case = false;
}

static bool take_case(bench_worker *w, json_t *request)
{
    bench_case c;
    const char *line = json_string_value(json_object_get(request, "case"));
    if (!line || !bench_case_parse(line, &c, w->reason))
        return line ? false : bench_explain(w->reason, sizeof w->reason, "the request has no case");
    if (w->has_case && !strcmp(c.canonical, w->c.canonical))
        return true;
    release_all(w);
    w->c = c;
    w->has_case = bench_data_make(&w->c, &w->data, w->reason);
    return w->has_case;
}

static json_t *do_forms(bench_worker *w, json_t *request)
{
    bench_case c;
    const char *line = json_string_value(json_object_get(request, "case"));
    if (!line || !bench_case_parse(line, &c, w->reason))
        return bench_worker_answer(BENCH_ERROR, w->reason);
    json_t *reply = bench_worker_answer(BENCH_OK, NULL), *forms = json_array();
    const char *form = NULL;
    for (size_t i = 0; w->runner->form && (form = w->runner->form(w->session, &c, i)); i++)
        json_array_append_new(forms, json_string(form));
    json_object_set_new(reply, "forms", forms);
    return reply;
}

// Whether guards can be laid for this runner on its device.
static bool has_guards(const bench_worker *w)
{
    return w->runner->guards && !w->runner->unguarded(w->session);
}

static json_t *do_prepare(bench_worker *w, json_t *request)
{
    json_int_t slot = json_integer_value(json_object_get(request, "slot"));
    if (slot < 0 || slot >= BENCH_SLOTS)
        return bench_worker_answer(BENCH_ERROR, "no such slot");
    bench_worker_say("making the case's data");
    if (!take_case(w, request))
        return bench_worker_answer(BENCH_ERROR, w->reason);
    release_slot(w, (size_t)slot);
    bench_prepare_options options = {
        .form = json_string_value(json_object_get(request, "form")),
        .copies = (int)json_integer_value(json_object_get(request, "copies")),
        .as_before = json_string_value(json_object_get(request, "as_before")),
        .is_guarded = has_guards(w) && json_is_true(json_object_get(request, "guards")),
    };
    snprintf(w->forms[slot], sizeof w->forms[slot], "%s", options.form ? options.form : "");
    w->are_guarded[slot] = options.is_guarded;
    w->copies[slot] = options.copies > 1 ? options.copies : 1;
    bench_worker_say("making its operands and plan");
    uint64_t start = bench_now_ns();
    bench_answer answer = w->runner->prepare(w->session, &w->c, &w->data, &options, &w->slots[slot], w->reason);
    uint64_t prepared = bench_now_ns();
    if (answer == BENCH_OK)
        answer = w->runner->reset(w->slots[slot], w->reason);
    const bool runs = answer == BENCH_OK && !json_is_false(json_object_get(request, "run"));
    if (runs)
        bench_worker_say("running for the first time");
    uint64_t reset = bench_now_ns();
    if (runs)
        answer = w->runner->run(w->slots[slot], w->reason);
    uint64_t ran = bench_now_ns();
    json_t *reply = bench_worker_answer(answer, w->reason);
    if (answer != BENCH_OK) {
        release_slot(w, (size_t)slot);
        return reply;
    }
    bench_worker_put_details(w, w->slots[slot], reply);
    json_object_set_new(reply, "prepare_ns", json_integer((json_int_t)(prepared - start)));
    json_object_set_new(reply, "first_ns", json_integer((json_int_t)(ran - reset)));
    return reply;
}

static json_t *do_run(bench_worker *w, json_t *request)
{
    json_t *reply = NULL;
    void *state = bench_worker_slot(w, request, &reply);
    return state ? bench_worker_answer(w->runner->run(state, w->reason), w->reason) : reply;
}

static json_t *serve_one(bench_worker *w, const bench_worker_options *options, json_t *request)
{
    static const struct {
        const char *what;
        json_t *(*serve)(bench_worker *, json_t *);
    } table[] = {
        {"forms", do_forms},
        {"prepare", do_prepare},
        {"run", do_run},
        {"verify", bench_worker_verify},
        {"warm", bench_worker_warm},
        {"sample", bench_worker_sample},
        {"check", bench_worker_check},
    };
    const char *what = json_string_value(json_object_get(request, "do"));
    if (!what)
        return bench_worker_answer(BENCH_ERROR, "no request");
    snprintf(w->reason, sizeof w->reason, "no reason was given");
    json_t *own = w->runner->serve ? w->runner->serve(w, what, request) : NULL;
    if (own)
        return own;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!strcmp(table[i].what, what))
            return table[i].serve(w, request);
    }
    if (!strcmp(what, "release")) {
        release_all(w);
        return bench_worker_answer(BENCH_OK, NULL);
    }
    json_t *reply = options->extra ? options->extra(w->session, what, request) : NULL;
    return reply ? reply : bench_worker_answer(BENCH_ERROR, "unknown request");
}

static json_t *hello(bench_worker *w, const bench_worker_options *options, bench_answer answer)
{
    json_t *reply = bench_worker_answer(answer, w->reason);
    bench_worker_put_text(reply, "name", w->runner->name);
    if (options->extra) {
        json_t *more = options->extra(w->session, "hello", NULL);
        if (more)
            json_object_update(reply, more);
        json_decref(more);
    }
    if (answer != BENCH_OK)
        return reply;
    char version[256] = "";
    w->runner->version(w->session, version, sizeof version);
    bench_worker_put_text(reply, "version", version);
    if (w->runner->device)
        json_object_set_new(reply, "device", w->runner->device(w->session));
    return reply;
}

int bench_worker_serve(const bench_worker_options *options)
{
    bench_worker w = {.runner = options->runner, .tick_ns = bench_timer_tick_ns()};
    FILE *requests = fdopen(BENCH_WORKER_REQUESTS, "r");
    if (!requests)
        return 1;
    // What a driver starts must not hold the pipes open when this process has crashed.
    fcntl(BENCH_WORKER_REQUESTS, F_SETFD, FD_CLOEXEC);
    fcntl(BENCH_WORKER_REPLIES, F_SETFD, FD_CLOEXEC);
    bench_worker_say("opening the device");
    bench_open_options open = options->open;
    open.building = say_building;
    open.launching = say_launching;
    bench_answer answer = w.runner->open(&open, &w.session, w.reason);
    bool alive = bench_worker_send(hello(&w, options, answer)) && answer == BENCH_OK;
    char *line = NULL;
    size_t capacity = 0;
    while (alive && getline(&line, &capacity, requests) > 0) {
        json_error_t error;
        json_t *request = json_loads(line, 0, &error);
        json_t *reply = request ? serve_one(&w, options, request) : bench_worker_answer(BENCH_ERROR, error.text);
        json_decref(request);
        alive = bench_worker_send(reply);
    }
    free(line);
    release_all(&w);
    // One with requests of its own leaves a session behind a failed open, too: its hello was made from it.
    if (answer == BENCH_OK || (w.session && options->extra))
        w.runner->close(w.session);
    fclose(requests);
    return answer == BENCH_OK ? 0 : 1;
}
