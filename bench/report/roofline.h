/* SPDX-License-Identifier: MIT */
/*
 * bench/report/roofline.h: a result as a picture (Williams, Waterman, Patterson: Roofline, CACM 2009): every case by
 * its operational intensity, operations executed a byte that has to move, and its rate, under the roofs that were
 * measured in the same run.
 */
#ifndef BENCH_REPORT_ROOFLINE_H
#define BENCH_REPORT_ROOFLINE_H

#include <jansson.h>

#include "cases/case.h"

#define BENCH_ROOFLINE_ROOFS 3

typedef struct bench_roofline_point {
    const char *text, *op, *variant; /* the case and what it was computed by; they belong to the document */
    int series;                      /* number of the operator, in the order of the table of operators */
    double intensity;                /* operations executed / byte */
    double gflops;                   /* executed */
    double percent;                  /* of the peak, as the row says; NaN: unknown */
    double median_ns;
} bench_roofline_point;

typedef struct bench_roofline {
    char title[256], subtitle[256];
    char id[32]; /* of its title, where it is a part of a page */
    double fma_gflops;
    struct {
        double gbytes_per_s;
        char name[64];
    } roofs[BENCH_ROOFLINE_ROOFS]; /* of copying, fastest first */
    int roof_count;
    bench_roofline_point *points;
    size_t count;
} bench_roofline;

/* From a document of schema clbench/2, which must outlive it. False: reason says what it lacks. */
bool bench_roofline_make(const json_t *document, bench_roofline *roofline, char reason[BENCH_REASON_TEXT]);
void bench_roofline_free(bench_roofline *roofline);
#endif
