/* SPDX-License-Identifier: MIT */
/* bench/worker/timing.h: requests by which a prepared case is timed. */
#ifndef BENCH_WORKER_TIMING_H
#define BENCH_WORKER_TIMING_H

#include "worker/session.h"

/* At least `runs` runs and `ns`, until the medians of two groups of five batches agree within 2%. */
json_t *bench_worker_warm(bench_worker *w, json_t *request);

/* Samples, and single launches where their latency is wanted. */
json_t *bench_worker_sample(bench_worker *w, json_t *request);

#endif
