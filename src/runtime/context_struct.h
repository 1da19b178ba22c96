/* SPDX-License-Identifier: MIT */
/*
 * runtime/context_struct.h: what a context is made of. Its own functions are in runtime/context.h and husk/context.h.
 */
#ifndef HUSK_RUNTIME_CONTEXT_STRUCT_H
#define HUSK_RUNTIME_CONTEXT_STRUCT_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <husk/context.h>

#include "runtime/cache.h"
#include "runtime/device.h"
#include "runtime/guards.h"
#include "runtime/pool.h"
#include "runtime/programs.h"
#include "runtime/released.h"

enum {
    HUSK__EXTENSIONS = 2,
    HUSK__RELEASE_ACTIONS = 8,
    HUSK__FEATURES = HUSK_FEATURE_DOT_I8 + 1,
    HUSK__QUIRKS = HUSK_QUIRK_ASSEMBLY + 1
};

struct husk_context {
    atomic_int references;
    husk_device_list *list; /* keeps the device alive */
    const husk_device *device;
    cl_device_id share; /* a part of the device that was made for the context; NULL: it has the whole */
    cl_context cl;
    husk__log log;
    atomic_bool is_lost;
    char lost_reason[256];
    husk__pool pool;
    husk__guards guards;
    husk__programs programs;
    husk__cache cache;
    pthread_mutex_t lock; /* extension and actions */
    husk__released released;
    _Atomic(void *) extensions[HUSK__EXTENSIONS];
    void (*destroy_extension[HUSK__EXTENSIONS])(void *extension);
    int action_count;
    void (*actions[HUSK__RELEASE_ACTIONS])(husk_context *context);
    size_t plan_cache_capacity;
    husk_precision precision; /* never DEFAULT */
    atomic_int features[HUSK__FEATURES]; /* 0 not probed yet, 1 there and right, -1 not */
    pthread_mutex_t quirk_lock;          /* one probe at a time: FLUSH measures */
    atomic_int quirks[HUSK__QUIRKS];     /* 0 not probed yet, 1 there, -1 not, -2 its kernel could not be run */
    pthread_mutex_t threads_lock;        /* one gathering of the driver's threads at a time */
    atomic_bool flushes_anyway;          /* denormal numbers, without being told: known with FLUSH */
    _Atomic uint64_t builds, cache_loads, build_ns, plans, plan_hits;
};

#endif
