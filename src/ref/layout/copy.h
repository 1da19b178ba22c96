/* SPDX-License-Identifier: MIT */
/*
 * ref/layout/copy.h: copies, see husk/ops/copy.h.
 */
#ifndef HUSK_REF_LAYOUT_COPY_H
#define HUSK_REF_LAYOUT_COPY_H

#include <husk/ops/copy.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_copy {
    const husk_ref_array *x;
    husk_dtype dtype; /* y's */
    int32_t rank;     /* y's shape */
    int64_t shape[HUSK_MAX_RANK];
} husk_ref_copy;

/* One element of y, exactly; i64 beyond 2^53 is not what double holds. */
husk_ref_value husk_ref_copy_at(const husk_ref_copy *op, const int64_t *index);
husk_ref_function husk_ref_copy_function(const husk_ref_copy *op);
void husk_ref_copy_run(const husk_ref_copy *op, const husk_ref_array *y);

HUSK_END_DECLS

#endif
