// SPDX-License-Identifier: MIT
// Implicit GEMM convolution for GPUs: work-groups share tiles of weights and patches in local memory
// (arXiv 1410.0759 for the method; the tiles follow the SIMT ladder of GEMM).
//
//   y[filter][column] = sum over k of weights[k][filter] * patch[k][column]
//   column = (image, depth, row, column of the output), k = (channel, depth, row, column of the filter)
//
// A work-group computes BLOCK_M filters x BLOCK_N columns, BLOCK_K of k at a time. Both local tiles exist
// twice, so that the next ones are filled while the present ones are multiplied: one barrier a block. What a
// k stands for (offset in the image, position in the filter) is decoded once a block, by BLOCK_K work-items
// into a small local table, since each needs three divisions. Weights come packed and padded by
// husk_conv_tiled_pack, [group][k][filters rounded up to BLOCK_M], so their loads need no test.
//
//   BLOCK_M, BLOCK_N, BLOCK_K   the work-group's tile
//   ITEM_M, ITEM_N              a work-item's share of it, multiples of 4; the work-group has
//                               (BLOCK_N/ITEM_N) x (BLOCK_M/ITEM_M) work-items, at least BLOCK_K
// The menu (src/ops/conv_tiled.c): 128x128x8 by 8x8 (256 work-items, 17 KiB), 64x64x16 by 4x4 (256, 17 KiB),
// 64x64x8 by 8x8 (64, 8.5 KiB), for limited devices and few filters 32x32x8 by 4x4 (64, 4.5 KiB).
#include "lib/fragment.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

// Elements of each local tile that one work-item fills.
#define FILL_W ((BLOCK_K * BLOCK_M + GROUP_ITEMS - 1) / GROUP_ITEMS)
#define FILL_X ((BLOCK_K * BLOCK_N + GROUP_ITEMS - 1) / GROUP_ITEMS)

// What one k stands for.
struct tap {
    index_t offset;     // in the image, from a column's first tap
    int depth, row, column; // the same for each dimension, to see whether it is padding
};

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                                   __global acc_t *restrict packed_base, long packed_offset, int filters,
                                   int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
                                   long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const index_t padded = (filters + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
    const index_t filter = get_global_id(0), k = get_global_id(1), group = get_global_id(2);
    const index_t depth = (index_t)channels * kernel_d * kernel_h * kernel_w;
    if (filter >= padded || k >= depth)
        return;
    const int s = k % kernel_w, h = k / kernel_w % kernel_h, d = k / kernel_w / kernel_h % kernel_d;
    const index_t c = k / kernel_w / kernel_h / kernel_d;
    acc_t value = 0.0f;
    if (filter < filters)
        value = load_one(w_base, w_offset + (group * filters + filter) * w_stride_k + c * w_stride_c +
                                     d * w_stride_d + h * w_stride_h + s * w_stride_w);
    packed_base[packed_offset + (group * depth + k) * padded + filter] = value;
}

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1)))
void husk_conv_tiled(const __global data_t *restrict x_base, long x_offset,
                     const __global acc_t *restrict w_base, long w_offset,
                     const __global data_t *restrict bias_base, long bias_offset, int flags,
                     __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                     __global acc_t *restrict waiting_base, long waiting_offset, ACT_PARAMS)
{
    CONV_UNITS
    __local acc_t w_tile[2][BLOCK_K * A_PITCH];
    __local acc_t x_tile[2][BLOCK_K * B_PITCH];
    __local struct tap taps[2][BLOCK_K];

    const int group = get_group_id(2);
    const int item_n = get_local_id(0), item_m = get_local_id(1);
    const int item = item_m * ITEMS_N + item_n;
    const int first_filter = get_group_id(1) * BLOCK_M;
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t padded = (filters + BLOCK_M - 1) / BLOCK_M * BLOCK_M;
    const index_t positions = (index_t)out_d * out_h * out_w;
    const index_t columns = batch * positions;
    const int depth = channels * kernel_d * kernel_h * kernel_w;
    const int blocks = (depth + BLOCK_K - 1) / BLOCK_K;

    const __global data_t *x = x_base + x_offset + (index_t)group * channels * x_stride_c;
    const __global acc_t *w = w_base + w_offset + (index_t)group * depth * padded + first_filter;

    // The columns this work-item fills: where each begins in the image.
    index_t fill_offset[FILL_X];
    int fill_depth[FILL_X], fill_row[FILL_X], fill_column[FILL_X];
    for (int i = 0; i < FILL_X; ++i) {
        const index_t column = first_column + (item + i * GROUP_ITEMS) % BLOCK_N;
        const index_t position = column % positions, n = column / positions;
        fill_depth[i] = (int)(position / out_w / out_h) * stride_d - pad_d;
        fill_row[i] = (int)(position / out_w % out_h) * stride_h - pad_h;
        fill_column[i] = (int)(position % out_w) * stride_w - pad_w;
        fill_offset[i] = n * x_stride_n + fill_depth[i] * x_stride_d + fill_row[i] * x_stride_h +
                         fill_column[i] * x_stride_w;
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
        t.offset = (index_t)(k / kernel_w / kernel_h / kernel_d) * x_stride_c + t.depth * x_stride_d + \
                   t.row * x_stride_h + t.column * x_stride_w; \
        if (k >= depth) \
            t.depth = INT_MAX / 2; /* beyond every image */ \
        taps[(block) & 1][item] = t; \
    }

    // The next tiles, on their way from global to local memory.
    acc_t next_w[FILL_W], next_x[FILL_X];
#define FETCH(block) \
    for (int i = 0; i < FILL_W; ++i) { \
        const int at = item + i * GROUP_ITEMS, k = (block) * BLOCK_K + at / BLOCK_M; \
        next_w[i] = at < BLOCK_K * BLOCK_M && k < depth ? w[k * padded + at % BLOCK_M] : 0.0f; \
    } \
    for (int i = 0; i < FILL_X; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        next_x[i] = 0.0f; \
        if (at < BLOCK_K * BLOCK_N) { \
            const struct tap t = taps[(block) & 1][at / BLOCK_N]; \
            const int id = fill_depth[i] + t.depth, ih = fill_row[i] + t.row, iw = fill_column[i] + t.column; \
            if ((uint)id < (uint)in_d && (uint)ih < (uint)in_h && (uint)iw < (uint)in_w) \
                next_x[i] = load_one(x, fill_offset[i] + t.offset); \
        } \
    }
#define KEEP(block) \
    for (int i = 0; i < FILL_W; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_M) \
            w_tile[(block) & 1][at / BLOCK_M * A_PITCH + at % BLOCK_M] = next_w[i]; \
    } \
    for (int i = 0; i < FILL_X; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_N) \
            x_tile[(block) & 1][at / BLOCK_N * B_PITCH + at % BLOCK_N] = next_x[i]; \
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
        fragment_multiply(&acc, w_tile[block & 1], x_tile[block & 1], item);
        if (block + 1 < blocks) {
            KEEP(block + 1)
        }
        // The table of block + 2 replaces that of block, which was last read before the last barrier.
        DECODE(block + 2)
        barrier(CLK_LOCAL_MEM_FENCE);
    }

