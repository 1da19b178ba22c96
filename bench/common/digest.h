/* SPDX-License-Identifier: MIT */
/*
 * bench/common/digest.h: one number for all the bits of something, to tell whether two runs gave the same (FNV-1a).
 */
#ifndef BENCH_COMMON_DIGEST_H
#define BENCH_COMMON_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of nothing. */
#define BENCH_DIGEST_EMPTY UINT64_C(0xcbf29ce484222325)

uint64_t bench_digest_add(uint64_t digest, const void *bytes, size_t size);

#endif
