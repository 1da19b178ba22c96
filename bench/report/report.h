/* SPDX-License-Identifier: MIT */
/*
 * bench/report/report.h: results as one HTML page that loads nothing: what each device is, the verdict in words, the
 * roofline, bars against the baselines, networks, how samples are distributed, and the table, which can be sorted.
 * Light or dark as its reader's system is, narrow or wide, and on paper.
 */
#ifndef BENCH_REPORT_REPORT_H
#define BENCH_REPORT_REPORT_H

#include <stdio.h>

#include "compare/devices.h"

/* One column is a device of a file. Documents were read by bench_result_read. */
void bench_report_write(const bench_column *columns, size_t count, FILE *file);

/* The parts, for bench/report/report.c alone. */
void bench_report_style(FILE *file);
void bench_report_script(FILE *file);
void bench_report_text(FILE *file, const char *text); /* with < > & " made harmless */
void bench_report_table(const bench_column *column, FILE *file);

#endif
