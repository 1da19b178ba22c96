/* SPDX-License-Identifier: MIT */
/* bench/system/host.h: the machine that clbench runs on, and how much of it this process may use. */
#ifndef BENCH_SYSTEM_HOST_H
#define BENCH_SYSTEM_HOST_H

#include <jansson.h>
#include <stddef.h>

/*
 * What a container, a scheduler or taskset leaves of a machine. Each number is 0 where there is no such limit, or where
 * it cannot be read.
 */
typedef struct bench_host_limits {
    int online;    /* processors of the machine */
    int affinity;  /* that this process may be scheduled on */
    int cpuset;    /* of its control group (v1 and v2), and of the groups above */
    double quota;  /* processors' worth of time it is given, such as 1.5 */
    double memory; /* bytes its control group may use */
} bench_host_limits;

/* root: "" for this machine; a test's folder with proc/self/cgroup, sys/fs/cgroup, ... otherwise. */
void bench_host_read_limits(const char *root, bench_host_limits *limits);
/* Cores that are worth using: the least of all these, a quota rounded up. At least 1. */
int bench_host_usable_cores(const bench_host_limits *limits);
/* "2 of 64 processors (affinity 8, control group: 1.5 processors' time)"; only what limits is named. */
void bench_host_limits_text(const bench_host_limits *limits, char *text, size_t size);

/* cpu, cores (that this process may use), limits, memory, os, load, cache. */
json_t *bench_host_json(void);
/* Cores that this process may use. */
int bench_host_cores(void);
/* Whether they are the machine's first ones: a driver that binds its threads counts from 0. */
int bench_host_begins_at_0(void);
/* Bytes of the last-level caches of the processors that this process may use, together; 0: unknown. */
double bench_host_cache(const char *root);
/* Bytes that may still be allocated without anybody being killed; 0: unknown. */
double bench_host_free_memory(const char *root);
/* "2026-11-20T17:06:06Z" */
json_t *bench_host_time(void);

#endif
