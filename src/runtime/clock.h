/* SPDX-License-Identifier: MIT */
/*
 * runtime/clock.h: how far command queues have come.
 */
#ifndef HUSK_RUNTIME_CLOCK_H
#define HUSK_RUNTIME_CLOCK_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* How far a command queue has come. Shared by the queue and the memory blocks it used; outlives the queue. */
typedef struct husk__clock {
    atomic_int references;
    cl_command_queue cl;        /* NULL: closed, and all has ended */
    _Atomic uint64_t enqueued;  /* number of the last command */
    _Atomic uint64_t completed; /* every command up to here has ended */
    bool is_closed;             /* there will be no more */
    pthread_mutex_t lock;       /* the marker, and what becomes of a closed one */
    cl_event marker;            /* NULL, or behind command `marked` */
    uint64_t marked;
} husk__clock;

husk__clock *husk__clock_create(cl_command_queue cl);
void husk__clock_retain(husk__clock *clock);
void husk__clock_release(husk__clock *clock);
/* There will be no more commands. The driver's queue goes when it is known that all have ended. */
void husk__clock_close(husk__clock *clock);
uint64_t husk__clock_tick(husk__clock *clock);
void husk__clock_reached(husk__clock *clock, uint64_t number);
/*
 * Whether a command has ended. Nobody may have waited for its queue, so where it is not known to have, the queue is
 * asked, by a marker that a later question finds.
 */
bool husk__clock_has_ended(husk__clock *clock, uint64_t number);
/* clFinish: of the queue's own thread, since it also waits for what is enqueued meanwhile. */
cl_int husk__clock_finish(husk__clock *clock);
/* Until what is enqueued now has ended, from any thread. */
cl_int husk__clock_wait(husk__clock *clock);

#endif
