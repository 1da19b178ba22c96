// SPDX-License-Identifier: MIT
#include "dist/rank.h"

#include <stdio.h>
#include <time.h>

const char *husk__rank_text(const husk_dist *dist, int32_t rank, char text[128])
{
    snprintf(text, 128, "rank %d (%s, process %lld)", (int)rank, dist->ranks[rank].host,
             (long long)dist->ranks[rank].process);
    return text;
}

uint64_t husk__dist_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
