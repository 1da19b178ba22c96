// SPDX-License-Identifier: MIT
// The gradient of pooling with a work-item an element of dx: for GPUs, and for whatever no other variant takes.
//
// Each element adds up what the outputs under whose windows it lies have for it, in ascending order: a share of an
// average, or dy where it was the maximum. So nothing is added atomically, and the result is the same in every run.
// Elements are numbered with the width fastest, or, where memory is channels last, with the channels fastest.
//
//   husk_pool_backward_direct_max, husk_pool_backward_direct_avg
//
//   -DWG=64|256   work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64    some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/pool_backward.clh"
#include "lib/long_sum.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// Splits a number: returns the remainder, leaves the quotient.
POOL_INLINE int split(index_t *number, int extent)
{
    const index_t quotient = *number / extent;
    const int remainder = (int)(*number - quotient * extent);
    *number = quotient;
    return remainder;
}

POOL_INLINE void pool_backward_direct(int mode, int channels_fastest, POOL_BACKWARD_PARAMS, SAVED_PARAMS)
{
    const index_t total = (index_t)batch * channels * in_d * in_h * in_w;
    const index_t grid = (index_t)get_global_size(0);

    for (index_t element = (index_t)get_global_id(0); element < total; element += grid) {
        index_t rest = element;
        int c = channels_fastest ? split(&rest, channels) : 0;
        const int w = split(&rest, in_w);
        const int h = split(&rest, in_h);
        const int d = split(&rest, in_d);
        if (!channels_fastest)
            c = split(&rest, channels);
        const int n = (int)rest;
        const long position = ((long)d * in_h + h) * in_w + w;
        const __global data_t *dy = y_base + y_offset + n * y_stride_n + c * y_stride_c;
        const long indices = indices_offset + n * indices_stride_n + c * indices_stride_c;
        const int last_d = cover_last(d + pad_d, stride_d, out_d);
        const int last_h = cover_last(h + pad_h, stride_h, out_h);
        const int last_w = cover_last(w + pad_w, stride_w, out_w);

        LONG_SUM(all);
        acc_t run = 0.0f;
        int summed = 0;
        for (int od = cover_first(d + pad_d, window_d, stride_d, dilation_d); od < last_d; ++od) {
            if (!covers(d + pad_d - od * stride_d, dilation_d))
                continue;
            const acc_t scale_d = mode == POOL_AVG ? cover_scale(od, window_d, stride_d, pad_d, dilation_d, in_d,
                                                                 limit_d, count_pad) : 1.0f;
            for (int oh = cover_first(h + pad_h, window_h, stride_h, dilation_h); oh < last_h; ++oh) {
                if (!covers(h + pad_h - oh * stride_h, dilation_h))
                    continue;
                const acc_t scale_h = mode == POOL_AVG ? scale_d * cover_scale(oh, window_h, stride_h, pad_h,
                                                                               dilation_h, in_h, limit_h, count_pad)
                                                       : 1.0f;
                const long row = od * y_stride_d + oh * y_stride_h;
                const long indices_row = indices + od * indices_stride_d + oh * indices_stride_h;
                for (int ow = cover_first(w + pad_w, window_w, stride_w, dilation_w); ow < last_w; ++ow) {
                    if (!covers(w + pad_w - ow * stride_w, dilation_w))
                        continue;
                    if (mode == POOL_AVG)
                        run += load_one(dy, row + ow * y_stride_w) *
                               (scale_h * cover_scale(ow, window_w, stride_w, pad_w, dilation_w, in_w, limit_w,
                                                      count_pad));
                    else if (load_position(indices_base, indices_are_long, indices_row + ow * indices_stride_w) ==
                             position)
                        run += load_one(dy, row + ow * y_stride_w);
                    if (++summed == LONG_SUM_RUN) {
                        LONG_SUM_ADD(all, run);
                        run = 0.0f;
                        summed = 0;
                    }
                }
            }
        }
        LONG_SUM_ADD(all, run);
        const acc_t sum = LONG_SUM_TOTAL(all);
        __global data_t *dx = x_base + x_offset + n * x_stride_n + c * x_stride_c;
        const long at = d * x_stride_d + h * x_stride_h + w * x_stride_w;
        store_one(dx, at, accumulate ? load_one(dx, at) + sum : sum);
    }
}

// registers husk_pool_backward_direct_max: nvidia 64, amd 64
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pool_backward_direct_max(POOL_BACKWARD_PARAMS, SAVED_PARAMS, int channels_fastest)
{
    pool_backward_direct(POOL_MAX, channels_fastest, POOL_BACKWARD_ARGS, INDICES_ARGS);
}

// registers husk_pool_backward_direct_avg: nvidia 64, amd 64
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pool_backward_direct_avg(POOL_BACKWARD_PARAMS, int channels_fastest)
{
    pool_backward_direct(POOL_AVG, channels_fastest, POOL_BACKWARD_ARGS, NO_INDICES_ARGS);
}
