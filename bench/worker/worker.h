/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/worker.h: the other end of bench/system/process.h: one runner in a process of its own. It blocks in
 * read while others are measured.
 */
#ifndef BENCH_WORKER_WORKER_H
#define BENCH_WORKER_WORKER_H

#include <jansson.h>

#include "worker/runner.h"

/* Requests that only one kind of worker understands. NULL: unknown to it. */
typedef json_t *(*bench_worker_extra)(void *session, const char *what, json_t *request);

typedef struct bench_worker_options {
    const bench_runner *runner;
    bench_open_options open;
    bench_worker_extra extra; /* or NULL */
} bench_worker_options;

/* Serve until the pipe ends; the exit code of the process. */
int bench_worker_serve(const bench_worker_options *options);

#endif
