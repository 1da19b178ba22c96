/* SPDX-License-Identifier: MIT */
/* bench/cases/output_digest.h: one number for all the bits of a result, to tell whether two runs gave the same. */
#ifndef BENCH_CASES_OUTPUT_DIGEST_H
#define BENCH_CASES_OUTPUT_DIGEST_H

#include "cases/operands.h"

/* Over every output that there is; bits count, so that -0 differs from 0 and a NaN from another. */
uint64_t bench_output_digest(const bench_output *output);
/* The same for comparisons within a run alone: several times as fast, and not the same on every machine. */
uint64_t bench_output_fingerprint(const bench_output *output);

#endif
