/* SPDX-License-Identifier: MIT */
/* bench/system/timer.h: the host's monotonic clock. */
#ifndef BENCH_SYSTEM_TIMER_H
#define BENCH_SYSTEM_TIMER_H

#include <stdint.h>

uint64_t bench_now_ns(void);
/* The smallest step the clock was seen to make. */
uint64_t bench_timer_tick_ns(void);
/* Processor time of this process, all threads. */
uint64_t bench_process_cpu_ns(void);

#endif
