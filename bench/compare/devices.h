/* SPDX-License-Identifier: MIT */
/*
 * bench/compare/devices.h: several results beside each other, one column a device of a file: how many times as fast
 * each is as the first. A table to look at, and no test of anything: devices are expected to differ.
 */
#ifndef BENCH_COMPARE_DEVICES_H
#define BENCH_COMPARE_DEVICES_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "common/text.h"

#define BENCH_MAX_COLUMNS 128 /* of 16 files of 8 devices, which are as many as a command takes */

typedef struct bench_column {
    const json_t *document;
    size_t device;
    const char *file;
} bench_column;

const json_t *bench_device_of(const json_t *document, size_t device);
size_t bench_device_count(const json_t *document);

/* A column for each device of a document. False: it has none, or they are too many; reason names the file. */
bool bench_columns_add(bench_column *columns, size_t *count, const json_t *document, const char *file,
                       char reason[BENCH_REASON_TEXT]);

/* What a column is called: A, B, ... Z, AA, AB, ... */
typedef struct bench_column_name {
    char text[4];
} bench_column_name;
bench_column_name bench_column_named(size_t index);

/* The rows are those of the first column. */
void bench_columns_print(const bench_column *columns, size_t count);
bool bench_columns_markdown(const bench_column *columns, size_t count, FILE *file);
json_t *bench_columns_json(const bench_column *columns, size_t count);

#endif
