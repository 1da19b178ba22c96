/* SPDX-License-Identifier: MIT */
/* bench/worker/described.h: the description whose kernels a worker runs, and the points that requests are of. */
#ifndef BENCH_WORKER_DESCRIBED_H
#define BENCH_WORKER_DESCRIBED_H

#include "worker/husk_runner.h"
#include "worker/kernel_launch.h"

typedef struct bench_described {
    bench_description description;
    bench_kernel_launcher launcher;
    bool has_launcher;
    bool is_simulator;
} bench_described;

/* The session's description from now on, in place of the one before. NULL: reason. */
bench_described *bench_described_read(bench_husk_session *session, const char *path, char reason[BENCH_REASON_TEXT]);

/*
 * The point that "spec", "config" and "size" of a request name: the kernel's number in its file, and the values of its
 * parameters and sizes. False: reason.
 */
bool bench_described_point(const bench_described *described, const json_t *request, bench_point *point,
                           char reason[BENCH_REASON_TEXT]);

#endif
