/* SPDX-License-Identifier: MIT */
/*
 * bench/system/crash.h: what is said of a worker that has died, and which program is held against its driver's
 * compiler.
 *
 * That a process crashes while a program is built does not say that it crashes for that: an earlier kernel may have
 * written outside its memory, or run still. So the last request is made once more, of a new process, and only what
 * crashes on the same program there, before any kernel but the runtime's probes was launched, is marked.
 */
#ifndef BENCH_SYSTEM_CRASH_H
#define BENCH_SYSTEM_CRASH_H

#include "system/child.h"

/*
 * Of a process that has ended: how, and what it was doing. The program that crashes its compiler is marked. seconds:
 * what a new process is given for the same request.
 */
void bench_crash_tell(const bench_process *process, int status, double seconds, char reason[BENCH_REASON_TEXT]);

#endif
