/* SPDX-License-Identifier: MIT */
/*
 * bench/verify/results.h: what clbench verify found, for programs: as JSON (schema clbench-verify/2, which bench/schema
 * has as a JSON Schema) and as JUnit XML, which CI systems show.
 */
#ifndef BENCH_VERIFY_RESULTS_H
#define BENCH_VERIFY_RESULTS_H

#include <jansson.h>
#include <stdio.h>

#include "cases/case.h"
#include "verify/check.h"

/* One device after the other, each result in the order in which it was found. */
typedef struct bench_verify_results {
    json_t *devices;   /* an array; NULL: nobody wants results, or memory was short */
    bool lacks_memory; /* something is missing */
} bench_verify_results;

void bench_verify_results_begin(bench_verify_results *results);
/* What comes next is of this device: as the worker's hello describes it. */
void bench_verify_results_device(bench_verify_results *results, const json_t *device);
/* One that could not be opened, and why: a result of it, an error, so that nobody takes silence for success. */
void bench_verify_results_unopened(bench_verify_results *results, const char *preference, const char *why);
/* A result as it is written. Texts may be NULL or "" where there is none. */
typedef struct bench_verify_row {
    const char *name;    /* the case, or a kernel's sizes */
    const char *op;      /* whose variants compute it, or the kernel */
    const char *asked;   /* the variant, or a kernel's parameters */
    const char *variant, *configuration; /* what computed it */
    const char *verdict; /* right, wrong, inconclusive, refused, error or timeout */
    const char *reason;
    const char *reproducer; /* the command that comes to it alone */
    const char *by;         /* a kernel's: the bound that was used */
    const char *file;       /* a kernel's source; line: where in it, 0: unknown */
    int line;
    double of_bound, seconds;
} bench_verify_row;

void bench_verify_results_put(bench_verify_results *results, const bench_verify_row *row);

/* variant: NULL stands for the library's own choice. */
void bench_verify_results_add(bench_verify_results *results, const bench_case *c, const char *op, const char *variant,
                              const bench_check *check, double seconds);
void bench_verify_results_free(bench_verify_results *results);

/* False where not all could be written, or something is missing; then a word is on stderr. "-" is stdout. */
bool bench_verify_results_json(const bench_verify_results *results, const char *path);
bool bench_verify_results_junit(const bench_verify_results *results, const char *path);

#endif
