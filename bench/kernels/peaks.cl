// SPDX-License-Identifier: MIT
// What the device can do at most, measured: multiply-adds without memory, and copying.
//
// VW      floats a vector has: the register width of CPU devices (4, 8, 16), 4 elsewhere
// WG      work-items of a work-group: 1 on CPU devices, which then run explicit vectors
#if !defined(VW) || !defined(WG)
#error "peaks.cl needs -DVW=<floats a vector has> and -DWG=<work-items of a work-group>"
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define vf JOIN(float, VW)
#define vload_vf JOIN(vload, VW)
#define vstore_vf JOIN(vstore, VW)

// Twelve independent chains hide the latency of two units of four cycles;
// x = x * a + b stays near b / (1 - a).
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_fma(__global float *out, int rounds, float a_, float b_)
{
    const vf a = (vf)(a_), b = (vf)(b_);
    const float start = (float)get_local_id(0) * 0.001f;
    vf x0 = (vf)(start), x1 = (vf)(start + 0.1f), x2 = (vf)(start + 0.2f), x3 = (vf)(start + 0.3f);
    vf x4 = (vf)(start + 0.4f), x5 = (vf)(start + 0.5f), x6 = (vf)(start + 0.6f), x7 = (vf)(start + 0.7f);
    vf x8 = (vf)(start + 0.8f), x9 = (vf)(start + 0.9f), x10 = (vf)(start + 1.0f), x11 = (vf)(start + 1.1f);
    for (int i = 0; i < rounds; i++) {
#define ROUND                                                                                       \
        x0 = fma(x0, a, b); x1 = fma(x1, a, b); x2 = fma(x2, a, b); x3 = fma(x3, a, b);             \
        x4 = fma(x4, a, b); x5 = fma(x5, a, b); x6 = fma(x6, a, b); x7 = fma(x7, a, b);             \
        x8 = fma(x8, a, b); x9 = fma(x9, a, b); x10 = fma(x10, a, b); x11 = fma(x11, a, b);
        ROUND ROUND ROUND ROUND
    }
    const vf sum = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)) + ((x8 + x9) + (x10 + x11));
    vstore_vf(sum, get_global_id(0), out);
}

// Each group copies its own part of the buffers, `rounds` times: a part that fits a cache stays there.
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_copy(__global const float *restrict from, __global float *restrict to,
                              long vectors_a_group, int rounds)
{
    const long first = (long)get_group_id(0) * vectors_a_group;
    for (int round = 0; round < rounds; round++) {
        const vf change = (vf)((float)round); // so that no round is the same as the one before
        for (long i = get_local_id(0); i < vectors_a_group; i += WG)
            vstore_vf(vload_vf(first + i, from) + change, first + i, to);
    }
}

// The same past the caches, where the compiler has such stores: no line is read before it is written.
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_stream(__global const float *restrict from, __global float *restrict to,
                                long vectors_a_group, int rounds)
{
    const long first = (long)get_group_id(0) * vectors_a_group;
    for (int round = 0; round < rounds; round++) {
        const vf change = (vf)((float)round);
        for (long i = get_local_id(0); i < vectors_a_group; i += WG) {
            const vf moved = vload_vf(first + i, from) + change;
#if defined(__clang__) && defined(__x86_64__)
            __builtin_nontemporal_store(moved, (__global vf *)to + first + i);
#else
            vstore_vf(moved, first + i, to);
#endif
        }
    }
}

// Reading alone: what a matrix costs that is used once. The maxima keep the compiler from leaving it out.
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_read(__global const float *restrict from, __global float *restrict to,
                              long vectors_a_group, int rounds)
{
    const long first = (long)get_group_id(0) * vectors_a_group;
    vf most0 = (vf)(0.0f), most1 = (vf)(0.0f), most2 = (vf)(0.0f), most3 = (vf)(0.0f);
    for (int round = 0; round < rounds; round++) {
        const vf change = (vf)((float)round);
        long i = get_local_id(0);
        for (; i + 3 * WG < vectors_a_group; i += 4 * WG) {
            most0 = max(most0, vload_vf(first + i, from) + change);
            most1 = max(most1, vload_vf(first + i + WG, from) + change);
            most2 = max(most2, vload_vf(first + i + 2 * WG, from) + change);
            most3 = max(most3, vload_vf(first + i + 3 * WG, from) + change);
        }
        for (; i < vectors_a_group; i += WG)
            most0 = max(most0, vload_vf(first + i, from) + change);
    }
    vstore_vf(most0 + most1 + most2 + most3, get_global_id(0), to);
}
