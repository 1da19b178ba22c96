/* SPDX-License-Identifier: MIT */
/* bench/report/page.h: what the report's page is written with. */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include <stdio.h>

void bench_report_style(FILE *file);
void bench_report_script(FILE *file);
void bench_report_text(FILE *file, const char *text); /* with < > & " made harmless */

#endif
