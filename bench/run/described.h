/* SPDX-License-Identifier: MIT */
/* bench/run/described.h: the rows of kernels of the user's own: --kernels. */
#ifndef BENCH_RUN_DESCRIBED_H
#define BENCH_RUN_DESCRIBED_H

#include "cases/suite.h"
#include "cli/options.h"

/*
 * An entry for each chosen kernel, size and configuration (worker/kernel_runner.h): the sizes of `measure`, or of a
 * description without it the largest one, and where the command line names a size all. False: reason.
 */
bool bench_described_suite(const bench_options *options, bench_suite *suite, char reason[BENCH_REASON_TEXT]);

/* Whether some entry's result is that of an operator of Husk's, which rivals compute, too. */
bool bench_described_has_operator(const bench_suite *suite);

/* A hash of the descriptions and of the files that they name (not of what sources include), in hexadecimal. */
void bench_described_digest(const bench_options *options, char text[20]);

#endif
