/* SPDX-License-Identifier: MIT */
/* bench/startup.h: how long until everything is ready, in new processes, with caches warm and empty. */
#ifndef BENCH_STARTUP_H
#define BENCH_STARTUP_H

#include <jansson.h>

/*
 * Creating a context and prewarming every operator, and a program's first result: {warm{open_ns, prewarm_ns, builds,
 * cache_loads, first{gemm_ns, conv_ns}}, cold{...}}, null for what failed. Cold: the driver's and Husk's caches in an
 * empty folder, a new one for each. Building one program may take max_time.
 */
json_t *bench_startup_json(const char *device, double max_time);

/*
 * A case's first call, {cold_ns, cached_ns}: preparing and running it in two new processes, the first with
 * empty caches, the second with what that left there.
 */
json_t *bench_first_call_json(const char *device, const char *case_line, double max_time);

#endif
