/* SPDX-License-Identifier: MIT */
/* bench/cases/lookup/embedding.h: the fields of a case of embedding, resolved. */
#ifndef BENCH_CASES_LOOKUP_EMBEDDING_H
#define BENCH_CASES_LOOKUP_EMBEDDING_H

#include <husk/ops/embedding.h>

/* lookups, anywhere in a table of rows and columns; packed */
typedef struct bench_embedding {
    int64_t lookups, rows, columns;
} bench_embedding;

#endif
