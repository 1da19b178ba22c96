// SPDX-License-Identifier: MIT
// Pooling for CPU devices where channels are neighbours in memory (channels last): one work-item per
// work-group, vectors across channels.
//
// A unit of work is one output position and up to 8 vectors of channels: for every element of the window
// those vectors are combined in registers. Maxima are taken by one instruction, which may lose a NaN; the sum of
// all elements shows whether there was one, and then they are taken again with more care.
//
//   husk_pool_channels_max, husk_pool_channels_avg, husk_pool_channels_max_indices
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_vector.clh"

#define UNIT 8 // vectors

// DO(0) DO(1) ... written out: in a loop, some compilers would keep the vectors in memory.
#define EACH_OF_1(DO) DO(0)
#define EACH_OF_4(DO) DO(0) DO(1) DO(2) DO(3)
#define EACH_OF_8(DO) EACH_OF_4(DO) DO(4) DO(5) DO(6) DO(7)

#define START(v) \
    vf best##v = (vf)(mode == POOL_AVG ? 0.0f : -INFINITY), total##v = (vf)(0.0f); \
    vi position##v = (vi)(-1);

#define TAKE(v) \
    { \
        const vf value = n == VW ? load_vf(element + v * VW) : load_vf_part(element + v * VW, n); \
        if (mode == POOL_AVG) \
            best##v += value; \
        else if (mode == POOL_MAX && exact) \
            best##v = max_or_nan(value, best##v); \
        else if (mode == POOL_MAX) { \
            best##v = max_vf(value, best##v); \
            total##v += value; \
        } else \
            take_next(value, (vi)(here), &best##v, &position##v); \
    }

#define FLUSH(v) \
    total##v += best##v; \
    best##v = (vf)(0.0f);

#define SEE_NAN(v) has_nan |= total##v != total##v;

#define FINISH(v) \
    store_vf_part(mode == POOL_AVG ? (total##v + best##v) * scale : best##v, y + v * VW, n); \
    if (mode == POOL_MAX_INDICES) \
        store_positions(position##v, n, indices_base, indices_are_long, \
                        indices_at + v * VW * indices_stride_c, indices_stride_c);

// One output position and the vectors of channels that EACH names, of n channels each. False, with nothing stored,
// where there may be a NaN, unless `exact`.
#define POOL_POSITION(name, EACH) \
    POOL_INLINE bool name(int mode, bool exact, int n, const __global data_t *x, __global data_t *y, int d, int h, \
                          int w, long indices_at, POOL_PARAMS, INDICES_PARAMS) \
    { \
        EACH(START) \
        int summed = 0; \
        const int last_d = window_last(d, window_d, dilation_d, in_d); \
        const int last_h = window_last(h, window_h, dilation_h, in_h); \
        const int last_w = window_last(w, window_w, dilation_w, in_w); \
        const int first_w = window_first(w, dilation_w); \
        for (int i = window_first(d, dilation_d); i < last_d; ++i) { \
            const int z = d + i * dilation_d; \
            for (int j = window_first(h, dilation_h); j < last_h; ++j) { \
                const int row = h + j * dilation_h; \
                int here = (z * in_h + row) * in_w + w + first_w * dilation_w; \
                const __global data_t *element = x + z * x_stride_d + row * x_stride_h + \
                                                 (w + first_w * dilation_w) * x_stride_w; \
                for (int k = first_w; k < last_w; ++k) { \
                    EACH(TAKE) \
                    element += dilation_w * x_stride_w; \
                    here += dilation_w; \
                    if (mode == POOL_AVG && ++summed == sum_block) { \
                        summed = 0; \
                        EACH(FLUSH) \
                    } \
                } \
            } \
        } \
        if (mode == POOL_MAX && !exact) { \
            vi has_nan = (vi)(0); \
            EACH(SEE_NAN) \
            if (any(has_nan)) \
                return false; \
        } \
        const acc_t count = (acc_t)window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) * \
                            (acc_t)window_count(h, window_h, dilation_h, in_h, limit_h, count_pad) * \
                            (acc_t)window_count(w, window_w, dilation_w, in_w, limit_w, count_pad); \
        const vf scale = (vf)(count > 0.0f ? 1.0f / count : 0.0f); \
        EACH(FINISH) \
        return true; \
    }

POOL_POSITION(pool_1_vector, EACH_OF_1)
POOL_POSITION(pool_4_vectors, EACH_OF_4)
POOL_POSITION(pool_8_vectors, EACH_OF_8)

// share: units a work-group takes.
POOL_INLINE void pool_channels(int mode, POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    const int channel_blocks = (channels + UNIT * VW - 1) / (UNIT * VW);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);

    long rest = first;
    int block = split(&rest, channel_blocks);
    output_position to;
    to.c = 0;
    to.w = split(&rest, out_w);
    to.h = split(&rest, out_h);
    to.d = split(&rest, out_d);
    to.n = (int)rest;
    for (long unit = first; unit < last; ++unit) {
        const int c = block * UNIT * VW;
        const int d = to.d * stride_d - pad_d;
        const int h = to.h * stride_h - pad_h;
        const int w = to.w * stride_w - pad_w;
        const __global data_t *x = x_base + x_offset + to.n * x_stride_n + c;
        __global data_t *y = y_base + y_offset + to.n * y_stride_n + c + to.d * y_stride_d +
                             to.h * y_stride_h + to.w * y_stride_w;
        const long at = indices_offset + to.n * indices_stride_n + c * indices_stride_c +
                        to.d * indices_stride_d + to.h * indices_stride_h + to.w * indices_stride_w;
        const int left = min(channels - c, UNIT * VW);
#define POSITION_BY(name, n, v) \
    if (!name(mode, false, n, x + (v), y + (v), d, h, w, at + (v) * indices_stride_c, POOL_ARGS, INDICES_ARGS)) \
        name(mode, true, n, x + (v), y + (v), d, h, w, at + (v) * indices_stride_c, POOL_ARGS, INDICES_ARGS)
        int v = 0;
        if (left == UNIT * VW) {
            POSITION_BY(pool_8_vectors, VW, 0);
            v = left;
        } else if (left >= 4 * VW) {
            POSITION_BY(pool_4_vectors, VW, 0);
            v = 4 * VW;
        }
        for (; v < left; v += VW)
            POSITION_BY(pool_1_vector, min(VW, left - v), v);
#undef POSITION_BY
        if (++block == channel_blocks) {
            block = 0;
            next_output(&to, 1, out_d, out_h, out_w);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_max(POOL_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_channels(POOL_MAX, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_avg(POOL_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_channels(POOL_AVG, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_max_indices(POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_channels(POOL_MAX_INDICES, POOL_ARGS, INDICES_ARGS, unit_count, share);
}
