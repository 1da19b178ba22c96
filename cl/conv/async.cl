// SPDX-License-Identifier: MIT
// Implicit GEMM convolution by a matrix engine whose tiles are filled by asynchronous copies (NVIDIA, sm_80 on;
// arXiv 1410.0759 for the method).
//
//   y[position][filter] = sum over taps and channels of x[pixel of position and tap][channel] * w[filter][tap][channel]
//
// Channels are innermost: a chunk of 16 bytes is some channels of one pixel, and a tile of BLOCK_K steps has one tap.
// An item, which fills the same positions in every tile, so has a pointer for each of them, and looks once a tap which
// of them see padding. Channels that do not lie side by side, or not by whole chunks, are brought into that order first
// (husk_conv_async_image). The loop and the end are lib/fragment_async.clh's.
//
//   husk_conv_async_pack    weights as [group][filter][tap][channel], filters rounded up to BLOCK_N, channels to 32
//   husk_conv_async_image   x as [group][image][depth][row][column][channel], channels rounded up to chunks
//   husk_conv_async         a work-group computes BLOCK_M positions by BLOCK_N filters
//
//   -DBLOCK_M ...  see lib/fragment.clh; -DSTAGES: lib/fragment_async.clh
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
//   -DINDEX_64     some element lies 2^31 or further from its tensor's first
//
// Menu: 128x128 by 128 items of 64x64 a sub-group, five stages of 32 bytes of each line (40 KiB); 64x64 by 128 items of
// 32x32, three of 64 (24 KiB).
#include "lib/fragment_async.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

#if SIDE_CHUNKS * (GROUP_ITEMS / CHUNKS) != BLOCK_M || BLOCK_M != BLOCK_N
#error "an item's chunks are of whole lines"
#endif

#define PACKED_CHANNELS(channels) (((channels) + 31) / 32 * 32)
#define WHOLE_CHUNKS(channels)    (((channels) + CHUNK - 1) / CHUNK * CHUNK)

// registers husk_conv_async_pack: nvidia 32
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_async_pack(const __global data_t *restrict w_base, long w_offset, __global tile_t *restrict packed_base,
                          long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w,
                          long w_stride_k, long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const int taps = kernel_d * kernel_h * kernel_w;
    const long all_channels = PACKED_CHANNELS(channels), all_lines = (long)(filters + BLOCK_N - 1) / BLOCK_N * BLOCK_N;
    const long line = get_global_id(0) / all_channels, c = get_global_id(0) - line * all_channels;
    const long group = line / all_lines, filter = line - group * all_lines;
    for (int tap = (int)get_global_id(1); tap < taps; tap += (int)get_global_size(1)) {
        const int s = tap % kernel_w, h = tap / kernel_w % kernel_h, d = tap / kernel_w / kernel_h;
        tile_t value = 0;
        if (filter < filters && c < channels)
            value = ((const __global tile_t *)w_base)[w_offset + (group * filters + filter) * w_stride_k +
                                                      c * w_stride_c + d * w_stride_d + h * w_stride_h +
                                                      s * w_stride_w];
        packed_base[packed_offset + (line * taps + tap) * all_channels + c] = value;
    }
}

#define IMAGE_SIDE 32 // pixels and channels that a work-group turns at a time
#define IMAGE_ROWS 4

