/* SPDX-License-Identifier: MIT */
/*
 * ref/pool/pool.h: maximum and average pooling in one, two and three dimensions, and their gradient, see
 * husk/ops/pool.h.
 */
#ifndef HUSK_REF_POOL_POOL_H
#define HUSK_REF_POOL_POOL_H

#include <husk/ops/pool.h>

#include "ref/conv/conv.h"
#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_pool {
    const husk_pool_params *params;
    const husk_ref_array *x;
} husk_ref_pool;

/* y's shape, by the header's formula; a dimension may come out negative where nothing fits. */
void husk_ref_pool_output_shape(const husk_ref_pool *op, int64_t shape[HUSK_MAX_RANK]);

/* indices: I32 or I64, or NULL; MAX alone. */
void husk_ref_pool_run(const husk_ref_pool *op, const husk_ref_array *y, const husk_ref_array *indices);

/*
 * One element of y. MAX is exact. AVG's bound is the header's, with W the elements of the whole window,
 *     (4 + 2 sqrt W) * 2^-24 * sum |x| / count
 */
husk_ref_value husk_ref_pool_at(const husk_ref_pool *op, const int64_t *index);
husk_ref_function husk_ref_pool_function(const husk_ref_pool *op);

/* The position of one maximum in its channel's space; -1 for a window over padding alone. Exact. */
int64_t husk_ref_pool_index_at(const husk_ref_pool *op, const int64_t *index);
husk_ref_function husk_ref_pool_index_function(const husk_ref_pool *op);

husk_ref_window husk_ref_pool_get_window(const husk_ref_pool *op);

typedef struct husk_ref_pool_backward {
    const husk_pool_params *params;
    const husk_ref_array *x;       /* its shape is dx's; numbers are read for MAX without indices alone */
    const husk_ref_array *indices; /* NULL: found in x */
    const husk_ref_array *dy;
    const husk_ref_array *dx; /* what is added to; NULL: nothing */
} husk_ref_pool_backward;

void husk_ref_pool_backward_run(const husk_ref_pool_backward *op, const husk_ref_array *dx);

/*
 * One element of dx, with T the windows that give it something,
 *     (8 + 2 sqrt T) * 2^-24 * sum |terms|, for MAX 0 where T is at most 1
 * An element to which no window gives anything is zero by definition.
 */
husk_ref_value husk_ref_pool_backward_at(const husk_ref_pool_backward *op, const int64_t *index);
husk_ref_function husk_ref_pool_backward_function(const husk_ref_pool_backward *op);

HUSK_END_DECLS

#endif
