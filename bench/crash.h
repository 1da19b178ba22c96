/* SPDX-License-Identifier: MIT */
/*
 * bench/crash.h: what is said of a worker that has died, and which program is held against its driver's compiler.
 */
#ifndef BENCH_CRASH_H
#define BENCH_CRASH_H

#include "process.h"

/* A process' status where somebody else has waited for it. */
enum { BENCH_STATUS_UNKNOWN = -1 };

/* Of a process that has ended: how, and what it was doing. The program that crashed its compiler is marked. */
void bench_crash_tell(const bench_process *process, int status, char reason[BENCH_REASON_TEXT]);

#endif
