/* SPDX-License-Identifier: MIT */
/* bench/verify/kernel_log.h: how a compiler's log is shown, and a mistake to a CI system. */
#ifndef BENCH_VERIFY_KERNEL_LOG_H
#define BENCH_VERIFY_KERNEL_LOG_H

/* Prints a log, indented, and of a long one its first lines. */
void bench_log_print(const char *log, int most_lines);

/* An annotation of GitHub Actions on stdout: ::error file=...,line=...::text. line 0: of the file as a whole. */
void bench_annotate_github(const char *file, int line, const char *text);

#endif
