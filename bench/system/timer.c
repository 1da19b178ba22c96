// SPDX-License-Identifier: MIT
#include "system/timer.h"

#include <time.h>

static uint64_t read_clock(clockid_t which)
{
    struct timespec now;
    clock_gettime(which, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t bench_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t bench_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t bench_timer_tick_ns(void)
{
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 200; i++) {
        uint64_t start = bench_now_ns(), now = start;
        while (now == start)
            now = bench_now_ns();
        if (now - start < smallest)
            smallest = now - start;
    }
    return smallest;
}
