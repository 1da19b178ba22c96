// SPDX-License-Identifier: MIT
// The gradient of convolution by its data, and the transposed convolution, for GPUs: an implicit matrix product
// (arXiv 1410.0759) as conv/tiled.cl, with channels for its rows.
//
//   dx[channel][column] = sum over k of weights[k][channel] * dy[k][column]
//   column = (image, depth, row, column of dx), k = (filter, depth, row, column of the filter)
//
// A column meets dy where its index + pad - the filter element's is a multiple of the stride: the others are zeros that
// are multiplied all the same, which wastes the stride's share of the arithmetic. Weights come packed by
// husk_conv_backward_data_tiled_pack, [group] and then as lib/packed_lines.clh has them.
//
//   -DBLOCK_M ...  see lib/fragment.clh: plain multiply-adds (variant tiled), or a matrix engine (variant matrix); the
//                  menus are conv/tiled.cl's
#include "lib/packed_lines.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

#if GROUP_ITEMS % BLOCK_N != 0 || GROUP_ITEMS < BLOCK_K
#error "a work-item fills one column, and there are at least BLOCK_K of them"
#endif

// What one k stands for.
struct tap {
    index_t offset;         // of its filter in dy
    int depth, row, column; // of the filter's element
};

// Where a column's positions of dy are counted from, and how.
struct walk {
    index_t offset; // of its image in dy
    int depth, row, column;
    int stride_d, stride_h, stride_w, out_d, out_h, out_w;
    index_t y_stride_d, y_stride_h, y_stride_w;
};

// An element of dy, zero where none meets the column.
inline carried_t gradient(const __global data_t *dy, struct walk from, const __local struct tap *at)
{
    const int d = from.depth - at->depth, h = from.row - at->row, w = from.column - at->column;
    const int od = d / from.stride_d, oh = h / from.stride_h, ow = w / from.stride_w;
    if (d >= 0 && h >= 0 && w >= 0 && od * from.stride_d == d && oh * from.stride_h == h && ow * from.stride_w == w &&
        od < from.out_d && oh < from.out_h && ow < from.out_w)
        return carried_one(dy + (from.offset + at->offset + od * from.y_stride_d + oh * from.y_stride_h +
                                 ow * from.y_stride_w), 1);
    return 0;
}

__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_backward_data_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                                   __global carried_t *restrict packed_base, long packed_offset, int filters,
                                   int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
                                   long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const index_t depth = (index_t)filters * kernel_d * kernel_h * kernel_w;
    const index_t all_lines = packed_lines(channels), all_steps = packed_steps(depth);
    const index_t line = get_global_id(0), group = line / all_lines, channel = line - group * all_lines;
    for (index_t k = get_global_id(1); k < all_steps; k += (index_t)get_global_size(1)) {
        const int s = k % kernel_w, h = k / kernel_w % kernel_h, d = k / kernel_w / kernel_h % kernel_d;
        const index_t filter = k / kernel_w / kernel_h / kernel_d;
        carried_t value = 0;
        if (channel < channels && k < depth)
            value = carried_one(w_base + w_offset + (group * filters + filter) * w_stride_k + channel * w_stride_c +
                                    d * w_stride_d + h * w_stride_h + s * w_stride_w, 1);
        packed_base[packed_offset + group * all_lines * all_steps + packed_at(all_lines, all_steps, channel, k)] =
            value;
    }
}

FRAGMENT_ATTRIBUTE __kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1)))
void husk_conv_backward_data_tiled(const __global data_t *restrict dy_base, long dy_offset,
                                   const __global carried_t *restrict w_base, long w_offset,
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
    __local struct tap taps[2][BLOCK_K];
    FRAGMENT_TILES

    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    CONV_PLACE(group, first_channel, channels, groups);
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t positions = (index_t)in_d * in_h * in_w;
    const index_t columns = is_there ? batch * positions : 0;
    const int depth = filters * kernel_d * kernel_h * kernel_w;
    const index_t all_lines = packed_lines(channels), all_steps = packed_steps(depth), first_line = first_channel;

    const __global data_t *dy = dy_base + dy_offset + (index_t)group * filters * y_stride_c;
    const __global carried_t *packed = w_base + w_offset + group * all_lines * all_steps;
    const share packed_share = share_of(PACKED_ALONG_K, item, BLOCK_M);

    // The column this work-item fills.
    const int my_line = item % BLOCK_N, my_step = item / BLOCK_N * 4;
    const index_t my_column = first_column + my_line, my_position = my_column % positions;
    struct walk from = {my_column / positions * y_stride_n,
                        my_column < columns ? (int)(my_position / in_w / in_h) + pad_d : INT_MIN / 2, // never inside
                        (int)(my_position / in_w % in_h) + pad_h,
                        (int)(my_position % in_w) + pad_w,
                        stride_d, stride_h, stride_w, out_d, out_h, out_w,
                        y_stride_d, y_stride_h, y_stride_w};

#define DECODE(block) \
    if (item < BLOCK_K) { \
        const int k = (block) * BLOCK_K + item; \
        struct tap at; \
        at.depth = k / kernel_w / kernel_h % kernel_d * dilation_d; \
        at.row = k / kernel_w % kernel_h * dilation_h; \
        at.column = k % kernel_w * dilation_w; \
        at.offset = (index_t)(k / kernel_w / kernel_h / kernel_d) * y_stride_c; \
        if (k >= depth) \
            at.depth = INT_MAX / 2; /* before every image */ \
        taps[(block) & 1][item] = at; \
    }

    // The next tiles, on their way from global to local memory.
    carried_four a_next[A_FOURS];
    carried_t b_next[B_FOURS][4];
#define FETCH(t, next) \
    FETCH_PACKED(t, next) \
    _Pragma("unroll") for (int s = 0; s < B_FOURS; ++s) \
    { \
        const __local struct tap *four = taps[(t) & 1] + my_step + s * (GROUP_ITEMS / BLOCK_N * 4); \
        b_next[s][0] = gradient(dy, from, four); \
        b_next[s][1] = gradient(dy, from, four + 1); \
        b_next[s][2] = gradient(dy, from, four + 2); \
        b_next[s][3] = gradient(dy, from, four + 3); \
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
    // A second pass over the item's own elements, not unrolled: see conv/tiled.cl. Nothing is accumulated then.
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
