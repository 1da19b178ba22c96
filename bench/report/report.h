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

#endif
