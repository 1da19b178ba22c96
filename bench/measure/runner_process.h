/* SPDX-License-Identifier: MIT */
/*
 * bench/measure/runner_process.h: a runner as the parent process sees it: its worker process, and what it said of
 * itself.
 */
#ifndef BENCH_MEASURE_RUNNER_PROCESS_H
#define BENCH_MEASURE_RUNNER_PROCESS_H

#include "system/process.h"

typedef struct bench_runner_process {
    char name[32];   /* in results */
    char runner[32]; /* as its program calls it */
    char program[512]; /* a path with a "/"; "": this program */
    char version[256];
    const char *device; /* preference, or NULL */
    const char *const *environment; /* that it is started with; NULL: none */
    int threads;
    bench_process process;
    bool is_starting; /* its hello has not been read */
    bool is_usable;   /* false: could not be opened; why says so */
    char why[BENCH_REASON_TEXT];
    json_t *hello;
    json_t *expected; /* the device that its hello has to name; NULL: any */
    int restarts;
    double open_time; /* seconds for opening the device: listing every driver, waking a card, loading a compiler */
} bench_runner_process;

/*
 * Start the worker; the hello is read by await, so that several start side by side. environment: names and values in
 * turn, NULL-ended, which have to outlive it, since it may be started again.
 */
bool bench_runner_process_start(bench_runner_process *runner, const char *name, const char *device, int threads,
                                const char *const *environment);
/* The same of another clbench, whose runner's results are called `name`. */
bool bench_runner_process_start_other(bench_runner_process *runner, const char *name, const char *program,
                                      const char *runner_name, const char *device, int threads);
/* The device that it has to be on, where it is on one. Without a word it is the first hello's. Before await. */
void bench_runner_process_expect(bench_runner_process *runner, json_t *device);
/* Read the hello; one that is started again is given as long. False: why says why it cannot be used. */
bool bench_runner_process_await(bench_runner_process *runner, double seconds);
/* Alive, started again after a crash or a hang, and on the same device. */
bool bench_runner_process_revive(bench_runner_process *runner);
void bench_runner_process_stop(bench_runner_process *runner);

/* The hidden argument that makes clbench a worker: clbench --worker NAME DEVICE THREADS. */
#define BENCH_WORKER_ARGUMENT "--worker"

#endif
