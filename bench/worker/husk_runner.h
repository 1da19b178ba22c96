/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/husk_runner.h: the library itself as a runner, and what only its worker can answer.
 */
#ifndef BENCH_WORKER_HUSK_RUNNER_H
#define BENCH_WORKER_HUSK_RUNNER_H

#include <jansson.h>

#include "cases/husk_job.h"
#include "worker/builds.h"
#include "worker/runner.h"
#include "worker/meter.h"

typedef struct bench_husk_session {
    husk_device_list *list; /* NULL when there is no platform */
    const husk_device *device;
    husk_context *context;
    husk_queue *queue;
    husk_status status; /* of opening: NO_PLATFORM and NO_DEVICE are worth telling apart */
    husk_error error;
    bench_builds builds;       /* that are under way */
    uint64_t open_ns;          /* what listing the devices and creating context and queue took */
    bench_meter *meter;        /* made when first asked for */
    struct bench_described *described; /* kernels of the user's own: worker/kernel_requests.h; NULL: none */
    void (*end_described)(struct bench_described *described);
    const bench_husk_job *job; /* of the case prepared last; NULL: there is none */
} bench_husk_session;

extern const bench_runner bench_runner_husk;

/* The job within a state that bench_runner_husk.prepare has made. */
bench_husk_job *bench_husk_job_of(void *state);

/* The plan that computes the job's case, of a call the last one; NULL where several do: none tells about all. */
const husk_plan *bench_husk_plan(const bench_husk_job *job);

#endif
