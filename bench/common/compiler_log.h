/* SPDX-License-Identifier: MIT */
/* bench/common/compiler_log.h: what a compiler says is wrong, and where in a source it says so. */
#ifndef BENCH_COMMON_COMPILER_LOG_H
#define BENCH_COMMON_COMPILER_LOG_H

#include "common/text.h"

/* A message of a compiler's log: "FILE:12:5: error: ...". */
typedef struct bench_log_message {
    int line; /* 0: the log has no such message */
    char text[400]; /* behind "error: " */
} bench_log_message;

/* The first error. */
bench_log_message bench_log_first_error(const char *log);

#endif
