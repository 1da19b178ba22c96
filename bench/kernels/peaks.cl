// SPDX-License-Identifier: MIT
// What the device can do at most, measured: multiply-adds without memory, copying, local memory.
//
// VW      floats a vector has: the register width of CPU devices (4, 8, 16), 4 elsewhere
// WG      work-items of a work-group: 1 on CPU devices, which then run explicit vectors
// HAS_F64, HAS_F16      arithmetic that the device has beside f32
// HAS_DOT one instruction for four products of u8 by i8
// PLAIN   f32 alone, and nothing of a compiler's own: for a compiler that refuses the rest
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

// The part of the buffers that a group moves in a round. `step` 0: its own, which stays in a cache that it fits. Else
// each round another one: where a device has not all groups under way at a time, those that are would move theirs
// alone, again and again, and what is measured were a smaller working set than is said.
#define PART_OF(round) (((long)get_group_id(0) + (long)(round) * step) % (long)get_num_groups(0) * vectors_a_group)

// Each group copies a part of the buffers, `rounds` times.
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_copy(__global const float *restrict from, __global float *restrict to,
                              long vectors_a_group, int rounds, int step)
{
    for (int round = 0; round < rounds; round++) {
        const long first = PART_OF(round);
        const vf change = (vf)((float)round); // so that no round is the same as the one before
        for (long i = get_local_id(0); i < vectors_a_group; i += WG)
            vstore_vf(vload_vf(first + i, from) + change, first + i, to);
    }
}

// The same past the caches, where the compiler has such stores: no line is read before it is written.
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_bench_stream(__global const float *restrict from, __global float *restrict to,
                                long vectors_a_group, int rounds, int step)
{
    for (int round = 0; round < rounds; round++) {
        const long first = PART_OF(round);
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
                              long vectors_a_group, int rounds, int step)
{
    vf most0 = (vf)(0.0f), most1 = (vf)(0.0f), most2 = (vf)(0.0f), most3 = (vf)(0.0f);
    for (int round = 0; round < rounds; round++) {
        const long first = PART_OF(round);
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

// The same chains for another dtype: T, a vector of it, and how it is stored.
#define CHAINS(NAME, SCALAR, T, STORE)                                                              \
    __attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(T)))               \
    __kernel void NAME(__global SCALAR *out, int rounds, float a_, float b_)                        \
    {                                                                                               \
        const T a = (T)((SCALAR)a_), b = (T)((SCALAR)b_);                                           \
        const SCALAR start = (SCALAR)((float)get_local_id(0) * 0.001f);                             \
        const SCALAR step = (SCALAR)0.1f;                                                           \
        T x0 = (T)(start), x1 = x0 + step, x2 = x1 + step, x3 = x2 + step, x4 = x3 + step;          \
        T x5 = x4 + step, x6 = x5 + step, x7 = x6 + step, x8 = x7 + step, x9 = x8 + step;           \
        T x10 = x9 + step, x11 = x10 + step;                                                        \
        for (int i = 0; i < rounds; i++) {                                                          \
            ROUND ROUND ROUND ROUND                                                                 \
        }                                                                                           \
        const T sum = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)) + ((x8 + x9) + (x10 + x11)); \
        STORE(sum, get_global_id(0), out);                                                          \
    }

#if defined(HAS_F64) && !defined(PLAIN)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#if VW == 16
CHAINS(husk_bench_fma_f64, double, double8, vstore8)
#elif VW == 8
CHAINS(husk_bench_fma_f64, double, double4, vstore4)
#else
CHAINS(husk_bench_fma_f64, double, double2, vstore2)
#endif
#endif

#if defined(HAS_F16) && !defined(PLAIN)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#if VW >= 8
CHAINS(husk_bench_fma_f16, half, half16, vstore16)
#else
CHAINS(husk_bench_fma_f16, half, half8, vstore8)
#endif
#endif

// Products of signed and unsigned bytes, added up in 32 bits, by whatever the device has for that. DOT_OPS: operations
// of a lane; the host reads them from the end of out.
#define vi JOIN(int, VW)
#define vstore_vi JOIN(vstore, VW)
#if !defined(PLAIN) && defined(cl_khr_integer_dot_product) && \
    defined(__opencl_c_integer_dot_product_input_4x8bit_packed) && WG > 1
