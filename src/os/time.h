/* SPDX-License-Identifier: MIT */
/*
 * os/time.h: a clock that only goes forward, one of what this process has used, and waiting.
 */
#ifndef HUSK_OS_TIME_H
#define HUSK_OS_TIME_H

#include <stdint.h>

/* Monotonic nanoseconds. */
uint64_t husk__now_ns(void);
/* Nanoseconds that processors have spent on this process, all its threads together. */
uint64_t husk__cpu_ns(void);
/* Or less, where a signal comes. */
void husk__sleep_ns(uint64_t ns);

#endif
