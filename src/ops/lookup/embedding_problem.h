/* SPDX-License-Identifier: MIT */
/*
 * ops/lookup/embedding_problem.h: what embedding and its gradient share: the lookups.
 */
#ifndef HUSK_OPS_LOOKUP_EMBEDDING_PROBLEM_H
#define HUSK_OPS_LOOKUP_EMBEDDING_PROBLEM_H

#include <husk/ops/embedding.h>

#include "select/plan.h"

/* Resolved, without buffers. rows: y, or dy, the last dimension being the columns. */
typedef struct husk__embedding_problem {
    husk_tensor table, indices, rows; /* the table is dtable in the gradient */
    int64_t skipped;                  /* the gradient: the padding row; -1: none */
    bool adds, means;
} husk__embedding_problem;

void husk__embedding_describe(const void *problem, husk__key *key);
void husk__embedding_classify(const void *problem, husk__text *text);
void husk__embedding_write_case(const husk__embedding_problem *problem, bool is_gradient, husk__case *c);

int64_t husk__embedding_lookups(const husk__embedding_problem *problem);
int64_t husk__embedding_columns(const husk__embedding_problem *problem);
int64_t husk__embedding_column_stride(const husk__embedding_problem *problem);

/*
 * Everything but the outputs' overlaps. table and rows are called so; the one that is read is checked for a float
 * dtype, the other against it.
 */
husk_status husk__embedding_validate(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *table,
                                     const char *table_name, const husk_tensor *indices, const husk_tensor *rows,
                                     const char *rows_name, const husk__scope *scope);
husk__embedding_problem husk__embedding_resolve(const husk_embedding_params *params, const husk_tensor *table,
                                                const husk_tensor *indices, const husk_tensor *rows);

#endif
