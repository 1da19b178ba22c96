/* SPDX-License-Identifier: MIT */
/*
 * runtime/queue_struct.h: what a queue is made of. Its own functions are in runtime/queue.h and husk/queue.h.
 */
#ifndef HUSK_RUNTIME_QUEUE_STRUCT_H
#define HUSK_RUNTIME_QUEUE_STRUCT_H

#include "base/error.h"
#include "runtime/clock.h"
#include "runtime/context_struct.h"

/* Pinned host memory, reused once the events of all the commands that read it say so. Small ones share a piece. */
enum { HUSK__STAGING_READERS = 256 };
typedef struct husk__staging {
    struct husk__staging *next;
    cl_mem mem;
    void *host;
    uint64_t bytes, used; /* what has been given away of it */
    int reader_count;
    cl_event readers[HUSK__STAGING_READERS];
} husk__staging;

typedef struct husk__profile_entry {
    const char *name;
    cl_event event;
} husk__profile_entry;

/*
 * A queue's own object of a kernel, made on first use, and what its arguments were set to last: one word a scalar, two
 * a buffer (the block's serial number and the offset). Arguments keep their values from launch to launch, so only those
 * that differ are set. Like all of a queue it belongs to one thread at a time.
 */
typedef struct husk__kernel_object {
    cl_kernel cl;
    bool is_known; /* words holds what the arguments are */
    size_t argument_count;
    uint64_t *words; /* NULL: there was no memory for it, and every argument is set every time */
} husk__kernel_object;

enum { HUSK__SCRATCH_LEVELS = 8 };

struct husk_queue {
    atomic_int references;
    husk_context *context;
    cl_command_queue cl;
    husk__clock *clock;
    husk_error error;
    bool can_profile; /* its commands' times can be had */
    bool profiling;   /* and are kept */
    bool has_failed;  /* a watched command, since that was last told */
    size_t watched_count, watched_capacity;
    cl_event *watched; /* watch.c */
    size_t kernel_capacity;
    husk__kernel_object *kernels; /* by husk__kernel.id */
    int scratch_level;
    husk_buffer *scratch[HUSK__SCRATCH_LEVELS];
    husk__staging *staging, *shared_staging; /* all; of them the one that small writes share now, or NULL */
    uint64_t staging_bytes;
    cl_mem shares; /* see runtime/shares.c; NULL until a kernel wants it */
    size_t profile_count, profile_capacity;
    husk__profile_entry *profile;
    husk_profile_record *records;
    void *kept; /* husk__queue_keep */
    void (*release_kept)(void *kept);
};

struct husk_event {
    atomic_int references;
    husk_context *context;
    husk__clock *clock;
    uint64_t number;
    cl_event cl;
};

/* Enqueue, and once more where there was no memory and the pool gives way. */
#define HUSK__ENQUEUE(code, queue, call) \
    do                                   \
        (code) = (call);                 \
    while (husk__pool_gives_way(&(queue)->context->pool, code))

#endif
