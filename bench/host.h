/* SPDX-License-Identifier: MIT */
/* bench/host.h: the machine that clbench runs on. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include <jansson.h>

/* cpu, cores (that this process may use), memory, os, load. */
json_t *bench_host_json(void);
/* Cores that this process may use: affinity and the quota of its control group. */
int bench_host_cores(void);
/* "2026-11-20T17:06:06Z" */
json_t *bench_host_time(void);

#endif
