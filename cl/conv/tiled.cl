// SPDX-License-Identifier: MIT
// Implicit GEMM convolution for GPUs: work-groups share tiles of weights and patches in local memory
// (arXiv 1410.0759 for the method; the tiles follow the SIMT ladder of GEMM).
//
//   y[filter][column] = sum over k of weights[k][filter] * patch[k][column]
//   column = (image, depth, row, column of the output), k = (channel, depth, row, column of the filter)
//
// A work-group computes BLOCK_M filters x BLOCK_N columns, BLOCK_K of k at a time, by lib/fragment_loop.clh, with plain
// multiply-adds (variant tiled) or a matrix engine (variant matrix). What a k stands for (offset in the image,
// position in the filter) is decoded once a block, by BLOCK_K work-items into a small local table, since each needs
// three divisions; a work-item fills one column, four k at a time. Weights come packed by husk_conv_tiled_pack,
// [group] and then as lib/packed_lines.clh has them.
//
//   -DBLOCK_M ...  see lib/fragment.clh
// The menu (src/ops/conv/tiled.c) of tiled: 128x128x8 by 8x8 (256 work-items, 17 KiB), 64x64x16 by 4x4 (256, 17 KiB),
// 64x64x8 by 8x8 (64, 8.5 KiB), for limited devices and few filters 32x32x8 by 4x4 (64, 4.5 KiB). Of matrix: 128x128,
// 64x64 and 32x32 with 64 bytes of each line and part (32, 16 and 8 KiB, and 1 KiB of the table).
#include "lib/packed_lines.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

#if GROUP_ITEMS % BLOCK_N != 0 || GROUP_ITEMS < BLOCK_K
#error "a work-item fills one column, and there are at least BLOCK_K of them"
#endif

// What one k stands for.
struct tap {
    index_t offset;     // in the image, from a column's first tap
    int depth, row, column; // the same for each dimension, to see whether it is padding
};

// Where a column's first tap lies.
struct origin {
    index_t offset;
    int depth, row, column;
};

// An element of the image, zero outside of it.
inline carried_t pixel(const __global data_t *x, struct origin from, const __local struct tap *at, int in_d, int in_h,
                       int in_w)
{
    const int d = from.depth + at->depth, h = from.row + at->row, w = from.column + at->column;
    if ((uint)d < (uint)in_d && (uint)h < (uint)in_h && (uint)w < (uint)in_w)
        return carried_one(x + (from.offset + at->offset), 1);
    return 0;
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                                   __global carried_t *restrict packed_base, long packed_offset, int filters,
                                   int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
                                   long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const index_t depth = (index_t)channels * kernel_d * kernel_h * kernel_w;
    const index_t all_lines = packed_lines(filters), all_steps = packed_steps(depth);
    const index_t line = get_global_id(0), group = line / all_lines, filter = line - group * all_lines;
    for (index_t k = get_global_id(1); k < all_steps; k += (index_t)get_global_size(1)) {
        const int s = k % kernel_w, h = k / kernel_w % kernel_h, d = k / kernel_w / kernel_h % kernel_d;
        const index_t c = k / kernel_w / kernel_h / kernel_d;
        carried_t value = 0;
        if (filter < filters && k < depth)
            value = carried_one(w_base + w_offset + (group * filters + filter) * w_stride_k + c * w_stride_c +
                                    d * w_stride_d + h * w_stride_h + s * w_stride_w, 1);
        packed_base[packed_offset + group * all_lines * all_steps + packed_at(all_lines, all_steps, filter, k)] =
            value;
    }
}

FRAGMENT_ATTRIBUTE __kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1)))
void husk_conv_tiled(const __global data_t *restrict x_base, long x_offset,
                     const __global carried_t *restrict w_base, long w_offset,
                     const __global data_t *restrict bias_base, long bias_offset, int flags,
                     __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                     __global acc_t *restrict waiting_base, long waiting_offset, ACT_PARAMS)
{
    CONV_UNITS
    __local struct tap taps[2][BLOCK_K];
    FRAGMENT_TILES

    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    CONV_PLACE(group, first_filter, filters, groups);
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t positions = (index_t)out_d * out_h * out_w;
    const index_t columns = is_there ? batch * positions : 0;
    const int depth = channels * kernel_d * kernel_h * kernel_w;
    const index_t all_lines = packed_lines(filters), all_steps = packed_steps(depth), first_line = first_filter;

    const __global data_t *x = x_base + x_offset + (index_t)group * channels * x_stride_c;
    const __global carried_t *packed = w_base + w_offset + group * all_lines * all_steps;
    const share packed_share = share_of(PACKED_ALONG_K, item, BLOCK_M);

    // The column this work-item fills: where it begins in the image.
    const int my_line = item % BLOCK_N, my_step = item / BLOCK_N * 4;
    const index_t my_column = first_column + my_line;
    const index_t my_position = my_column % positions;
    struct origin from;
    from.depth = (int)(my_position / out_w / out_h) * stride_d - pad_d;
    from.row = (int)(my_position / out_w % out_h) * stride_h - pad_h;
    from.column = (int)(my_position % out_w) * stride_w - pad_w;
    from.offset = my_column / positions * x_stride_n + from.depth * x_stride_d + from.row * x_stride_h +
                  from.column * x_stride_w;
    if (my_column >= columns)
        from.depth = INT_MIN / 2; // never inside

#define DECODE(block) \
    if (item < BLOCK_K) { \
        const int k = (block) * BLOCK_K + item; \
        struct tap at; \
        at.depth = k / kernel_w / kernel_h % kernel_d * dilation_d; \
        at.row = k / kernel_w % kernel_h * dilation_h; \
        at.column = k % kernel_w * dilation_w; \
        at.offset = (index_t)(k / kernel_w / kernel_h / kernel_d) * x_stride_c + at.depth * x_stride_d + \
                    at.row * x_stride_h + at.column * x_stride_w; \
        if (k >= depth) \
            at.depth = INT_MAX / 2; /* beyond every image */ \
        taps[(block) & 1][item] = at; \
    }

    // The next tiles, on their way from global to local memory.
    carried_four a_next[A_FOURS];
    carried_t b_next[B_FOURS][4];
#define PIXEL(tap) pixel(x, from, tap, in_d, in_h, in_w)
#define FETCH(t, next) \
    FETCH_PACKED(t, next) \
    _Pragma("unroll") for (int s = 0; s < B_FOURS; ++s) \
    { \
        const __local struct tap *four = taps[(t) & 1] + my_step + s * (GROUP_ITEMS / BLOCK_N * 4); \
        b_next[s][0] = PIXEL(four); \
        b_next[s][1] = PIXEL(four + 1); \
        b_next[s][2] = PIXEL(four + 2); \
        b_next[s][3] = PIXEL(four + 3); \
    }
    // The table of the tile after the next replaces that of the present one, which was read before the last barrier.
#define KEEP(t, next) \
    KEEP_PACKED(t, next) \
    _Pragma("unroll") for (int s = 0; s < B_FOURS; ++s) \
        fragment_keep_four(b_tiles[next], BLOCK_N, my_line, my_step + s * (GROUP_ITEMS / BLOCK_N * 4), \
                           FOUR_OF(b_next[s]), 1); \
    DECODE((t) + 1)

    DECODE(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    const int tiles = (depth + BLOCK_K - 1) / BLOCK_K;
    FRAGMENT_LOOP(tiles, FETCH, KEEP)

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
