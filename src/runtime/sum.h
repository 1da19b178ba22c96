/* SPDX-License-Identifier: MIT */
/*
 * runtime/sum.h: launching kernels of y = sum of element(u, v, w) over the dimensions in which y is broadcast: the
 * gradients of what an operator broadcasts. cl/lib/sum.clh; where nothing is broadcast it is runtime/map.h's work.
 *
 * Sums are divided into partial sums by their shapes alone, so that a device's load and number of cores change no bit.
 */
#ifndef HUSK_RUNTIME_SUM_H
#define HUSK_RUNTIME_SUM_H

#include "runtime/map.h"

/* Everything a launch needs but the tensors. */
typedef struct husk__sum {
    husk__walk walk; /* kept dimensions, then those summed over, then the row */
    husk__walk ends;  /* the kept dimensions alone */
    int32_t kept_rank; /* before the row */
    bool is_columns;   /* the row is kept */
    int64_t kept, reduced, chunk, splits, units;
    int64_t total; /* sums */
    uint64_t partial; /* bytes of a partial one */
    int64_t share, end_share;
    const husk__kernel *kernel, *finish;
    husk__range range, end_range;
} husk__sum;

/*
 * tensors: y, whose shape is broadcast to `shape`, and the inputs, as for husk__walk_make; resolved, y is not empty.
 */
husk__sum husk__sum_make(int32_t rank, const int64_t *shape, const husk_tensor *const tensors[HUSK__WALK_TENSORS]);
/* Bytes of partial sums. */
uint64_t husk__sum_workspace(const husk__sum *sum);

/* Build KERNEL_sum and KERNEL_finish; items: work-items a group, 1 for CPU devices. */
husk_status husk__sum_prepare(husk_context *context, const char *file, const char *options, const char *kernel,
                              int64_t items, husk__sum *sum, const husk__scope *scope);

/* Partial sums lie in scratch from the byte `at` on. */
husk_status husk__sum_launch(const husk__sum *sum, husk_queue *queue, const husk__map_run *run,
                             const husk_buffer *scratch, uint64_t at, const husk__scope *scope);

#endif
