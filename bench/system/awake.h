/* SPDX-License-Identifier: MIT */
/*
 * bench/system/awake.h: the processors of a virtual machine, kept from falling asleep while a CPU device is measured.
 *
 * A hypervisor that wakes two idle virtual processors may place both on the two hardware threads of one core, and
 * leaves them there for seconds: all work then takes twice as long, with both of them busy
 * (docs/notebook/two-speeds.md). One that never sleeps is placed once. So a process runs a loop on each, at idle
 * priority (SCHED_IDLE), which gives way to whatever else wants to run.
 */
#ifndef BENCH_SYSTEM_AWAKE_H
#define BENCH_SYSTEM_AWAKE_H

#include "system/process.h"

/*
 * Whether that helps: the device is a CPU, this is a virtual machine, and no quota of processor time is used up by it.
 * root: "" for this machine; a test's folder with proc/cpuinfo, proc/self/cgroup, ... otherwise.
 */
bool bench_awake_is_wanted(const char *root, const json_t *device);

/* Start the process where it is wanted; nothing is lost where it cannot be. To be ended by bench_process_stop. */
void bench_awake_start(bench_process *process, const json_t *device);

/* The hidden argument that makes clbench that process, and what it does: until nobody holds the other end. */
#define BENCH_AWAKE_ARGUMENT "--keep-awake"
int bench_awake_serve(void);

#endif
