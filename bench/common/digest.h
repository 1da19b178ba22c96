/* SPDX-License-Identifier: MIT */
/*
 * bench/common/digest.h: one number for all the bits of something, to tell whether two runs gave the same (FNV-1a).
 */
#ifndef BENCH_COMMON_DIGEST_H
#define BENCH_COMMON_DIGEST_H

#include "worker/contender.h"

/* The digest of nothing. */
#define BENCH_DIGEST_EMPTY UINT64_C(0xcbf29ce484222325)

uint64_t bench_digest_add(uint64_t digest, const void *bytes, size_t size);

/* Over every output that there is; bits count, so that -0 differs from 0 and a NaN from another. */
uint64_t bench_output_digest(const bench_output *output);
/* The same for comparisons within a run alone: several times as fast, and not the same on every machine. */
uint64_t bench_output_fingerprint(const bench_output *output);

#endif
