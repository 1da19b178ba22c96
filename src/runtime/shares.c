// SPDX-License-Identifier: MIT
// Who does which share of a launch: the table of cl/lib/shares.clh. A queue has one, since its launches come one after
// the other; every launch leaves it as it found it, but for the threads that it has met.
#include "runtime/shares.h"

#include "base/checked.h"
#include "runtime/queue_struct.h"

// The layout of cl/lib/shares.clh.
enum { THREADS_MOST = 128, LINE = 16, WORDS = (1 + THREADS_MOST) * LINE };

cl_mem husk__queue_shares(husk_queue *queue, cl_int *code)
{
    if (queue->shares)
        return queue->shares;
    const int64_t units = queue->context->device->traits.compute_units;
    cl_uint table[WORDS] = {0};
    table[0] = (cl_uint)husk__max_i64(1, husk__min_i64(units, THREADS_MOST));
    do
        queue->shares =
            clCreateBuffer(queue->context->cl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof table, table, code);
    while (!queue->shares && husk__pool_gives_way(&queue->context->pool, *code));
    return queue->shares;
}
