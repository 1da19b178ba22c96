// SPDX-License-Identifier: MIT
// Pooling with a work-item an output: for GPUs, and for whatever no other variant takes.
//
// Work-item i computes outputs i, i + grid, i + 2 grid ... Outputs are numbered with the width fastest, or,
// where memory is channels last, with the channels fastest, so that neighbours read neighbouring elements.
//
//   husk_pool_direct_max, husk_pool_direct_avg, husk_pool_direct_max_indices
//
//   -DWG=64|256   work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64    some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/pool.clh"

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

POOL_INLINE void pool_direct(int mode, int channels_fastest, POOL_PARAMS, INDICES_PARAMS)
{
    const index_t total = (index_t)batch * channels * out_d * out_h * out_w;
    const index_t grid = (index_t)get_global_size(0);

    for (index_t output = (index_t)get_global_id(0); output < total; output += grid) {
        index_t rest = output;
        int c = channels_fastest ? split(&rest, channels) : 0;
        const int ow = split(&rest, out_w);
        const int oh = split(&rest, out_h);
        const int od = split(&rest, out_d);
        if (!channels_fastest)
            c = split(&rest, channels);
        const int n = (int)rest;
        const int d = od * stride_d - pad_d;
        const int h = oh * stride_h - pad_h;
        const int w = ow * stride_w - pad_w;
        const int last_d = window_last(d, window_d, dilation_d, in_d);
        const int last_h = window_last(h, window_h, dilation_h, in_h);
        const int last_w = window_last(w, window_w, dilation_w, in_w);
        const __global data_t *x = x_base + x_offset + n * x_stride_n + c * x_stride_c;

        acc_t best = -INFINITY;
        long position = -1;
        acc_t total_sum = 0.0f, sum = 0.0f;
        int summed = 0;
        for (int i = window_first(d, dilation_d); i < last_d; ++i) {
            const int z = d + i * dilation_d;
            for (int j = window_first(h, dilation_h); j < last_h; ++j) {
                const int row = h + j * dilation_h;
                const __global data_t *x_row = x + z * x_stride_d + row * x_stride_h;
                for (int k = window_first(w, dilation_w); k < last_w; ++k) {
                    const int column = w + k * dilation_w;
                    const acc_t v = load_one(x_row, column * x_stride_w);
                    if (mode == POOL_AVG) {
                        sum += v;
                        if (++summed == sum_block) {
                            total_sum += sum;
                            sum = 0.0f;
                            summed = 0;
                        }
                    } else if (v > best || (v != v && best == best) ||
                               (mode == POOL_MAX_INDICES && position < 0)) {
                        best = v;
                        position = ((long)z * in_h + row) * in_w + column;
                    }
                }
            }
        }

        __global data_t *y = y_base + y_offset + n * y_stride_n + c * y_stride_c + od * y_stride_d +
                             oh * y_stride_h + ow * y_stride_w;
        if (mode == POOL_AVG) {
            const acc_t count = (acc_t)window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) *
                                (acc_t)window_count(h, window_h, dilation_h, in_h, limit_h, count_pad) *
                                (acc_t)window_count(w, window_w, dilation_w, in_w, limit_w, count_pad);
            store_one(y, 0, count > 0.0f ? (total_sum + sum) / count : 0.0f);
        } else {
            store_one(y, 0, best);
        }
        if (mode == POOL_MAX_INDICES)
            store_position(indices_base, indices_are_long,
                           indices_offset + n * indices_stride_n + c * indices_stride_c +
                               od * indices_stride_d + oh * indices_stride_h + ow * indices_stride_w,
                           position);
    }
}

// registers husk_pool_direct_max: nvidia 56, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pool_direct_max(POOL_PARAMS, int channels_fastest)
{
    pool_direct(POOL_MAX, channels_fastest, POOL_ARGS, NO_INDICES_ARGS);
}

// registers husk_pool_direct_avg: nvidia 56, amd 56
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pool_direct_avg(POOL_PARAMS, int channels_fastest)
{
    pool_direct(POOL_AVG, channels_fastest, POOL_ARGS, NO_INDICES_ARGS);
}

// registers husk_pool_direct_max_indices: nvidia 64, amd 56
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pool_direct_max_indices(POOL_PARAMS, INDICES_PARAMS, int channels_fastest)
{
    pool_direct(POOL_MAX_INDICES, channels_fastest, POOL_ARGS, INDICES_ARGS);
}
