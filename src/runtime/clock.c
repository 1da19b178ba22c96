// SPDX-License-Identifier: MIT
// How far command queues have come.
#include "runtime/internal.h"

#include <stdlib.h>

husk__clock *husk__clock_create(cl_command_queue cl)
{
    husk__clock *clock = calloc(1, sizeof *clock);
    if (!clock)
        return NULL;
    atomic_init(&clock->references, 1);
    clock->cl = cl;
    clRetainCommandQueue(cl);
    return clock;
}

void husk__clock_retain(husk__clock *clock)
{
    atomic_fetch_add(&clock->references, 1);
}

void husk__clock_release(husk__clock *clock)
{
    if (!clock || atomic_fetch_sub(&clock->references, 1) != 1)
        return;
    clReleaseCommandQueue(clock->cl);
    free(clock);
}

uint64_t husk__clock_tick(husk__clock *clock)
{
    return atomic_fetch_add(&clock->enqueued, 1) + 1;
}

void husk__clock_reached(husk__clock *clock, uint64_t number)
{
    uint64_t before = atomic_load(&clock->completed);
    while (before < number && !atomic_compare_exchange_weak(&clock->completed, &before, number))
        ;
}

cl_int husk__clock_finish(husk__clock *clock)
{
    uint64_t number = atomic_load(&clock->enqueued);
    cl_int code = clFinish(clock->cl);
    if (code == CL_SUCCESS)
        husk__clock_reached(clock, number);
    return code;
}
