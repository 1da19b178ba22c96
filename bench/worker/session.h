/* SPDX-License-Identifier: MIT */
/* bench/worker/session.h: what a worker has at hand, and how it answers. */
#ifndef BENCH_WORKER_SESSION_H
#define BENCH_WORKER_SESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "worker/runner.h"
#include "worker/requests.h"

typedef struct bench_worker {
    const bench_runner *runner;
    void *session;
    bool has_case;
    bench_case c;
    bench_data data;
    void *slots[BENCH_SLOTS];
    int copies[BENCH_SLOTS]; /* sets of operands that each rotates through */
    char forms[BENCH_SLOTS][128]; /* as each was prepared; "": the runner's own choice */
    bool are_guarded[BENCH_SLOTS];
    uint64_t tick_ns;
    char reason[BENCH_REASON_TEXT];
} bench_worker;

/* A reply with that answer; reason where it is not BENCH_OK. */
json_t *bench_worker_answer(bench_answer answer, const char *reason);

/* null where the text is NULL or no UTF-8. */
void bench_worker_put_text(json_t *object, const char *key, const char *text);

/* False: it cannot be sent. The reference is taken over. */
bool bench_worker_send(json_t *reply);

/*
 * What it is doing, for the parent to know when it ends or hangs. Never while something is timed: the parent wakes
 * up.
 */
void bench_worker_say(const char *what);

/* What of a prepared state's details is in the reply to `prepare`. */
void bench_worker_put_details(const bench_worker *w, void *state, json_t *reply);

/* The request's slot, prepared; NULL with a reply otherwise. */
void *bench_worker_slot(bench_worker *w, json_t *request, json_t **reply);

#endif
