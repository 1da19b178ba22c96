/* SPDX-License-Identifier: MIT */
/*
 * bench/verify/kernel_fuzz.h: sizes that nobody has listed. Kernels fail beside multiples of what they divide their
 * work by: sizes are drawn there, and what fails is made smaller as long as it does.
 */
#ifndef BENCH_VERIFY_KERNEL_FUZZ_H
#define BENCH_VERIFY_KERNEL_FUZZ_H

#include "spec/spec.h"

/* Whether a kernel is wrong at these sizes. What cannot be tried, since `where` excludes it for one, is right. */
typedef bool bench_fails_at(void *user, const int64_t *size);

typedef struct bench_kernel_fuzz {
    const bench_spec *spec;
    const int64_t *config;
    uint64_t seed;
    uint64_t drawn; /* numbers so far: the next draw goes on from there */
    bench_fails_at *fails;
    void *user;
} bench_kernel_fuzz;

/*
 * The next sizes: a multiple, by 0 to 9, of a parameter's value, of a listed size or of a power of 2, and up to two
 * beside it; at least 1, and at most four times the largest listed size of this name.
 */
void bench_fuzz_draw(bench_kernel_fuzz *fuzz, int64_t *size);

/* Sizes that fail, made smaller one after the other until none can be: by halves, then by ones. */
void bench_fuzz_shrink(bench_kernel_fuzz *fuzz, int64_t *size);

#endif
