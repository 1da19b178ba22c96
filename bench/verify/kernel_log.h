/* SPDX-License-Identifier: MIT */
/* bench/verify/kernel_log.h: what compilers and simulators say, and where in a source they say it is. */
#ifndef BENCH_VERIFY_KERNEL_LOG_H
#define BENCH_VERIFY_KERNEL_LOG_H

#include "common/text.h"

/* A message of a compiler's log: "FILE:12:5: error: ...". */
typedef struct bench_log_message {
    int line; /* 0: the log has no such message */
    char text[400]; /* behind "error: " */
} bench_log_message;

/* The first error. */
bench_log_message bench_log_first_error(const char *log);

/* Prints a log, indented, and of a long one its first lines. */
void bench_log_print(const char *log, int most_lines);

/* An annotation of GitHub Actions on stdout: ::error file=...,line=...::text. line 0: of the file as a whole. */
void bench_annotate_github(const char *file, int line, const char *text);

#endif
