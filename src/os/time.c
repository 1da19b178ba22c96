// SPDX-License-Identifier: MIT
#include "os/time.h"

#include <time.h>

uint64_t husk__now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void husk__sleep_ns(uint64_t ns)
{
    enum { SECOND = 1000000000 };
    nanosleep(&(struct timespec){.tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND)}, NULL);
}