#pragma OPENCL EXTENSION cl_khr_integer_dot_product : enable
#define DOT_OPS 8
// By the sum itself: the product of two that stay the same would be taken out of the loop, and the loop with it.
#define DOT_LANE(sum, e) sum.s##e += dot_4x8packed_us_int(as_uint(sum.s##e), as_uint(b.s##e));
#define DOT(sum) DOT_LANE(sum, 0) DOT_LANE(sum, 1) DOT_LANE(sum, 2) DOT_LANE(sum, 3)
#elif !defined(PLAIN) && defined(__clang__) && defined(HAS_DOT) && defined(__x86_64__) && WG == 1
#define DOT_OPS 8
#define DOT(s) __asm__("vpdpbusd %2, %1, %0" : "+v"(s) : "v"(a), "v"(b));
#elif !defined(PLAIN) && defined(__clang__) && \
    (VW == 16 && defined(__AVX512BW__) || VW == 8 && defined(__AVX2__))
#define DOT_OPS 4 // pairs of 16 bits, widened beforehand; volatile, or the compiler would take it out of the loop
#define DOT(s)                                                                                      \
    {                                                                                               \
        vi product;                                                                                 \
        __asm__ volatile("vpmaddwd %2, %1, %0" : "=v"(product) : "v"(a), "v"(b));                   \
        s += product;                                                                               \
    }
#else
#define DOT_OPS 2
#define DOT(s) s = s * a + b;
#endif

__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vi)))
__kernel void husk_bench_dot(__global int *out, int rounds, int a_, int b_)
{
    const vi a = (vi)(a_ + (int)get_local_id(0)), b = (vi)(b_);
    vi x0 = (vi)(0), x1 = (vi)(1), x2 = (vi)(2), x3 = (vi)(3), x4 = (vi)(4), x5 = (vi)(5);
    vi x6 = (vi)(6), x7 = (vi)(7), x8 = (vi)(8), x9 = (vi)(9), x10 = (vi)(10), x11 = (vi)(11);
    for (int i = 0; i < rounds; i++) {
#define DOTS \
        DOT(x0) DOT(x1) DOT(x2) DOT(x3) DOT(x4) DOT(x5) DOT(x6) DOT(x7) DOT(x8) DOT(x9) DOT(x10) DOT(x11)
        DOTS DOTS DOTS DOTS
    }
    const vi sum = ((x0 + x1) + (x2 + x3)) + ((x4 + x5) + (x6 + x7)) + ((x8 + x9) + (x10 + x11));
    vstore_vi(sum, get_global_id(0), out + 4);
    if (get_global_id(0) == 0)
        out[0] = DOT_OPS;
}

// Local memory: each group reads 8 KiB of its own again and again; what is done with it costs less than reading.
#define LOCAL_VECTORS (8192 / (4 * VW))
#define vload_local(i) tile[(i) & (LOCAL_VECTORS - 1)]
__attribute__((reqd_work_group_size(WG, 1, 1))) __attribute__((vec_type_hint(vi)))
__kernel void husk_bench_local(__global int *out, int rounds)
{
    __local vi tile[LOCAL_VECTORS];
    for (int i = get_local_id(0); i < LOCAL_VECTORS; i += WG)
        tile[i] = (vi)(i * 0x01000193);
    barrier(CLK_LOCAL_MEM_FENCE);
    vi seen0 = (vi)(0), seen1 = (vi)(0), seen2 = (vi)(0), seen3 = (vi)(0);
    for (int round = 0; round < rounds; round++) {
        const int first = (int)get_local_id(0) + round;
        for (int i = 0; i < LOCAL_VECTORS / WG; i += 4) {
            seen0 ^= vload_local(first + i * WG);
            seen1 ^= vload_local(first + (i + 1) * WG);
            seen2 ^= vload_local(first + (i + 2) * WG);
            seen3 ^= vload_local(first + (i + 3) * WG);
        }
    }
    vstore_vi(seen0 ^ (seen1 * 3) ^ (seen2 * 5) ^ (seen3 * 7), get_global_id(0), out);
}