// registers husk_conv_async_image: nvidia 48
__kernel __attribute__((reqd_work_group_size(IMAGE_SIDE, IMAGE_ROWS, 1)))
void husk_conv_async_image(const __global data_t *restrict x_base, long x_offset, __global tile_t *restrict image_base,
                           long image_offset, CONV_PARAMS)
{
    __local tile_t turned[IMAGE_SIDE][IMAGE_SIDE + 1];
    const index_t pixels = (index_t)batch * in_d * in_h * in_w, all_channels = WHOLE_CHUNKS(channels);
    const int lane = (int)get_local_id(0), row = (int)get_local_id(1);
    const int by_channels = x_stride_c == 1;
    const index_t first_pixel = (index_t)get_group_id(0) * IMAGE_SIDE;
    const index_t blocks = (all_channels + IMAGE_SIDE - 1) / IMAGE_SIDE;
    for (index_t block = get_group_id(1); block < blocks * groups; block += (index_t)get_num_groups(1)) {
        const index_t group = block / blocks, first_channel = (block - group * blocks) * IMAGE_SIDE;
        for (int i = row; i < IMAGE_SIDE; i += IMAGE_ROWS) {
            const index_t pixel = first_pixel + (by_channels ? i : lane), c = first_channel + (by_channels ? lane : i);
            const index_t line = pixel / in_w, plane = line / in_h, image = plane / in_d;
            tile_t value = 0;
            if (pixel < pixels && c < channels)
                value = ((const __global tile_t *)x_base)[x_offset + image * x_stride_n +
                                                          (group * channels + c) * x_stride_c +
                                                          (plane - image * in_d) * x_stride_d +
                                                          (line - plane * in_h) * x_stride_h +
                                                          (pixel - line * in_w) * x_stride_w];
            turned[by_channels ? i : lane][by_channels ? lane : i] = value;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int i = row; i < IMAGE_SIDE; i += IMAGE_ROWS)
            if (first_pixel + i < pixels && first_channel + lane < all_channels)
                image_base[image_offset + ((long)group * pixels + first_pixel + i) * all_channels + first_channel +
                           lane] = turned[i][lane];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// x: the image, or as it is. x_group: elements from a group's channels to the next one's.
// registers husk_conv_async BLOCK_M=128: nvidia 240
// registers husk_conv_async: nvidia 120
__kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
void husk_conv_async(const __global data_t *restrict x_base, long x_offset, const __global operand_t *restrict w_base,
                     long w_offset, const __global data_t *restrict bias_base, long bias_offset, int flags,
                     __global data_t *restrict y_base, long y_offset, CONV_PARAMS, long x_group, ACT_PARAMS)
{
    CONV_UNITS
    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    CONV_PLACE(group, first_filter, filters, groups);
    const index_t first_position = (index_t)get_group_id(0) * BLOCK_M;
    const index_t in_image = (index_t)out_d * out_h * out_w, positions = is_there ? batch * in_image : 0;
    const int taps = kernel_d * kernel_h * kernel_w, all_channels = WHOLE_CHUNKS(channels);
    const long w_line = (long)taps * PACKED_CHANNELS(channels);
    const long w_lines = (long)(filters + BLOCK_N - 1) / BLOCK_N * BLOCK_N;

    // Where the rows of the tile go.
    __local long y_at[BLOCK_M];
    for (int row = item; row < BLOCK_M; row += GROUP_ITEMS) {
        const index_t position = first_position + row, image = position / in_image;
        const index_t inside = position - image * in_image;
        const index_t line = inside / out_w;
        y_at[row] = image * y_stride_n + line / out_h * y_stride_d + line % out_h * y_stride_h +
                    (inside - line * out_w) * y_stride_w;
    }

    // An item's chunks of A: of these positions, so many channels further for each tap and tile; and of B.
    const int line = item / CHUNKS, step = item % CHUNKS * CHUNK;
    const int to = tile_at(line, step), to_add = GROUP_ITEMS / CHUNKS * BLOCK_K;
    const __global operand_t *from[SIDE_CHUNKS];
    int depth[SIDE_CHUNKS], row[SIDE_CHUNKS], column[SIDE_CHUNKS];
#pragma unroll
    for (int s = 0; s < SIDE_CHUNKS; ++s) {
        const index_t position = first_position + line + s * (GROUP_ITEMS / CHUNKS);
        const index_t image = position / in_image, inside = position - image * in_image, y_line = inside / out_w;
        depth[s] = position < positions ? (int)(y_line / out_h) * stride_d - pad_d : INT_MIN / 2; // never inside
        row[s] = (int)(y_line % out_h) * stride_h - pad_h;
        column[s] = (int)(inside - y_line * out_w) * stride_w - pad_w;
        from[s] = (const __global operand_t *)x_base + x_offset + group * x_group + image * x_stride_n +
                  depth[s] * x_stride_d + row[s] * x_stride_h + column[s] * x_stride_w + step;
    }
    const __global operand_t *w =
        w_base + w_offset + (group * w_lines + first_filter + line) * w_line + step;
    const long w_add = GROUP_ITEMS / CHUNKS * w_line;
    const int is_aligned = ((uintptr_t)(x_base + x_offset) & 15) == 0;

    ASYNC_TILES
    const int tap_tiles = (all_channels + BLOCK_K - 1) / BLOCK_K, tiles = taps * tap_tiles;
    int channel = step, tap_d = 0, tap_h = 0, tap_w = 0; // of the next tile
    int inside = 0;                                      // a bit a position: this tap of it is no padding
    long at = 0;                                         // from `from` to it
#define LOOK \
    inside = 0; \
    _Pragma("unroll") for (int s = 0; s < SIDE_CHUNKS; ++s) \
        inside |= ((uint)(depth[s] + tap_d) < (uint)in_d && (uint)(row[s] + tap_h) < (uint)in_h && \
                   (uint)(column[s] + tap_w) < (uint)in_w) << s;
    LOOK
#define COPY(t, stage) \
    { \
        const int wanted = channel < all_channels ? inside : 0; \
        _Pragma("unroll") for (int s = 0; s < SIDE_CHUNKS; ++s) \
            fragment_copy_whole_chunk(b_tiles(stage) + to + s * to_add, w + s * w_add, (t) < tiles); \
        if (is_aligned) { \
            _Pragma("unroll") for (int s = 0; s < SIDE_CHUNKS; ++s) \
                fragment_copy_or_clear_chunk(a_tiles(stage) + to + s * to_add, from[s] + at, \
                                             (t) < tiles ? wanted >> s & 1 : 0); \
        } else { \
            _Pragma("unroll") for (int s = 0; s < SIDE_CHUNKS; ++s) \
                _Pragma("unroll 1") for (int i = 0; i < CHUNK; ++i) \
                    a_tiles(stage)[to + s * to_add + i] = \
                        (t) < tiles && (wanted >> s & 1) ? ((const __global tile_t *)(from[s] + at))[i] : 0; \
        } \
        w += BLOCK_K; \
        at += BLOCK_K; \
        channel += BLOCK_K; \
        if (channel - step >= all_channels) { \
            w += PACKED_CHANNELS(channels) - (channel - step); \
            channel = step; \
            tap_w += dilation_w; \
            if (tap_w == kernel_w * dilation_w) { \
                tap_w = 0; \
                tap_h += dilation_h; \
                if (tap_h == kernel_h * dilation_h) { \
                    tap_h = 0; \
                    tap_d += dilation_d; \
                } \
            } \
            at = tap_d * x_stride_d + tap_h * x_stride_h + tap_w * x_stride_w; \
            LOOK \
        } \
    }
    ASYNC_LOOP(tiles, COPY)

    const __global data_t *bias = bias_base + bias_offset;
    const long y_first = y_offset + (long)(group * filters + first_filter) * y_stride_c;
    __global data_t *y = y_base + y_first;
    const int is_paired = y_stride_c == y_units && y_stride_n % (2 * y_units) == 0 && y_stride_d % (2 * y_units) == 0 &&
                          y_stride_h % (2 * y_units) == 0 && y_stride_w % (2 * y_units) == 0 &&
                          ((uintptr_t)y & (2 * DATA_BYTES * y_units - 1)) == 0;
#define FINISHED(value, filter) \
    activate((value) + (has_bias ? load_either(bias + (long)(group * filters + (filter)) * bias_units, bias_units) \
                                 : 0.0f), \
             ACT_ARGS)
#define TWO(in_row, in_column, two) \
    const int filter = first_filter + in_column; \
    if (first_position + in_row >= positions || filter >= filters) \
        continue; \
    __global data_t *y_to = y + y_at[in_row] + in_column * y_stride_c; \
    const acc_t first = FINISHED(two.x, filter); \
    if (filter + 1 == filters) { \
        store_either(y_to, first, y_units); \
        continue; \
    } \
    const acc_t second = FINISHED(two.y, filter + 1); \
    if (is_paired) { \
        store_two(y_to, first, second, y_units); \
    } else { \
        store_either(y_to, first, y_units); \
        store_either(y_to + y_stride_c, second, y_units); \
    }
    ASYNC_FINISH(y_stride_c != y_units, TWO)
}
