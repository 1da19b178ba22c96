/* SPDX-License-Identifier: MIT */
/*
 * bench/worker/kernel_poison.h: local memory filled before a kernel runs.
 *
 * A kernel finds in local memory what the one before has left there, on CPUs and on GPUs: most often its own right
 * numbers. NaN in its place shows what a kernel reads before it has written it.
 */
#ifndef BENCH_WORKER_KERNEL_POISON_H
#define BENCH_WORKER_KERNEL_POISON_H

#include <husk/opencl.h>
#include <stdbool.h>

typedef struct bench_kernel_poison {
    cl_program program;
    cl_kernel kernel; /* NULL: local memory stays as it is */
    size_t groups, items;
} bench_kernel_poison;

/* Where the device cannot, there is none, which is no error. */
void bench_kernel_poison_begin(bench_kernel_poison *poison, cl_context context, cl_device_id device);
void bench_kernel_poison_end(bench_kernel_poison *poison);
/* Enqueues it. which: 0, NaN and -1; 1, other bytes, so that two runs differ in whole numbers as well. */
void bench_kernel_poison_local(const bench_kernel_poison *poison, cl_command_queue queue, int which);

#endif
