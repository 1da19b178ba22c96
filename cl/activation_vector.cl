// SPDX-License-Identifier: MIT
// Activations for CPU devices: one work-item per work-group, explicit vectors.
//
// A work-group takes an equal share of the elements. Packed tensors are one row cut into blocks; strided
// ones are rows of which the elements at stride 1 go by vectors, others through a private block. Bound by
// memory for the piecewise linear kinds, by the polynomials (10 to 25 operations a vector) in cache
// for the others.
//
//   -DVW=4|8|16     floats a vector holds
//   -DACT_SMOOTH    the transcendental kinds; without it the piecewise linear ones alone
#include "lib/vector.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/strided.clh"

#define BLOCK 512 // elements of a strided row treated at a time

// Inlined with a literal kind, each call compiles to one kind's arithmetic; as functions with the kind at run
// time they would choose, and spill, at every vector.
#define ALWAYS_INLINE __attribute__((always_inline)) inline

// The part of a row from its first whole vector of y on; returns where it ended.
ALWAYS_INLINE long activate_stream(const __global data_t *x, __global data_t *y, long count, ACT_PARAMS)
{
    const long before = (long)(-((ulong)y / DATA_BYTES) % VW);
    long i = min(before, count);
    if (i > 0)
        store_vf_part(activate(load_vf_part(x, (int)i), ACT_ARGS), y, (int)i);
    for (; i + 4 * VW <= count; i += 4 * VW) {
        const vf v0 = activate(load_vf(x + i), ACT_ARGS);
        const vf v1 = activate(load_vf(x + i + VW), ACT_ARGS);
        const vf v2 = activate(load_vf(x + i + 2 * VW), ACT_ARGS);
        const vf v3 = activate(load_vf(x + i + 3 * VW), ACT_ARGS);
        STREAM_VF(v0, y + i);
        STREAM_VF(v1, y + i + VW);
        STREAM_VF(v2, y + i + 2 * VW);
        STREAM_VF(v3, y + i + 3 * VW);
    }
    END_STREAM();
    return i;
}

ALWAYS_INLINE void activate_packed(const __global data_t *x, __global data_t *y, long count, int streams,
                                   ACT_PARAMS)
{
    long i = 0;
    if (streams)
        i = activate_stream(x, y, count, ACT_ARGS);
    for (; i + 4 * VW <= count; i += 4 * VW) {
        const vf v0 = activate(load_vf(x + i), ACT_ARGS);
        const vf v1 = activate(load_vf(x + i + VW), ACT_ARGS);
        const vf v2 = activate(load_vf(x + i + 2 * VW), ACT_ARGS);
        const vf v3 = activate(load_vf(x + i + 3 * VW), ACT_ARGS);
        store_vf(v0, y + i);
        store_vf(v1, y + i + VW);
        store_vf(v2, y + i + 2 * VW);
        store_vf(v3, y + i + 3 * VW);
    }
    for (; i < count; i += VW) {
        const int lanes = (int)min((long)VW, count - i);
        store_vf_part(activate(load_vf_part(x + i, lanes), ACT_ARGS), y + i, lanes);
    }
}

ALWAYS_INLINE void activate_strided(const __global data_t *x, long x_stride, __global data_t *y,
                                    long y_stride, long count, ACT_PARAMS)
{
    acc_t block[BLOCK];
    for (long i = 0; i < count; i += BLOCK) {
        const int length = (int)min((long)BLOCK, count - i);
        for (int j = 0; j < length; ++j)
            block[j] = load_one(x, (i + j) * x_stride);
        for (int j = length; j % VW != 0; ++j)
            block[j] = 0.0f;
        for (int j = 0; j < length; j += VW)
            store_private(activate(load_private(block + j), ACT_ARGS), block + j);
        for (int j = 0; j < length; ++j)
            store_one(y, (i + j) * y_stride, block[j]);
    }
}

// Elements first .. last-1 of `count * rows` ones, row by row.
ALWAYS_INLINE void activate_share(const __global data_t *x, long x_stride, __global data_t *y,
                                  long y_stride, long count, long first, long last, int streams,
                                  strided_rows *rows, ACT_PARAMS)
{
    long column = first % count;
    strided_seek(rows, first / count);
    while (first < last) {
        const long length = min(count - column, last - first);
        const __global data_t *x_row = x + rows->x + column * x_stride;
        __global data_t *y_row = y + rows->y + column * y_stride;
        if (x_stride == 1 && y_stride == 1)
            activate_packed(x_row, y_row, length, streams, ACT_ARGS);
        else
            activate_strided(x_row, x_stride, y_row, y_stride, length, ACT_ARGS);
        first += length;
        column = 0;
        strided_next(rows);
    }
}

// y may be x. share: elements a work-group takes, a multiple of VW. streams: y is not to pass through the caches.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_activation_vector(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                            long y_offset, STRIDED_PARAMS, long count, long x_stride, long y_stride,
                            long total, long share, int streams, ACT_PARAMS)
{
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    STRIDED_ROWS(rows);

#define SHARE(kind) \
    activate_share(x, x_stride, y, y_stride, count, first, last, streams, &rows, kind, act_low, act_slope, act_high)
#ifdef ACT_SMOOTH
    switch (act_kind) {
    case ACT_GELU:
        SHARE(ACT_GELU);
        return;
    case ACT_GELU_TANH:
        SHARE(ACT_GELU_TANH);
        return;
    case ACT_SILU:
        SHARE(ACT_SILU);
        return;
    case ACT_SIGMOID:
        SHARE(ACT_SIGMOID);
        return;
    case ACT_TANH:
        SHARE(ACT_TANH);
        return;
    default:
        break;
    }
#endif
    SHARE(ACT_NONE);
}
