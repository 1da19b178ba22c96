// SPDX-License-Identifier: MIT
// Convolution for GPUs: implicit GEMM by lib/conv_tiled.clh.
//
//   y[filter][column] = sum over k of weights[k][filter] * patch[k][column]
//   column = (image, depth, row, column of the output), k = (channel, depth, row, column of the filter)
//
//   husk_conv_tiled_pack, husk_conv_tiled
//   -DBLOCK_M ...  see lib/conv_tiled.clh
#include "lib/conv_tiled.clh"

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

// registers husk_conv_tiled_pack: nvidia 40, amd 24
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_tiled_pack(const __global data_t *restrict w_base, long w_offset,
                          __global carried_t *restrict packed_base, long packed_offset, int filters, int channels,
                          int kernel_d, int kernel_h, int kernel_w, long w_stride_k, long w_stride_c, long w_stride_d,
                          long w_stride_h, long w_stride_w)
{
    pack_filters(w_base + w_offset, filters * w_stride_k, w_stride_k, w_stride_c, w_stride_d, w_stride_h, w_stride_w,
                 packed_base + packed_offset, filters, channels, kernel_d, kernel_h, kernel_w);
}

#define ELEMENT(tap) pixel(x, from, tap, in_d, in_h, in_w)
#define TAP_OFFSET(channel, at) \
    ((channel) * x_stride_c + (at).depth * x_stride_d + (at).row * x_stride_h + (at).column * x_stride_w)

// registers husk_conv_tiled DTYPE_F64 ITEM_M=8: nvidia 256, amd 224
// registers husk_conv_tiled ENGINE_AMD_MFMA: amd 104
// registers husk_conv_tiled BLOCK_M=128: nvidia 176, amd 216
// registers husk_conv_tiled ENGINE_AMD_WMMA=12: amd 120
// registers husk_conv_tiled BLOCK_M=32 ENGINE_AMD_WMMA=11: amd 88
// registers husk_conv_tiled ITEM_M=8: nvidia 152, amd 192
// registers husk_conv_tiled: nvidia 136, amd 184
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
    CONV_PLACE(group, first_line, filters, groups);
    const index_t first_column = (index_t)get_group_id(0) * BLOCK_N;
    const index_t positions = (index_t)out_d * out_h * out_w;
    const index_t columns = is_there ? batch * positions : 0;
    const __global data_t *x = x_base + x_offset + (index_t)group * channels * x_stride_c;

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

    CONV_TILED_LOOP(channels, filters)

    const int first_channel = group * filters;
    const struct images to = {y_base + y_offset + (index_t)first_channel * y_stride_c, out_d, out_h, out_w, y_stride_n,
                              y_stride_c, y_stride_d, y_stride_h, y_stride_w, y_units};
    store_tile(&acc, item, to, first_line, filters, first_column, columns,
               bias_base + bias_offset + first_channel * bias_units, flags, 0, waiting_base + waiting_offset,
               first_channel, groups * filters, ACT_ARGS);
}
