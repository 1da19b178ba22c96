/* SPDX-License-Identifier: MIT */
/* bench/record/row_json.h: a row as the document has it. */
#ifndef BENCH_RECORD_ROW_JSON_H
#define BENCH_RECORD_ROW_JSON_H

#include <jansson.h>

#include "measure/row.h"
#include "worker/peaks.h"

/* A row as JSON, with its verdict on plausibility. */
json_t *bench_row_json(const bench_row *row, const bench_peaks *peaks);

/* Whether it is a described kernel's of whose results nothing is expected. */
bool bench_row_is_unchecked(const json_t *row);

/* What a row of a document computes. False: its case is none that this clbench knows. */
bool bench_row_case(const json_t *row, bench_case *c);

#endif
