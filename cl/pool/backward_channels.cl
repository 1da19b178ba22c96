// SPDX-License-Identifier: MIT
// The gradient of pooling for CPU devices where channels are neighbours in memory (channels last): one work-item
// per work-group, vectors across channels.
//
// A unit of work is a row of dx and up to 8 vectors of channels. Every position of the row adds up, in registers,
// what the outputs under whose windows it lies have for it, in ascending order: a share of an average, or dy where
// it was the maximum. dx is written once.
//
//   husk_pool_backward_channels_max, husk_pool_backward_channels_avg
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_backward.clh"
#include "lib/pool_vector.clh"
#include "lib/long_sum.clh"

#define UNIT 8 // vectors

// DO(0) DO(1) ... written out: in a loop, some compilers would keep the vectors in memory.
#define EACH_OF_1(DO) DO(0)
#define EACH_OF_4(DO) DO(0) DO(1) DO(2) DO(3)
#define EACH_OF_8(DO) EACH_OF_4(DO) DO(4) DO(5) DO(6) DO(7)

// n positions of neighbouring channels; the others are none.
POOL_INLINE vi load_positions(const __global void *indices, int are_long, long at, long stride, int n)
{
    if (n == VW && !are_long && stride == 1)
        return convert_vi(LOAD_VECTOR(vint, __global, (const __global int *)indices + at));
    ACC_INT lanes[VW];
    for (int i = 0; i < VW; ++i)
        lanes[i] = i < n ? (int)load_position(indices, are_long, at + i * stride) : -1;
    return LOAD_PRIVATE(vi, lanes);
}

#define START(v) \
    vf sum##v = (vf)(0.0f); \
    LONG_SUM_VF(all##v);

#define FLUSH(v) \
    LONG_SUM_ADD_VF(all##v, sum##v); \
    sum##v = (vf)(0.0f);

#define TOTAL(v) \
    LONG_SUM_ADD_VF(all##v, sum##v); \
    sum##v = LONG_SUM_TOTAL_VF(all##v);

#define TAKE(v) \
    { \
        const vf value = n == VW ? load_vf(dy + v * VW) : load_vf_part(dy + v * VW, n); \
        if (mode == POOL_AVG) { \
            sum##v = MAD(value, (vf)(scale), sum##v); \
        } else { \
            const vi is_here = load_positions(indices_base, indices_are_long, at + v * VW * indices_stride_c, \
                                              indices_stride_c, n) == (vi)(position); \
            sum##v += is_here ? value : (vf)(0.0f); \
        } \
    }

#define FINISH(v) \
    { \
        if (accumulate) \
            sum##v += load_vf_part(dx + v * VW, n); \
        store_vf_part(sum##v, dx + v * VW, n); \
    }

// One position of dx and the vectors of channels that EACH names, of n channels each. y and indices lie at the first
// of the unit's channels.
#define GATHER(name, EACH) \
    POOL_INLINE void name(int mode, int n, int d, int h, int w, const __global data_t *y, long indices, \
                          __global data_t *dx, POOL_BACKWARD_PARAMS, SAVED_PARAMS) \
    { \
        EACH(START) \
        int summed = 0, runs = 0; \
        const int position = (d * in_h + h) * in_w + w; \
        const int last_d = cover_last(d + pad_d, stride_d, out_d); \
        const int first_h = cover_first(h + pad_h, window_h, stride_h, dilation_h); \
        const int last_h = cover_last(h + pad_h, stride_h, out_h); \
        const int first_w = cover_first(w + pad_w, window_w, stride_w, dilation_w); \
        const int last_w = cover_last(w + pad_w, stride_w, out_w); \
        for (int od = cover_first(d + pad_d, window_d, stride_d, dilation_d); od < last_d; ++od) { \
            if (!covers(d + pad_d - od * stride_d, dilation_d)) \
                continue; \
            const acc_t scale_d = mode == POOL_AVG ? cover_scale(od, window_d, stride_d, pad_d, dilation_d, in_d, \
                                                                 limit_d, count_pad) : 1.0f; \
            for (int oh = first_h; oh < last_h; ++oh) { \
                if (!covers(h + pad_h - oh * stride_h, dilation_h)) \
                    continue; \
                const acc_t scale_h = \
                    mode == POOL_AVG ? scale_d * cover_scale(oh, window_h, stride_h, pad_h, dilation_h, in_h, \
                                                             limit_h, count_pad) : 1.0f; \
                for (int ow = first_w; ow < last_w; ++ow) { \
                    if (!covers(w + pad_w - ow * stride_w, dilation_w)) \
                        continue; \
                    const acc_t scale = \
                        mode == POOL_AVG ? scale_h * cover_scale(ow, window_w, stride_w, pad_w, dilation_w, in_w, \
                                                                 limit_w, count_pad) : 1.0f; \
                    const __global data_t *dy = y + od * y_stride_d + oh * y_stride_h + ow * y_stride_w; \
                    const long at = indices + od * indices_stride_d + oh * indices_stride_h + ow * indices_stride_w; \
                    EACH(TAKE) \
                    if (++summed == LONG_SUM_RUN) { \
                        summed = 0; \
                        ++runs; \
                        EACH(FLUSH) \
                    } \
                } \
            } \
        } \
        if (runs > 0) { \
            EACH(TOTAL) \
        } \
        EACH(FINISH) \
    }

GATHER(gather_1_vector, EACH_OF_1)
GATHER(gather_4_vectors, EACH_OF_4)
GATHER(gather_8_vectors, EACH_OF_8)

// share: units a work-group takes.
POOL_INLINE void pool_backward_channels(int mode, POOL_BACKWARD_PARAMS, SAVED_PARAMS, long unit_count, long share)
{
    const int channel_blocks = (channels + UNIT * VW - 1) / (UNIT * VW);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    for (long unit = first; unit < last; ++unit) {
        long rest = unit;
        const int c = split(&rest, channel_blocks) * UNIT * VW;
        const int h = split(&rest, in_h);
        const int d = split(&rest, in_d);
        const int n = (int)rest;
        const __global data_t *y = y_base + y_offset + n * y_stride_n + c;
        const long at = indices_offset + n * indices_stride_n + c * indices_stride_c;
        __global data_t *row = x_base + x_offset + n * x_stride_n + c + d * x_stride_d + h * x_stride_h;
        const int left = min(channels - c, UNIT * VW);
        for (int w = 0; w < in_w; ++w, row += x_stride_w) {
#define GATHER_BY(name, n, v) \
    name(mode, n, d, h, w, y + (v), at + (v) * indices_stride_c, row + (v), POOL_BACKWARD_ARGS, INDICES_ARGS)
            int v = 0;
            if (left == UNIT * VW) {
                GATHER_BY(gather_8_vectors, VW, 0);
                v = left;
            } else if (left >= 4 * VW) {
                GATHER_BY(gather_4_vectors, VW, 0);
                v = 4 * VW;
            }
            for (; v < left; v += VW)
                GATHER_BY(gather_1_vector, min(VW, left - v), v);
#undef GATHER_BY
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_backward_channels_max(POOL_BACKWARD_PARAMS, SAVED_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_backward_channels(POOL_MAX, POOL_BACKWARD_ARGS, INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_backward_channels_avg(POOL_BACKWARD_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_backward_channels(POOL_AVG, POOL_BACKWARD_ARGS, NO_INDICES_ARGS, unit_count, share);
}
