/* SPDX-License-Identifier: MIT */
/* bench/cases/touched.h: how much of an image the windows of a convolution or of pooling read. */
#ifndef BENCH_CASES_TOUCHED_H
#define BENCH_CASES_TOUCHED_H

#include <stdint.h>

/* Lists have a number for each dimension of space, the last one the innermost in memory. */
typedef struct bench_windows {
    int64_t space;
    const int64_t *in, *window, *stride, *pad, *dilation, *out;
    double apart; /* bytes from a position to its neighbour in the last dimension */
} bench_windows;

/*
 * How many positions of the image have to be read: those that some window touches, each once, and none of the padding.
 * Memory moves whole lines of 64 bytes: where neighbours share one, what a touched position brings along counts.
 */
double bench_touched(const bench_windows *windows);

#endif
