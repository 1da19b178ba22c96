// SPDX-License-Identifier: MIT
// Matrix times few vectors, for CPU devices: out = act(alpha * W * V + beta * out + bias), where W is
// [rows, k] and V is [k, count] with a small count (1..16). It is GEMM with small n (W = op(A), V = op(B)),
// or with small m (W = op(B) transposed, V = op(A) transposed); the strides say which.
//
// W is read once, in the order in which it lies in memory; that is all there is to it, since each of its
// elements is used only count times. Work-group x, a single work-item, does group_rows rows, matrix y.
//   husk_gemm_skinny_dot    W's k steps lie side by side: sums along k in vectors, 4 rows by 4 vectors of
//                           V at a time, then across the lanes
//   husk_gemm_skinny_axpy   W's rows lie side by side: 8 k steps at a time are added to sums in the
//                           first-level cache
//
//   -DVW           see lib/vector.clh
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/inline.clh"
#include "lib/vector.clh"
#include "lib/activation.clh"
#include "lib/gemm.clh"

// V is copied in blocks of at most this many elements, sums are kept for as many.
#define BLOCK 32768
#define MAX_COUNT 16
#define WAITING 8192
// k steps the axpy kernel adds at once.
#define AXPY_STEPS 8
// Elements that W is asked for ahead where four of its rows are read at once. One row, and the eight k steps of the
// axpy kernel, arrive faster when only the hardware asks.
#define DOT_AHEAD 128

#define REPEAT_4(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define REPEAT_8(STEP) REPEAT_4(STEP) STEP(4) STEP(5) STEP(6) STEP(7)

inline float sum_lanes(vf v)
{
#if VW == 16
    const float8 a = v.lo + v.hi;
    const float4 b = a.lo + a.hi;
#elif VW == 8
    const float4 b = v.lo + v.hi;
#else
    const float4 b = v;
#endif
    const float2 c = b.lo + b.hi;
    return c.x + c.y;
}

// What every kernel here is told; bias_row and bias_vector are strides, one of them 0.
#define SKINNY_PARAMS \
    const __global data_t *restrict w_base, long w_offset, long w_row, long w_step, long w_batch, \
        const __global data_t *restrict v_base, long v_offset, long v_step, long v_vector, long v_batch, \
        const __global data_t *restrict bias_base, long bias_offset, long bias_row, long bias_vector, \
        int has_bias, __global data_t *restrict out_base, long out_offset, long out_row, long out_vector, \
        long out_batch, int wide, int rows, int count, int k, int group_rows, float alpha, float beta, ACT_PARAMS

// C and bias may be f32 beside narrower factors: their strides are scaled once.
#define SCALE_UNITS \
    const int out_units = UNITS(wide & WIDE_C), bias_units = UNITS(wide & WIDE_BIAS); \
    out_offset *= out_units; \
    out_row *= out_units; \
    out_vector *= out_units; \
    out_batch *= out_units; \
    bias_offset *= bias_units; \
    bias_row *= bias_units; \
    bias_vector *= bias_units;

// The last step for one element. scale 0 means that the element must not be read.
inline void finish(__global data_t *out, int units, float sum, float alpha, float scale, float bias, int last,
                   ACT_PARAMS)
{
    float value = alpha * sum + bias;
    if (scale != 0.0f)
        value = MAD(scale, load_either(out, units), value);
    store_either(out, last ? activate(value, ACT_ARGS) : value, units);
}

// row_count x vector_count sums over steps, added to sums[row * MAX_COUNT + vector]; both counts are
// constants. V lies as v[vector * v_row + step], filled up with zeros to a multiple of VW.
ALWAYS_INLINE void dot_tile(float *sums, int row_count, int vector_count, const __global data_t *w, long w_row,
                            const acc_t *v, int v_row, int steps)
{
    vf acc[16];
    const vf zero = (vf)(0.0f);
#define EACH_VECTOR(row, STEP) \
    STEP(row, 0) \
    if (vector_count > 1) { STEP(row, 1) STEP(row, 2) STEP(row, 3) }
#define EACH(STEP) \
    EACH_VECTOR(0, STEP) \
    if (row_count > 1) { EACH_VECTOR(1, STEP) EACH_VECTOR(2, STEP) EACH_VECTOR(3, STEP) }
#define ZERO(i, j) acc[(i) * 4 + (j)] = zero;
#define MULTIPLY(i, j) acc[(i) * 4 + (j)] = MAD(w##i, v##j, acc[(i) * 4 + (j)]);
#define SUM(i, j) sums[(i) * MAX_COUNT + (j)] += sum_lanes(acc[(i) * 4 + (j)]);
#define DOT_STEP(LOAD) \
    { \
        const vf v0 = load_private(v + p); \
        const vf v1 = vector_count > 1 ? load_private(v + v_row + p) : zero; \
        const vf v2 = vector_count > 1 ? load_private(v + 2 * v_row + p) : zero; \
        const vf v3 = vector_count > 1 ? load_private(v + 3 * v_row + p) : zero; \
        if (row_count > 1) { \
            PREFETCH_READ(w + p + DOT_AHEAD); \
            PREFETCH_READ(w + w_row + p + DOT_AHEAD); \
            PREFETCH_READ(w + 2 * w_row + p + DOT_AHEAD); \
            PREFETCH_READ(w + 3 * w_row + p + DOT_AHEAD); \
        } \
        const vf w0 = LOAD(w + p); \
        const vf w1 = row_count > 1 ? LOAD(w + w_row + p) : zero; \
        const vf w2 = row_count > 1 ? LOAD(w + 2 * w_row + p) : zero; \
        const vf w3 = row_count > 1 ? LOAD(w + 3 * w_row + p) : zero; \
        EACH(MULTIPLY) \
    }
#define LOAD_PART(from) load_vf_part(from, steps - p)
    EACH(ZERO)
    int p = 0;
    for (; p + VW <= steps; p += VW)
        DOT_STEP(load_vf)
    if (p < steps)
        DOT_STEP(LOAD_PART)
    EACH(SUM)
}

