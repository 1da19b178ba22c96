// SPDX-License-Identifier: MIT
// The gradient of convolution by its data, and the transposed convolution, for GPUs: an implicit matrix product
// (arXiv 1410.0759) as conv_tiled.cl, with channels for its rows.
//
//   dx[channel][column] = sum over k of weights[k][channel] * dy[k][column]
//   column = (image, depth, row, column of dx), k = (filter, depth, row, column of the filter)
//
// A column meets dy where its index + pad - the filter element's is a multiple of the stride: the others are zeros that
// are multiplied all the same, which wastes the stride's share of the arithmetic. Weights come packed and padded by
// husk_conv_backward_data_tiled_pack, [group][k][channels rounded up to BLOCK_M].
//
//   BLOCK_M, BLOCK_N, BLOCK_K   the work-group's tile
//   ITEM_M, ITEM_N              a work-item's share of it, multiples of 4; the work-group has
//                               (BLOCK_N/ITEM_N) x (BLOCK_M/ITEM_M) work-items, at least BLOCK_K
#include "lib/fragment.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

// Elements of each local tile that one work-item fills.
#define FILL_W ((BLOCK_K * BLOCK_M + GROUP_ITEMS - 1) / GROUP_ITEMS)
#define FILL_Y ((BLOCK_K * BLOCK_N + GROUP_ITEMS - 1) / GROUP_ITEMS)

// What one k stands for.
struct tap {
    index_t offset;         // of its filter in dy
    int depth, row, column; // of the filter's element
};

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_backward_data_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                                   __global acc_t *restrict packed_base, long packed_offset, int filters,
                                   int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
                                   long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const index_t padded = (channels + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
    const index_t channel = get_global_id(0), k = get_global_id(1), group = get_global_id(2);
    const index_t depth = (index_t)filters * kernel_d * kernel_h * kernel_w;
    if (channel >= padded || k >= depth)
        return;
    const int s = k % kernel_w, h = k / kernel_w % kernel_h, d = k / kernel_w / kernel_h % kernel_d;
    const index_t filter = k / kernel_w / kernel_h / kernel_d;
    acc_t value = 0.0f;
    if (channel < channels)
        value = load_one(w_base, w_offset + (group * filters + filter) * w_stride_k + channel * w_stride_c +
                                     d * w_stride_d + h * w_stride_h + s * w_stride_w);
    packed_base[packed_offset + (group * depth + k) * padded + channel] = value;
}

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1)))
void husk_conv_backward_data_tiled(const __global data_t *restrict dy_base, long dy_offset,
                                   const __global acc_t *restrict w_base, long w_offset,
                                   const __global data_t *restrict bias_base, long bias_offset, int flags,
                                   __global data_t *restrict dx_base, long dx_offset, CONV_PARAMS, int accumulate,
                                   __global acc_t *restrict waiting_base, long waiting_offset, ACT_PARAMS)
{
    const int has_bias = flags & HAS_BIAS, units = UNITS(flags & WIDE_Y);
    dx_offset *= units;
    x_stride_n *= units;
    x_stride_c *= units;
    x_stride_d *= units;
    x_stride_h *= units;
    x_stride_w *= units;
    __local acc_t w_tile[2][BLOCK_K * A_PITCH];
    __local acc_t y_tile[2][BLOCK_K * B_PITCH];
    __local struct tap taps[2][BLOCK_K];

    const int group = get_group_id(2);
    const int item_n = get_local_id(0), item_m = get_local_id(1);
    const int item = item_m * ITEMS_N + item_n;
    const int first_channel = get_group_id(1) * BLOCK_M;
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t padded = (channels + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
    const index_t positions = (index_t)in_d * in_h * in_w;
    const index_t columns = batch * positions;
    const int depth = filters * kernel_d * kernel_h * kernel_w;
    const int blocks = (depth + BLOCK_K - 1) / BLOCK_K;

    const __global data_t *dy = dy_base + dy_offset + (index_t)group * filters * y_stride_c;
    const __global acc_t *w = w_base + w_offset + (index_t)group * depth * padded + first_channel;

    // The columns this work-item fills.
    index_t fill_offset[FILL_Y];
    int fill_depth[FILL_Y], fill_row[FILL_Y], fill_column[FILL_Y];
#pragma unroll
    for (int i = 0; i < FILL_Y; ++i) {
        const index_t column = first_column + (item + i * GROUP_ITEMS) % BLOCK_N;
        const index_t position = column % positions;
        fill_depth[i] = (int)(position / in_w / in_h) + pad_d;
        fill_row[i] = (int)(position / in_w % in_h) + pad_h;
        fill_column[i] = (int)(position % in_w) + pad_w;
        fill_offset[i] = column / positions * y_stride_n;
        if (column >= columns)
            fill_depth[i] = INT_MIN / 2; // never inside
    }

    fragment_acc acc;
    fragment_zero(&acc);

#define DECODE(block) \
    if (item < BLOCK_K) { \
        const int k = (block) * BLOCK_K + item; \
        struct tap t; \
        t.depth = k / kernel_w / kernel_h % kernel_d * dilation_d; \
        t.row = k / kernel_w % kernel_h * dilation_h; \
        t.column = k % kernel_w * dilation_w; \
        t.offset = (index_t)(k / kernel_w / kernel_h / kernel_d) * y_stride_c; \
        if (k >= depth) \
            t.depth = INT_MAX / 2; /* before every image */ \
        taps[(block) & 1][item] = t; \
    }

    // The next tiles, on their way from global to local memory.
    acc_t next_w[FILL_W], next_y[FILL_Y];
#define FETCH(block) \
    _Pragma("unroll") \
    for (int i = 0; i < FILL_W; ++i) { \
        const int at = item + i * GROUP_ITEMS, k = (block) * BLOCK_K + at / BLOCK_M; \
        next_w[i] = at < BLOCK_K * BLOCK_M && k < depth ? w[k * padded + at % BLOCK_M] : 0.0f; \
    } \
    _Pragma("unroll") \
    for (int i = 0; i < FILL_Y; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        next_y[i] = 0.0f; \
        if (at < BLOCK_K * BLOCK_N) { \
            const struct tap t = taps[(block) & 1][at / BLOCK_N]; \
            const int d = fill_depth[i] - t.depth, h = fill_row[i] - t.row, s = fill_column[i] - t.column; \
            const int od = d / stride_d, oh = h / stride_h, os = s / stride_w; \
            if (d >= 0 && h >= 0 && s >= 0 && od * stride_d == d && oh * stride_h == h && os * stride_w == s && \
                od < out_d && oh < out_h && os < out_w) \
                next_y[i] = load_one(dy, fill_offset[i] + t.offset + od * y_stride_d + oh * y_stride_h + \
                                             os * y_stride_w); \
        } \
    }
#define KEEP(block) \
    _Pragma("unroll") \
    for (int i = 0; i < FILL_W; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_M) \
            w_tile[(block) & 1][at / BLOCK_M * A_PITCH + at % BLOCK_M] = next_w[i]; \
    } \
    _Pragma("unroll") \
    for (int i = 0; i < FILL_Y; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_N) \
            y_tile[(block) & 1][at / BLOCK_N * B_PITCH + at % BLOCK_N] = next_y[i]; \
    }

    DECODE(0)
    DECODE(1)
    barrier(CLK_LOCAL_MEM_FENCE);
    FETCH(0)
    KEEP(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int block = 0; block < blocks; ++block) {
        if (block + 1 < blocks) {
            FETCH(block + 1)
        }
        fragment_multiply(&acc, w_tile[block & 1], y_tile[block & 1], item);
        if (block + 1 < blocks) {
            KEEP(block + 1)
        }
        // The table of block + 2 replaces that of block, which was last read before the last barrier.
        DECODE(block + 2)
        barrier(CLK_LOCAL_MEM_FENCE);
    }

