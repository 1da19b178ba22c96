/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/tape.h: the kernel launches of one call of the library, recorded, and played again without the library:
 * the same clSetKernelArg and clEnqueueNDRangeKernel with the same kernels and arguments, and nothing else.
 *
 * bench/worker/tape.c defines these two functions for the program that it is linked into and passes them on to OpenCL,
 * so the library itself knows nothing of it. One tape records at a time.
 */
#ifndef BENCH_WORKER_TAPE_H
#define BENCH_WORKER_TAPE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct bench_tape bench_tape;

/* Everything from here to bench_tape_stop, by whatever thread. NULL when memory is short. */
bench_tape *bench_tape_record(void);
/* False: memory did not suffice for all of it. */
bool bench_tape_stop(bench_tape *tape);
/* Kernels launched. */
size_t bench_tape_launches(const bench_tape *tape);
/* False: OpenCL refused a call. */
bool bench_tape_play(const bench_tape *tape);
void bench_tape_free(bench_tape *tape);

#endif