// One row by one vector: eight sums take turns, as one has to wait for the addition before.
ALWAYS_INLINE float dot_line(const __global data_t *w, const acc_t *v, int steps)
{
    const vf zero = (vf)(0.0f);
    vf acc[8];
    int p = 0;
#define ZERO_ONE(i) acc[i] = zero;
#define MULTIPLY_ONE(i) acc[i] = MAD(load_vf(w + p + (i) * VW), load_private(v + p + (i) * VW), acc[i]);
    REPEAT_8(ZERO_ONE)
    for (; p + 8 * VW <= steps; p += 8 * VW) {
        REPEAT_8(MULTIPLY_ONE)
    }
    for (; p < steps; p += VW)
        acc[0] = MAD(load_vf_part(w + p, steps - p), load_private(v + p), acc[0]);
#undef MULTIPLY_ONE
#undef ZERO_ONE
    return sum_lanes(((acc[0] + acc[1]) + (acc[2] + acc[3])) + ((acc[4] + acc[5]) + (acc[6] + acc[7])));
}

__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_skinny_dot(SKINNY_PARAMS)
{
    ONE_ITEM();
    SCALE_UNITS
    const long matrix = get_group_id(1);
    const __global data_t *w = w_base + w_offset + matrix * w_batch;
    const __global data_t *v = v_base + v_offset + matrix * v_batch;
    const __global data_t *bias = bias_base + bias_offset;
    __global data_t *out = out_base + out_offset + matrix * out_batch;
    const int begin = get_group_id(0) * group_rows;
    const int end = END_OF_SHARE(begin, group_rows, rows);

    acc_t lines[BLOCK] __attribute__((aligned(64)));
    // As many steps as V's block holds; the rows are VW further apart, as a power of two would put them all in one set
    // of the cache.
    const int block_steps = count == 1 ? BLOCK : (BLOCK / count - VW) / VW * VW;
    const int line_row = min((k + VW - 1) / VW * VW, block_steps) + VW;
    const int at_once = count > 1 ? 4 : 1; // rows
#if DATA_BYTES == 2
    // C is too narrow for sums that wait for the next block: they wait here, of as many rows as there is room for.
    acc_t waiting[WAITING];
    const int strip_rows = k <= block_steps ? max(rows, 1) : WAITING / count / 4 * 4;
#else
    const int strip_rows = max(rows, 1);
#endif
    for (int strip = begin, strip_end; strip < end; strip = strip_end) {
        strip_end = END_OF_SHARE(strip, strip_rows, end);
        int block = 0;
        do { // once even where k is 0
            const int steps = min(k - block, block_steps);
            const int last = block + steps == k;
            for (int j = 0; j < count; ++j) {
                for (int p = 0; p < steps; ++p)
                    lines[j * line_row + p] = load_one(v, (block + p) * v_step + j * v_vector);
                for (int p = steps; p % VW != 0; ++p)
                    lines[j * line_row + p] = 0.0f;
            }
            for (int row = strip; row < strip_end;) {
                const int taken = strip_end - row >= at_once ? at_once : 1;
                const __global data_t *from = w + row * w_row + block;
                float sums[4 * MAX_COUNT];
                for (int i = 0; i < 4 * MAX_COUNT; ++i)
                    sums[i] = 0.0f;
                int j = 0;
                for (; j + 4 <= count; j += 4)
                    if (taken == 4)
                        dot_tile(sums + j, 4, 4, from, w_row, lines + j * line_row, line_row, steps);
                    else
                        dot_tile(sums + j, 1, 4, from, w_row, lines + j * line_row, line_row, steps);
                for (; j < count; ++j)
                    if (taken == 4)
                        dot_tile(sums + j, 4, 1, from, w_row, lines + j * line_row, line_row, steps);
                    else
                        sums[j] = dot_line(from, lines + j * line_row, steps);
#if DATA_BYTES == 2
                const float scale = beta;
                acc_t *before = waiting + (row - strip) * count;
                for (int i = 0; block > 0 && i < taken * count; ++i)
                    sums[i / count * MAX_COUNT + i % count] += before[i];
                for (int i = 0; !last && i < taken * count; ++i)
                    before[i] = sums[i / count * MAX_COUNT + i % count];
#else
                const float scale = block == 0 ? beta : 1.0f;
#endif
                for (int i = 0; (DATA_BYTES == 4 || last) && i < taken; ++i)
                    for (j = 0; j < count; ++j) {
                        const float add = has_bias && last
                                              ? load_either(bias + (row + i) * bias_row + j * bias_vector, bias_units)
                                              : 0.0f;
                        finish(out + (row + i) * out_row + j * out_vector, out_units, sums[i * MAX_COUNT + j], alpha,
                               scale, add, last, ACT_ARGS);
                    }
                row += taken;
            }
            block += steps;
        } while (block < k);
    }
}

