/* SPDX-License-Identifier: MIT */
/* bench/system/interrupt.h: signals that end what is under way, so that what was measured until then can be kept. */
#ifndef BENCH_SYSTEM_INTERRUPT_H
#define BENCH_SYSTEM_INTERRUPT_H

#include <signal.h>
#include <stdbool.h>

/*
 * SIGINT, SIGTERM and SIGHUP end the request that is being waited for (its worker is killed) and set bench_interrupted
 * to their number, so that what was measured until then can be kept. A second one ends the program. SIGPIPE does so,
 * too, where it is for stdout.
 */
void bench_catch_interrupt(void);
/* Whether stdout is a pipe that nobody reads any more. */
bool bench_stdout_is_unread(void);
extern volatile sig_atomic_t bench_interrupted;
/* What a program leaves with that was ended by a signal: 130 after Ctrl-C, 143 after SIGTERM. */
int bench_interrupted_exit(void);

#endif
