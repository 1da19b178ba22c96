// SPDX-License-Identifier: MIT
// Pooling for CPU devices where channels are neighbours in memory (channels last): one work-item per
// work-group, vectors across channels.
//
// A unit of work is one output position and up to 4 vectors of channels: for every element of the window
// those vectors are combined in registers.
//
//   husk_pool_channels_max, husk_pool_channels_avg, husk_pool_channels_max_indices
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_vector.clh"

#define UNIT 4 // vectors

// One output position and `vectors` vectors of channels (a literal), of which the last holds n channels.
POOL_INLINE void pool_position(int mode, int vectors, int n, const __global data_t *x, __global data_t *y,
                               int d, int h, int w, long indices_at, POOL_PARAMS, INDICES_PARAMS)
{
    vf best[UNIT], total[UNIT];
    vi position[UNIT];
    int summed = 0;
    for (int v = 0; v < vectors; ++v) {
        best[v] = (vf)(mode == POOL_AVG ? 0.0f : -INFINITY);
        total[v] = (vf)(0.0f);
        position[v] = (vi)(-1);
    }

    const int last_d = window_last(d, window_d, dilation_d, in_d);
    const int last_h = window_last(h, window_h, dilation_h, in_h);
    const int last_w = window_last(w, window_w, dilation_w, in_w);
    for (int i = window_first(d, dilation_d); i < last_d; ++i) {
        const int z = d + i * dilation_d;
        for (int j = window_first(h, dilation_h); j < last_h; ++j) {
            const int row = h + j * dilation_h;
            for (int k = window_first(w, dilation_w); k < last_w; ++k) {
                const int column = w + k * dilation_w;
                const __global data_t *element = x + z * x_stride_d + row * x_stride_h + column * x_stride_w;
                const int here = (z * in_h + row) * in_w + column;
                for (int v = 0; v < vectors; ++v) {
                    const vf value = v + 1 < vectors ? load_vf(element + v * VW) : load_vf_part(element + v * VW, n);
                    if (mode == POOL_AVG)
                        best[v] += value;
                    else if (mode == POOL_MAX)
                        best[v] = max_or_nan(value, best[v]);
                    else
                        take_next(value, (vi)(here), &best[v], &position[v]);
                }
                if (mode == POOL_AVG && ++summed == sum_block) {
                    summed = 0;
                    for (int v = 0; v < vectors; ++v) {
                        total[v] += best[v];
                        best[v] = (vf)(0.0f);
                    }
                }
            }
        }
    }

    const acc_t count = (acc_t)window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) *
                        (acc_t)window_count(h, window_h, dilation_h, in_h, limit_h, count_pad) *
                        (acc_t)window_count(w, window_w, dilation_w, in_w, limit_w, count_pad);
    const vf scale = (vf)(count > 0.0f ? 1.0f / count : 0.0f);
    for (int v = 0; v < vectors; ++v) {
        const int lanes = v + 1 < vectors ? VW : n;
        store_vf_part(mode == POOL_AVG ? (total[v] + best[v]) * scale : best[v], y + v * VW, lanes);
        if (mode == POOL_MAX_INDICES)
            store_positions(position[v], lanes, indices_base, indices_are_long,
                            indices_at + v * VW * indices_stride_c, indices_stride_c);
    }
}

// share: units a work-group takes.
POOL_INLINE void pool_channels(int mode, POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    const int channel_blocks = (channels + UNIT * VW - 1) / (UNIT * VW);
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);

    for (long unit = first; unit < last; ++unit) {
        long rest = unit;
        const int c = (int)(rest % channel_blocks) * UNIT * VW;
        rest /= channel_blocks;
        const int ow = (int)(rest % out_w);
        rest /= out_w;
        const int oh = (int)(rest % out_h);
        rest /= out_h;
        const int od = (int)(rest % out_d);
        const int n = (int)(rest / out_d);
        const int d = od * stride_d - pad_d;
        const int h = oh * stride_h - pad_h;
        const int w = ow * stride_w - pad_w;
        const __global data_t *x = x_base + x_offset + n * x_stride_n + c;
        __global data_t *y = y_base + y_offset + n * y_stride_n + c + od * y_stride_d + oh * y_stride_h +
                             ow * y_stride_w;
        const long at = indices_offset + n * indices_stride_n + c * indices_stride_c + od * indices_stride_d +
                        oh * indices_stride_h + ow * indices_stride_w;
        const int left = channels - c;
        if (left >= UNIT * VW) {
            pool_position(mode, UNIT, VW, x, y, d, h, w, at, POOL_ARGS, INDICES_ARGS);
            continue;
        }
        for (int v = 0; v < left; v += VW)
            pool_position(mode, 1, min(VW, left - v), x + v, y + v, d, h, w, at + v * indices_stride_c,
                          POOL_ARGS, INDICES_ARGS);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_max(POOL_PARAMS, long unit_count, long share)
{
    pool_channels(POOL_MAX, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_avg(POOL_PARAMS, long unit_count, long share)
{
    pool_channels(POOL_AVG, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_channels_max_indices(POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    pool_channels(POOL_MAX_INDICES, POOL_ARGS, INDICES_ARGS, unit_count, share);
}