// Adds up to AXPY_STEPS k steps to the sums of one vector of rows, for every vector of V.
// Coefficient (step, vector) is v[vector * AXPY_STEPS + step].
ALWAYS_INLINE void axpy_tile(acc_t *sums, int stride, const __global data_t *w, long w_step, int lanes,
                             int count, const acc_t *v)
{
#define LINE(p) \
    const vf w##p = lanes == VW ? load_vf(w + (p) * w_step) : load_vf_part(w + (p) * w_step, lanes);
    LINE(0) LINE(1) LINE(2) LINE(3) LINE(4) LINE(5) LINE(6) LINE(7)
    for (int j = 0; j < count; ++j, v += AXPY_STEPS, sums += stride) {
        vf even = load_private(sums);
        vf odd = w1 * v[1];
        even = MAD(w0, (vf)(v[0]), even);
        odd = MAD(w3, (vf)(v[3]), odd);
        even = MAD(w2, (vf)(v[2]), even);
        odd = MAD(w5, (vf)(v[5]), odd);
        even = MAD(w4, (vf)(v[4]), even);
        odd = MAD(w7, (vf)(v[7]), odd);
        even = MAD(w6, (vf)(v[6]), even);
        store_private(even + odd, sums);
    }
}

ALWAYS_INLINE void axpy_rest(acc_t *sums, int stride, const __global data_t *w, int lanes, int count,
                             const acc_t *v)
{
    const vf line = load_vf_part(w, lanes);
    for (int j = 0; j < count; ++j)
        store_private(MAD(line, (vf)(v[j * AXPY_STEPS]), load_private(sums + j * stride)), sums + j * stride);
}

__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_skinny_axpy(SKINNY_PARAMS)
{
    ONE_ITEM();
    SCALE_UNITS
    const long matrix = get_group_id(1);
    const __global data_t *w = w_base + w_offset + matrix * w_batch;
    const __global data_t *v = v_base + v_offset + matrix * v_batch;
    const __global data_t *bias = bias_base + bias_offset;
    __global data_t *out = out_base + out_offset + matrix * out_batch;
    const int begin = get_group_id(0) * group_rows;
    const int end = END_OF_SHARE(begin, group_rows, rows);

    acc_t sums[BLOCK / 2] __attribute__((aligned(64)));
    // The sums of a strip of rows, for all vectors, fit the first-level cache.
    const int strip_rows = min(BLOCK / 4 / count / VW * VW, 4096);
    for (int strip = begin, strip_end; strip < end; strip = strip_end) {
        strip_end = END_OF_SHARE(strip, strip_rows, end);
        for (int i = 0; i < strip_rows * count; i += VW)
            store_private((vf)(0.0f), sums + i);
        for (int p = 0; p < k;) {
            acc_t coefficients[MAX_COUNT * AXPY_STEPS];
            const int steps = min(k - p, AXPY_STEPS);
            for (int j = 0; j < count; ++j)
                for (int q = 0; q < steps; ++q)
                    coefficients[j * AXPY_STEPS + q] = load_one(v, (p + q) * v_step + j * v_vector);
            if (steps == AXPY_STEPS) {
                const __global data_t *from = w + p * w_step + strip;
                int i = 0;
                for (; i + VW <= strip_end - strip; i += VW)
                    axpy_tile(sums + i, strip_rows, from + i, w_step, VW, count, coefficients);
                if (i < strip_end - strip)
                    axpy_tile(sums + i, strip_rows, from + i, w_step, strip_end - strip - i, count,
                              coefficients);
                p += AXPY_STEPS;
            } else {
                for (int i = 0; i < strip_end - strip; i += VW)
                    axpy_rest(sums + i, strip_rows, w + p * w_step + strip + i, strip_end - strip - i, count,
                              coefficients);
                p += 1;
            }
        }
        for (int row = strip; row < strip_end; ++row)
            for (int j = 0; j < count; ++j)
                finish(out + row * out_row + j * out_vector, out_units, sums[j * strip_rows + row - strip], alpha, beta,
                       has_bias ? load_either(bias + row * bias_row + j * bias_vector, bias_units) : 0.0f, 1,
                       ACT_ARGS);
    }
}