#if defined(ACT_SMOOTH) && DATA_BYTES == 2
    // dx's elements, packed, in scratch memory.
    __global acc_t *waiting = waiting_base + waiting_offset;
#define WAITING_AT(column, channel) \
    (((column) / positions * groups * channels + (index_t)group * channels + (channel)) * positions + \
     (column) % positions)
#endif
    // Unrolled, so that the sums are indexed by constants and stay in registers.
#pragma unroll
    for (int j = 0; j < ITEM_N; ++j) {
        const index_t column = first_column + fragment_column(item, j);
        const index_t position = column % positions;
        __global data_t *dx = dx_base + dx_offset + column / positions * x_stride_n +
                              position / in_w / in_h * x_stride_d + position / in_w % in_h * x_stride_h +
                              position % in_w * x_stride_w + (index_t)group * channels * x_stride_c;
#pragma unroll
        for (int i = 0; i < ITEM_M; ++i) {
            const int channel = first_channel + fragment_row(item, i);
            acc_t value = fragment_value(&acc, i, j);
            if (column < columns && channel < channels) {
                if (has_bias)
                    value += bias_at(bias_base, bias_offset + group * channels + channel, flags);
#if defined(ACT_SMOOTH) && DATA_BYTES == 2 // dx is too narrow for what is not activated yet
                waiting[WAITING_AT(column, channel)] = value;
#else
#ifndef ACT_SMOOTH
                value = activate(value, ACT_ARGS);
#endif
                if (accumulate)
                    value += load_either(dx + channel * x_stride_c, units);
                store_either(dx + channel * x_stride_c, value, units);
#endif
            }
        }
    }
#ifdef ACT_SMOOTH
    // A second pass over the item's own elements, not unrolled: see conv_tiled.cl. Nothing is accumulated then.
#pragma unroll 1
    for (int at = 0; at < ITEM_M * ITEM_N; ++at) {
        const index_t column = first_column + fragment_column(item, at / ITEM_M);
        const int channel = first_channel + fragment_row(item, at % ITEM_M);
        if (column < columns && channel < channels) {
            const index_t position = column % positions;
            __global data_t *dx = dx_base + dx_offset + column / positions * x_stride_n +
                                  position / in_w / in_h * x_stride_d + position / in_w % in_h * x_stride_h +
                                  position % in_w * x_stride_w + ((index_t)group * channels + channel) * x_stride_c;
            #if DATA_BYTES == 2
            store_either(dx, activate(waiting[WAITING_AT(column, channel)], ACT_ARGS), units);
#else
            store_one(dx, 0, activate(load_one(dx, 0), ACT_ARGS));
#endif
        }
    }
#endif
}
