/* SPDX-License-Identifier: MIT */
/*
 * os/cpu_caches.h: the caches of this machine's CPUs.
 */
#ifndef HUSK_OS_CPU_CACHES_H
#define HUSK_OS_CPU_CACHES_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes; 0 where the system does not say. */
typedef struct husk__cpu_caches {
    uint64_t l1, l2;     /* the least that a CPU has: of a cache that several share, a part each */
    uint64_t l3;         /* the last cache, whole; 0 where the second level is the last */
    uint32_t l3_sharers; /* CPUs that share it */
    uint32_t line;
} husk__cpu_caches;

/* From a folder such as /sys/devices/system/cpu of Linux: zeros where it tells nothing. False for want of memory. */
bool husk__read_cpu_caches(const char *folder, husk__cpu_caches *caches);
/* Of this machine. */
bool husk__cpu_caches_here(husk__cpu_caches *caches);

#endif
