/* SPDX-License-Identifier: MIT */
/*
 * bench/system/input.h: files that are read whole: results, suites, tuning databases.
 */
#ifndef BENCH_SYSTEM_INPUT_H
#define BENCH_SYSTEM_INPUT_H

#include "common/text.h"

/*
 * The bytes of a file, and a zero behind them; of no more than most, against files without an end. NULL: reason names
 * the file and says why.
 */
char *bench_input_read(const char *path, size_t most, size_t *size, char reason[BENCH_REASON_TEXT]);

/* Where a text begins: behind the byte order mark that some editors put before UTF-8. */
const char *bench_input_text(const char *text, size_t size);

#endif
