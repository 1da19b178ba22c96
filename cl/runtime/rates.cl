// SPDX-License-Identifier: MIT
// Loops whose time is one rate of a CPU device and little else (src/machine/measure.c). A work-group is one work-item.
//
//   -DRATE_CYCLE           two dependent operations of one cycle a step; without steps, an empty kernel
//   -DRATE_FMA -DSUMS=N    N independent multiply-adds of vectors a step: more than a core has in flight
//   -DRATE_READ            reads a part of a buffer again and again
//
// What is computed is written, so that no compiler leaves it out, and means nothing. -DDTYPE_F32.
#include "lib/inline.clh"
#include "lib/vector.clh"

#if defined(RATE_CYCLE)

// a and b come from outside: a compiler that knew them might do several steps at once.
#define STEP() x = (x ^ (uint)a) + (uint)b
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_runtime_rate(__global uint *y_base, long y_offset, int steps, int a, int b)
{
    ONE_ITEM();
    uint x = (uint)get_group_id(0);
    for (int i = 0; i < steps; i += 8) {
        STEP();
        STEP();
        STEP();
        STEP();
        STEP();
        STEP();
        STEP();
        STEP();
    }
    y_base[y_offset + (long)get_group_id(0)] = x;
}

#elif defined(RATE_FMA)

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_runtime_rate(__global float *y_base, long y_offset, int steps, float a, float b)
{
    ONE_ITEM();
    vf sums[SUMS];
    const vf factor = (vf)(a), addend = (vf)(b);
#pragma unroll
    for (int s = 0; s < SUMS; ++s)
        sums[s] = (vf)((float)s);
    for (int i = 0; i < steps; ++i) {
#pragma unroll
        for (int s = 0; s < SUMS; ++s)
            sums[s] = sums[s] * factor + addend;
    }
#pragma unroll
    for (int s = 1; s < SUMS; ++s)
        sums[0] += sums[s];
    STORE_VECTOR(vf, __global, sums[0], y_base + y_offset + (long)get_group_id(0) * VW);
}

#elif defined(RATE_READ)

enum { READ_AT_ONCE = 8 };

// Each group reads `vectors` vectors of its own, a multiple of READ_AT_ONCE.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_runtime_rate(const __global float *x_base, long x_offset, __global float *y_base, long y_offset, int vectors,
                       int rounds)
{
    ONE_ITEM();
    const __global float *x = x_base + x_offset + (long)get_group_id(0) * vectors * VW;
    vf sums[READ_AT_ONCE];
#pragma unroll
    for (int s = 0; s < READ_AT_ONCE; ++s)
        sums[s] = (vf)(0.0f);
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < vectors; i += READ_AT_ONCE) {
#pragma unroll
            for (int s = 0; s < READ_AT_ONCE; ++s)
                sums[s] += LOAD_VECTOR(vf, __global, x + (long)(i + s) * VW);
        }
    }
#pragma unroll
    for (int s = 1; s < READ_AT_ONCE; ++s)
        sums[0] += sums[s];
    STORE_VECTOR(vf, __global, sums[0], y_base + y_offset + (long)get_group_id(0) * VW);
}

#else
#error "name the rate: -DRATE_CYCLE, -DRATE_FMA or -DRATE_READ"
#endif