#if defined(ACT_SMOOTH) && DATA_BYTES == 2
    // y's elements, packed, in scratch memory.
    __global acc_t *waiting = waiting_base + waiting_offset;
#define WAITING_AT(column, filter) \
    (((column) / positions * groups * filters + (index_t)group * filters + (filter)) * positions + (column) % positions)
#endif
    // Unrolled, so that the sums are indexed by constants and stay in registers.
#pragma unroll
    for (int j = 0; j < ITEM_N; ++j) {
        const index_t column = first_column + fragment_column(item, j);
        const index_t position = column % positions;
        __global data_t *y = y_base + y_offset + column / positions * y_stride_n +
                             position / out_w / out_h * y_stride_d + position / out_w % out_h * y_stride_h +
                             position % out_w * y_stride_w + (index_t)group * filters * y_stride_c;
#pragma unroll
        for (int i = 0; i < ITEM_M; ++i) {
            const int filter = first_filter + fragment_row(item, i);
            acc_t value = fragment_value(&acc, i, j);
            if (column < columns && filter < filters) {
                if (has_bias)
                    value += load_either(bias_base + bias_offset + (index_t)(group * filters + filter) * bias_units,
                                         bias_units);
#if defined(ACT_SMOOTH) && DATA_BYTES == 2 // y is too narrow for what is not activated yet
                waiting[WAITING_AT(column, filter)] = value;
#elif defined(ACT_SMOOTH)
                y[filter * y_stride_c] = value;
#else
                store_either(y + filter * y_stride_c, activate(value, ACT_ARGS), y_units);
#endif
            }
        }
    }
#ifdef ACT_SMOOTH
    // A second pass over the item's own elements, not unrolled: unrolled above, the transcendental functions are
    // so much code that compilers give up unrolling and put the sums into memory.
#pragma unroll 1
    for (int at = 0; at < ITEM_M * ITEM_N; ++at) {
        const index_t column = first_column + fragment_column(item, at / ITEM_M);
        const int filter = first_filter + fragment_row(item, at % ITEM_M);
        if (column < columns && filter < filters) {
            const index_t position = column % positions;
            __global data_t *y = y_base + y_offset + column / positions * y_stride_n +
                                 position / out_w / out_h * y_stride_d + position / out_w % out_h * y_stride_h +
                                 position % out_w * y_stride_w +
                                 ((index_t)group * filters + filter) * y_stride_c;
#if DATA_BYTES == 2
            store_either(y, activate(waiting[WAITING_AT(column, filter)], ACT_ARGS), y_units);
#else
            *y = activate(*y, ACT_ARGS);
#endif
        }
    }
#endif
}
