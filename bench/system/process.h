/* SPDX-License-Identifier: MIT */
/*
 * bench/system/process.h: a worker process and the line protocol on its pipes: one JSON object a line, each request
 * answered by one reply. Before it, a worker may say in lines of their own what it is doing ("at", "building",
 * "first_launch"). A worker that does not answer in time is killed, with what it started; one that died says how, and
 * what it was doing. Where a driver's compiler has crashed, and does so again in a new process, the program that it was
 * building is marked, so that the library does not build it again.
 */
#ifndef BENCH_SYSTEM_PROCESS_H
#define BENCH_SYSTEM_PROCESS_H

#include "system/child.h"

/* Wait for the reply, a new reference. seconds <= 0: as long as it takes. */
bench_reply bench_process_receive(bench_process *process, double seconds, json_t **reply,
                                  char reason[BENCH_REASON_TEXT]);
/* Both. */
bench_reply bench_process_call(bench_process *process, json_t *request, double seconds, json_t **reply,
                               char reason[BENCH_REASON_TEXT]);

#endif
