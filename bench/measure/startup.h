/* SPDX-License-Identifier: MIT */
/* bench/measure/startup.h: how long until everything is ready, in new processes, with caches warm and empty. */
#ifndef BENCH_MEASURE_STARTUP_H
#define BENCH_MEASURE_STARTUP_H

#include <jansson.h>

/* What a new process is started with. */
typedef struct bench_startup_options {
    const char *preference;    /* NULL: the default device */
    json_t *device;      /* that it has to come to; NULL: any */
    double max_time;     /* seconds for opening it */
    double compile_time; /* seconds for building one program */
} bench_startup_options;

/*
 * Creating a context and prewarming every operator, and a program's first result: {warm{open_ns, prewarm_ns, builds,
 * cache_loads, first{gemm_ns, conv_ns}}, cold{...}}, null for what failed. Cold: the driver's and Husk's caches in an
 * empty folder, a new one for each.
 */
json_t *bench_startup_json(const bench_startup_options *options);

/*
 * A case's first call, {cold_ns, cached_ns}: preparing and running it in two new processes, the first with
 * empty caches, the second with what that left there. form: the variant that was asked for; "": Husk's own choice.
 */
json_t *bench_first_call_json(const bench_startup_options *options, const char *case_line, const char *form);

#endif
