// SPDX-License-Identifier: MIT
// The gradient of convolution by its data, and the transposed convolution, for GPUs: implicit GEMM by
// lib/conv_tiled.clh, with channels for its lines.
//
//   dx[channel][column] = sum over k of weights[k][channel] * dy[k][column]
//   column = (image, depth, row, column of dx), k = (filter, depth, row, column of the filter)
//
// A column meets dy where its index + pad - the filter element's is a multiple of the stride: the others are zeros that
// are multiplied all the same, which wastes the stride's share of the arithmetic.
//
//   husk_conv_backward_data_tiled_pack, husk_conv_backward_data_tiled
//   -DBLOCK_M ...  see lib/conv_tiled.clh
#include "lib/conv_tiled.clh"

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

// registers husk_conv_backward_data_tiled_pack: nvidia 40, amd 24
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_backward_data_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                                        __global carried_t *restrict packed_base, long packed_offset, int filters,
                                        int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
                                        long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    pack_filters(w_base + w_offset, filters * w_stride_k, w_stride_c, w_stride_k, w_stride_d, w_stride_h, w_stride_w,
                 packed_base + packed_offset, channels, filters, kernel_d, kernel_h, kernel_w);
}

#define ELEMENT(tap) gradient(dy, from, tap)
#define TAP_OFFSET(filter, at) ((filter) * y_stride_c)

// registers husk_conv_backward_data_tiled DTYPE_F64 ITEM_M=8: nvidia 256, amd 232
// registers husk_conv_backward_data_tiled BLOCK_M=32: nvidia 104, amd 144
// registers husk_conv_backward_data_tiled BLOCK_M=64 ENGINE_AMD_MFMA: amd 64
// registers husk_conv_backward_data_tiled ITEM_M=4: nvidia 104, amd 144
// registers husk_conv_backward_data_tiled ENGINE_AMD_WMMA=12: amd 152
// registers husk_conv_backward_data_tiled ENGINE_AMD_MFMA: amd 144
// registers husk_conv_backward_data_tiled: nvidia 184, amd 208
FRAGMENT_ATTRIBUTE __kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1)))
void husk_conv_backward_data_tiled(const __global data_t *restrict dy_base, long dy_offset,
                                   const __global carried_t *restrict w_base, long w_offset,
                                   const __global data_t *restrict bias_base, long bias_offset, int flags,
                                   __global data_t *restrict dx_base, long dx_offset, CONV_PARAMS, int accumulate,
                                   __global acc_t *restrict waiting_base, long waiting_offset, ACT_PARAMS)
{
    const int units = UNITS(flags & WIDE_Y); // of dx
    __local struct tap taps[2][BLOCK_K];
    FRAGMENT_TILES

    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    CONV_PLACE(group, first_line, channels, groups);
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t positions = (index_t)in_d * in_h * in_w;
    const index_t columns = is_there ? batch * positions : 0;
    const __global data_t *dy = dy_base + dy_offset + (index_t)group * filters * y_stride_c;

    // The column this work-item fills.
    const int my_line = item % BLOCK_N, my_step = item / BLOCK_N * 4;
    const index_t my_column = first_column + my_line, my_position = my_column % positions;
    struct walk from = {my_column / positions * y_stride_n,
                        my_column < columns ? (int)(my_position / in_w / in_h) + pad_d : INT_MIN / 2, // never inside
                        (int)(my_position / in_w % in_h) + pad_h,
                        (int)(my_position % in_w) + pad_w,
                        stride_d, stride_h, stride_w, out_d, out_h, out_w,
                        y_stride_d, y_stride_h, y_stride_w};

    CONV_TILED_LOOP(filters, channels)

    const int first_channel = group * channels;
    const struct images to = {dx_base + (dx_offset + (index_t)first_channel * x_stride_c) * units, in_d, in_h, in_w,
                              x_stride_n * units, x_stride_c * units, x_stride_d * units, x_stride_h * units,
                              x_stride_w * units, units};
    store_tile(&acc, item, to, first_line, channels, first_column, columns,
               bias_base + (bias_offset + first_channel) * UNITS(flags & WIDE_BIAS), flags, accumulate,
               waiting_base + waiting_offset, first_channel, groups * channels, ACT_ARGS);
}
