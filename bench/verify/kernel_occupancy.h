/* SPDX-License-Identifier: MIT */
/*
 * bench/verify/kernel_occupancy.h: how many waves (warps) of a kernel a GPU's unit holds at a time, of how many, by
 * what the kernel takes.
 *
 * Sources: NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"; LLVM, User Guide for
 * the AMDGPU Backend, and its tables of vector registers and their granularity by processor.
 */
#ifndef BENCH_VERIFY_KERNEL_OCCUPANCY_H
#define BENCH_VERIFY_KERNEL_OCCUPANCY_H

#include <stdint.h>

typedef struct bench_occupancy {
    int waves, most; /* most: 0: nothing is known of the target */
} bench_occupancy;

/* registers: per work-item; items: of a work-group; local_memory: bytes of a work-group. */
bench_occupancy bench_occupancy_of(const char *target, int64_t registers, int64_t items, int64_t local_memory);

#endif
