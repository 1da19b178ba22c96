/* SPDX-License-Identifier: MIT */
/*
 * bench/system/steps.h: the line of progress of what goes on in a known number of steps that take differently long.
 * Each says what it takes on a usual device; what is left is that, by how the steps before it compared with it.
 */
#ifndef BENCH_SYSTEM_STEPS_H
#define BENCH_SYSTEM_STEPS_H

#include <stddef.h>
#include <stdint.h>

#include "common/text.h"

typedef struct bench_steps {
    size_t at, count;         /* the step that is under way, from 1 */
    double usual, all, done;  /* seconds, on a usual device: of that step, of all, of those that are over */
    uint64_t start_ns, at_ns; /* of the first, of that step */
    char what[200];
} bench_steps;

/* count steps, which usually take so many seconds together. */
void bench_steps_begin(bench_steps *steps, size_t count, double seconds);
/* The next one begins: it is shown, and shown again while a worker's reply is waited for. */
void bench_steps_next(bench_steps *steps, double seconds, const char *format, ...) BENCH_PRINTF(3, 4);
/* So many are over, some of which may have been left out, and would have taken so long together. */
void bench_steps_skip_to(bench_steps *steps, size_t at, double seconds);
/* All are over, or given up. */
void bench_steps_end(bench_steps *steps);

/* Seconds that are left at a moment. */
double bench_steps_left(const bench_steps *steps, uint64_t now_ns);

#endif
