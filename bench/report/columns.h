/* SPDX-License-Identifier: MIT */
/* bench/report/columns.h: the rows of one device as a table of the report. */
#ifndef BENCH_REPORT_COLUMNS_H
#define BENCH_REPORT_COLUMNS_H

#include <stdio.h>

#include "compare/devices.h"

void bench_report_table(const bench_column *column, FILE *file);

#endif
