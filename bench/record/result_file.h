/* SPDX-License-Identifier: MIT */
/*
 * bench/record/result_file.h: reading result files, for everything that takes one (compare, history, report,
 * roofline). A file is believed only as far as it has been checked: against bench/schema/clbench-2.schema.json, which
 * is compiled in, and for what a schema cannot say.
 */
#ifndef BENCH_RECORD_RESULT_FILE_H
#define BENCH_RECORD_RESULT_FILE_H

#include <stdio.h>

#include "cases/case.h"
#include "common/json_schema.h"

#define BENCH_SAID_DRIFT 0.03 /* of the machine's speed in a run: what is less it does by itself */

/*
 * The document of a result file; one of schema clbench/1 as clbench/2 has it. NULL: reason is a sentence that names the
 * file, the place and the rule. What it holds can be relied on as the schema says; besides,
 * - no two rows are of the same device, case, variant and temperature;
 * - samples are as many as n says, and their summary is theirs, in the right order;
 * - a row that is ok was timed, and is of a device that the document has;
 * - no text has control characters (they are replaced), so that it may be printed.
 */
json_t *bench_result_read(const char *path, char reason[BENCH_REASON_TEXT]);

/* The same for text in memory, by a schema that the caller keeps; name stands for the file in what is said. */
json_t *bench_result_parse(const json_t *schema, const char *text, size_t size, const char *name,
                           char reason[BENCH_REASON_TEXT]);
/* The same for a document. */
bool bench_result_check(json_t *document, const char *name, char reason[BENCH_REASON_TEXT]);
bool bench_result_check_by(const json_t *schema, json_t *document, const char *name, char reason[BENCH_REASON_TEXT]);

/*
 * How many bytes a result may have, against files without an end: one that has more is not read, and so not written
 * either. Tests make it less.
 */
extern size_t bench_result_most;
/* Whether what was written to a file until now may be read again. */
bool bench_result_fits(FILE *file);

/* The schema itself; NULL when memory is short. */
json_t *bench_result_schema(void);

/* ---- taking things out of a document that was checked ---- */

#define BENCH_ROW_NAME (BENCH_CASE_TEXT + 100)
/* The row's case, with the variant behind it where one was asked for: "CASE (VARIANT)". */
void bench_row_name(const json_t *row, char name[BENCH_ROW_NAME]);
/* Columns that the longest name of a document's rows takes, and at least so many. */
size_t bench_longest_name(const json_t *document, size_t least);

#endif
