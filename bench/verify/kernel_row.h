/* SPDX-License-Identifier: MIT */
/*
 * bench/verify/kernel_row.h: a described kernel in one configuration on one device: its sizes, one after the other, and
 * what is said of them.
 */
#ifndef BENCH_VERIFY_KERNEL_ROW_H
#define BENCH_VERIFY_KERNEL_ROW_H

#include "cli/options.h"
#include "measure/row.h"
#include "spec/description.h"
#include "spec/point.h"
#include "verify/results.h"

typedef struct bench_kernel_tally {
    int64_t right, wrong, inconclusive, refused, errors, timeouts;
    int64_t uncompared; /* of the inconclusive: the description expects nothing of the results */
} bench_kernel_tally;

void bench_kernel_tally_add(bench_kernel_tally *to, const bench_kernel_tally *from);

/* A device, and where results go. */
typedef struct bench_kernel_session {
    const bench_options *options;
    const char *preference; /* NULL: the default device */
    bench_runner_process husk;
    pid_t described_to; /* the process that has the file below */
    const bench_description *described;
    bench_point point; /* at hand */
    char name[160]; /* of the device */
    bench_verify_results results;
    bool has_results; /* false: nobody wants them */
} bench_kernel_session;

typedef struct bench_kernel_row {
    bench_kernel_session *session;
    const bench_description *description;
    const bench_spec *spec;
    int number; /* of the spec in its file */
    const int64_t *config;
    bench_kernel_tally tally;
    double worst; /* the largest error over its bound */
    char by[80];
    char refused[BENCH_REASON_TEXT]; /* why, the first time */
    int64_t drawn; /* sizes that were drawn, and tried */
    char said[BENCH_REASON_TEXT]; /* what was said last, without its numbers */
    int alike;                    /* how often it was */
    int64_t unsaid;               /* how often it was not, since it had been said often enough */
} bench_kernel_row;

/* Whether it compiles, which is said where it does not; what `where` excludes at these sizes does. */
bool bench_kernel_row_compiles(bench_kernel_row *row, const int64_t *size);
/* Checks it at these sizes, counts what comes of it, and says what is wrong. */
void bench_kernel_row_check(bench_kernel_row *row, const int64_t *size);
/* Whether it is wrong, or ends, at these sizes: without a word. */
bool bench_kernel_row_fails(bench_kernel_row *row, const int64_t *size);
/* Its line, when all sizes are checked. */
void bench_kernel_row_print(const bench_kernel_row *row);

#endif
