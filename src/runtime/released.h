/* SPDX-License-Identifier: MIT */
/*
 * runtime/released.h: the structs of buffers, and those that were released.
 */
#ifndef HUSK_RUNTIME_RELEASED_H
#define HUSK_RUNTIME_RELEASED_H

#include <husk/buffer.h>

#include "runtime/block.h"

struct husk_buffer {
    atomic_int references; /* 0 or less: released, and kept for those that name it still */
    husk_buffer *next;     /* of the released ones */
    husk_context *context;
    husk__block *block; /* NULL for a buffer of 0 bytes */
    uint64_t offset;    /* bytes into the block */
    uint64_t bytes;
};

/*
 * What is freed at once may be read by a tensor that names it still, and end the process in a kernel. So the structs,
 * not the memory of the device, are kept for a while, and such a tensor is refused.
 */
typedef struct husk__released {
    pthread_mutex_t lock;
    husk_buffer *first, **last; /* the oldest first */
    int count;
} husk__released;

void husk__released_init(husk__released *released);
void husk__released_trim(husk__released *released);
void husk__released_destroy(husk__released *released);
void husk__released_keep(husk__released *released, husk_buffer *buffer);
/* The one that was released before all others, where there are many, or a new one; NULL without memory. */
husk_buffer *husk__released_take(husk__released *released);

/* false: it was released, as far as can be known. */
bool husk__buffer_is_live(const husk_buffer *buffer);

#endif
