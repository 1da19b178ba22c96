// SPDX-License-Identifier: MIT
// How far command queues have come.
#include "runtime/clock.h"

#include <stdlib.h>

husk__clock *husk__clock_create(cl_command_queue cl)
{
    husk__clock *clock = calloc(1, sizeof *clock);
    if (!clock)
        return NULL;
    atomic_init(&clock->references, 1);
    clock->cl = cl;
    pthread_mutex_init(&clock->lock, NULL);
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
    if (clock->marker)
        clReleaseEvent(clock->marker);
    if (clock->cl)
        clReleaseCommandQueue(clock->cl);
    pthread_mutex_destroy(&clock->lock);
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

static void look_at_marker(husk__clock *clock)
{
    cl_int execution = CL_QUEUED;
    if (clGetEventInfo(clock->marker, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof execution, &execution, NULL) !=
            CL_SUCCESS ||
        execution > CL_COMPLETE)
        return;
    husk__clock_reached(clock, clock->marked);
    clReleaseEvent(clock->marker);
    clock->marker = NULL;
}

// Buffers that outlive a queue need not keep the driver's: there is nothing to ask it any more.
static void give_up_if_over(husk__clock *clock)
{
    if (!clock->is_closed || !clock->cl || atomic_load(&clock->completed) < atomic_load(&clock->enqueued))
        return;
    if (clock->marker)
        clReleaseEvent(clock->marker);
    clReleaseCommandQueue(clock->cl);
    clock->marker = NULL;
    clock->cl = NULL;
}

void husk__clock_close(husk__clock *clock)
{
    pthread_mutex_lock(&clock->lock);
    clock->is_closed = true;
    if (clock->marker)
        look_at_marker(clock);
    give_up_if_over(clock);
    pthread_mutex_unlock(&clock->lock);
}

// From any thread, at any moment: a marker changes nothing for whoever enqueues there.
static void set_marker(husk__clock *clock)
{
    clock->marked = atomic_load(&clock->enqueued);
    if (clEnqueueMarkerWithWaitList(clock->cl, 0, NULL, &clock->marker) == CL_SUCCESS)
        clFlush(clock->cl);
    else
        clock->marker = NULL;
}

bool husk__clock_has_ended(husk__clock *clock, uint64_t number)
{
    if (atomic_load(&clock->completed) >= number)
        return true;
    pthread_mutex_lock(&clock->lock);
    if (clock->marker)
        look_at_marker(clock);
    const bool has_ended = atomic_load(&clock->completed) >= number;
    if (!has_ended && !clock->marker)
        set_marker(clock);
    give_up_if_over(clock);
    pthread_mutex_unlock(&clock->lock);
    return has_ended;
}

// With a reference; NULL: all has ended there.
static cl_command_queue borrow(husk__clock *clock)
{
    pthread_mutex_lock(&clock->lock);
    cl_command_queue cl = clock->cl;
    if (cl)
        clRetainCommandQueue(cl);
    pthread_mutex_unlock(&clock->lock);
    return cl;
}

static cl_int finish(husk__clock *clock, cl_command_queue cl)
{
    const uint64_t number = atomic_load(&clock->enqueued);
    const cl_int code = clFinish(cl);
    if (code == CL_SUCCESS)
        husk__clock_reached(clock, number);
    return code;
}

cl_int husk__clock_finish(husk__clock *clock)
{
    return finish(clock, clock->cl);
}

static cl_int wait_on(husk__clock *clock, cl_command_queue cl)
{
    const uint64_t number = atomic_load(&clock->enqueued);
    cl_event marker;
    cl_int code = clEnqueueMarkerWithWaitList(cl, 0, NULL, &marker);
    if (code != CL_SUCCESS)
        return finish(clock, cl);
    code = clFlush(cl);
    if (code == CL_SUCCESS)
        code = clWaitForEvents(1, &marker);
    clReleaseEvent(marker);
    if (code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST) // badly, but it has ended
        code = CL_SUCCESS;
    if (code == CL_SUCCESS)
        husk__clock_reached(clock, number);
    return code;
}

cl_int husk__clock_wait(husk__clock *clock)
{
    cl_command_queue cl = borrow(clock);
    if (!cl)
        return CL_SUCCESS;
    const cl_int code = wait_on(clock, cl);
    clReleaseCommandQueue(cl);
    return code;
}
