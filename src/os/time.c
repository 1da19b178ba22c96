// SPDX-License-Identifier: MIT
#include "os/time.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t husk__now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t husk__cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void husk__sleep_ns(uint64_t ns)
{
    enum { SECOND = 1000000000 };
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)}, NULL);
}
