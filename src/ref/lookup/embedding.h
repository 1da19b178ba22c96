/* SPDX-License-Identifier: MIT */
/*
 * ref/lookup/embedding.h: rows of a table, and the table's gradient.
 */
#ifndef HUSK_REF_LOOKUP_EMBEDDING_H
#define HUSK_REF_LOOKUP_EMBEDDING_H

#include <husk/ops/embedding.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_embedding {
    const husk_embedding_params *params; /* NULL for the defaults */
    const husk_ref_array *table, *indices;
} husk_ref_embedding;

void husk_ref_embedding_run(const husk_ref_embedding *op, const husk_ref_array *y);
husk_ref_value husk_ref_embedding_at(const husk_ref_embedding *op, const int64_t *index);
husk_ref_function husk_ref_embedding_function(const husk_ref_embedding *op);

typedef struct husk_ref_embedding_backward {
    const husk_embedding_params *params; /* NULL for the defaults */
    const husk_ref_array *indices, *dy;
    const husk_ref_array *before; /* dtable before the call, for accumulate */
    int64_t rows;                 /* the table's */
} husk_ref_embedding_backward;

void husk_ref_embedding_backward_run(const husk_ref_embedding_backward *op, const husk_ref_array *dtable);
husk_ref_value husk_ref_embedding_backward_at(const husk_ref_embedding_backward *op, const int64_t *index);
husk_ref_function husk_ref_embedding_backward_function(const husk_ref_embedding_backward *op);

HUSK_END_DECLS

#endif
