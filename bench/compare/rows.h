/* SPDX-License-Identifier: MIT */
/* bench/compare/rows.h: which row of one document may stand beside which of another. */
#ifndef BENCH_COMPARE_ROWS_H
#define BENCH_COMPARE_ROWS_H

#include <jansson.h>
#include <stdbool.h>

/* Whether a row is of that device of its document. */
bool bench_row_is_of(const json_t *row, size_t device);
/* A row of that device, by case and temperature (and by variant where that alone is not one row). */
const json_t *bench_find_row(const json_t *document, size_t device, const json_t *like);
/* The row that may stand beside one of another document's: of several variants there each with its own alone. */
const json_t *bench_match_row(const json_t *document, size_t device, const json_t *own, size_t own_device,
                              const json_t *row);

#endif
