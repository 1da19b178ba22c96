/* SPDX-License-Identifier: MIT */
/*
 * runtime/scratch.h: scratch memory of queues.
 */
#ifndef HUSK_RUNTIME_SCRATCH_H
#define HUSK_RUNTIME_SCRATCH_H

#include <husk/buffer.h>
#include <husk/queue.h>

#include "base/error.h"

/*
 * Bytes that stay until husk__scratch_end. Calls nest as a stack, so a composite keeps its scratch while the plans it
 * calls take theirs. Contents are undefined.
 */
typedef struct husk__scratch {
    husk_buffer *buffer; /* NULL for 0 bytes */
} husk__scratch;

husk_status husk__scratch_begin(husk_queue *queue, uint64_t bytes, husk__scratch *scratch, const husk__scope *scope);
void husk__scratch_end(husk_queue *queue, husk__scratch *scratch);

#endif
