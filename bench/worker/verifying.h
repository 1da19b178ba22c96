/* SPDX-License-Identifier: MIT */
/* bench/worker/verifying.h: requests by which results are compared with the reference. */
#ifndef BENCH_WORKER_VERIFYING_H
#define BENCH_WORKER_VERIFYING_H

#include "worker/session.h"

/* One run from the initial output, read back and compared with the reference. */
json_t *bench_worker_verify(bench_worker *w, json_t *request);

/* What the last of the runs that were timed has left: the bits of the verified one, or a result that is right, too. */
json_t *bench_worker_check(bench_worker *w, json_t *request);

#endif
