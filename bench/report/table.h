/* SPDX-License-Identifier: MIT */
/*
 * bench/report/table.h: rows for people: a table on stdout that grows as rows are measured, and the same as CSV and
 * Markdown.
 */
#ifndef BENCH_REPORT_TABLE_H
#define BENCH_REPORT_TABLE_H

#include <jansson.h>
#include <stdio.h>

#include "cases/suite.h"

#define BENCH_MAX_RIVALS 8

typedef struct bench_table {
    int case_width; /* 0: a line of its own */
    const char *rivals[BENCH_MAX_RIVALS]; /* names of the columns of ratios */
    size_t rival_count;
    bool with_variant;
    bool with_spread, with_rate, with_peak; /* what a very narrow terminal has no room for is left out */
} bench_table;

/* Columns and their widths from the cases and the terminal. */
void bench_table_begin(bench_table *table, const bench_suite *suite);
void bench_table_header(const bench_table *table);
void bench_table_row(const bench_table *table, const json_t *row);

/* False when the file cannot be written (said on stderr). */
bool bench_write_csv(const char *path, const json_t *rows);
/* A line a figure, "name: value unit", for programs that plot or watch them. */
bool bench_write_plain(const char *path, const json_t *root);
bool bench_write_markdown(const char *path, const json_t *root);

#endif
