/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/kernel_requests.h: described kernels on this worker's device. Requests ("do"), and what their replies
 * hold beside answer and reason:
 *     describe        path                       the description that the others are of
 *     compile_kernel  spec config size           log (the compiler's, or null)
 *     check_kernel    spec config size seed repeat
 *                                                stage (compile, prepare, run), pass, inconclusive, text, by, checked,
 *                                                of, max_ratio, max_error, bound, log, findings (a simulator's)
 * spec is a number; config and size are arrays of the parameters' and the sizes' values.
 */
#ifndef BENCH_WORKER_KERNEL_REQUESTS_H
#define BENCH_WORKER_KERNEL_REQUESTS_H

#include <jansson.h>

#include "worker/husk_runner.h"

/* NULL: it is no request of these. */
json_t *bench_kernel_request(bench_husk_session *session, const char *what, json_t *request);
#endif
