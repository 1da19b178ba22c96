/* SPDX-License-Identifier: MIT */
/*
 * runtime/guards.h: what a context knows of its guard bands.
 */
#ifndef HUSK_RUNTIME_GUARDS_H
#define HUSK_RUNTIME_GUARDS_H

#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"

typedef struct husk__guards {
    _Atomic uint64_t band; /* of blocks that are made from now on; 0: none */
    pthread_mutex_t lock;  /* of what follows */
    cl_command_queue queue; /* NULL until it is needed */
    uint64_t count;         /* of blocks that were found written outside, and nobody was told so */
    husk_error first;       /* of them */
    bool has_failed;        /* a look at another block, and nobody was told so */
    husk_error failure;     /* the first time */
} husk__guards;

void husk__guards_init(husk__guards *guards);
/* The last blocks are gone. What was not asked for goes to the log. */
void husk__guards_destroy(husk__guards *guards, const husk__log *log);
/* For the next question: INTERNAL for memory that was written, or why a block could not be looked at. */
void husk__guards_keep(husk__guards *guards, const husk_error *error);
/* What was kept, which is forgotten: memory that was written, or else why some could not be looked at. */
husk_status husk__guards_take(husk__guards *guards, husk_error *error);

#endif
