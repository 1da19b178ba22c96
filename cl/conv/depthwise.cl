// SPDX-License-Identifier: MIT
// Depthwise convolution (one input channel a group) in one or two dimensions, for CPUs; `filters`, the
// filters of a group, is the channel multiplier. Any stride, padding and dilation; filters of up to 256 taps
// that reach over up to 1024 pixels.
//
//   husk_conv_depthwise           channels apart (NCHW and any strides), in one of three ways.
//                                 Rows: 3x3 and 5x5 filters at stride 1 or 2 go down strips of VW columns of outputs
//                                 and load every row of x once, with the edges masked; where a row fills half a
//                                 vector at most, two planes share the vectors: lib/depthwise_rows.clh.
//                                 Flat: a plane whose outputs lie like its inputs is one run of elements, and a
//                                 table of masks tells every tap what is padding. For small planes and other filters:
//                                 lib/depthwise_flat.clh.
//                                 Anything else: VW planes are transposed into private memory, so that a vector
//                                 holds a pixel of VW channels, and back.
//   husk_conv_depthwise_channels  channels together (NHWC, multiplier 1): vectors of channels,
//                                 lib/depthwise_channels.clh.
//
// Weights come packed by husk_conv_depthwise_pack, [multiplier][tap][group].
//
//   VW   4, 8 or 16: floats in a vector
#include "lib/depthwise.clh"
#include "lib/depthwise_channels.clh"
#include "lib/depthwise_flat.clh"
#include "lib/depthwise_rows.clh"
#include "lib/shares.clh"

// Pixels of VW channels that are worked on at a time, padding included. Larger rooms repeat fewer of the rows
// that two blocks share.
#define PIXELS 1024

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_depthwise_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int begin = (int)((long)channels * get_group_id(0) / get_num_groups(0));
    const int end = (int)((long)channels * (get_group_id(0) + 1) / get_num_groups(0));
    const __global data_t *w = w_base + w_offset;
    __global acc_t *packed = packed_base + packed_offset;
    const int taps = kernel_h * kernel_w;
    for (int m = 0; m < filters; ++m)
        for (int t = 0; t < taps; ++t)
            for (int g = begin; g < end; ++g)
                packed[((long)m * taps + t) * channels + g] =
                    load_one(w, ((long)g * filters + m) * w_stride_k + t / kernel_w * w_stride_h +
                                    t % kernel_w * w_stride_w);
}

// VW channels of VW consecutive elements each, to [element][channel], and back. The partial forms are for the
// last channels and the last elements; they are kept apart because their branches cost more than the transpose.
ALWAYS_INLINE void load_transposed(const __global data_t *p, long stride, acc_t *out)
{
    vf rows[VW];
#define TAKE(c) \
    if ((c) < VW) \
        rows[c] = load_vf(p + (c) * stride);
    REPEAT_16(TAKE)
#undef TAKE
    transpose_vf(rows);
#define GIVE(c) \
    if ((c) < VW) \
        store_private(rows[c], out + (c) * VW);
    REPEAT_16(GIVE)
#undef GIVE
}

inline void load_transposed_part(const __global data_t *p, long stride, int channels, int count, acc_t *out)
{
    for (int i = 0; i < min(count, VW); ++i)
        for (int c = 0; c < VW; ++c)
            out[i * VW + c] = c < channels ? load_one(p, c * stride + i) : 0.0f;
}

ALWAYS_INLINE void store_transposed(const acc_t *in, __global data_t *p, long stride, int channels, int count)
{
    vf rows[VW];
#define TAKE(c) \
    if ((c) < VW) \
        rows[c] = load_private(in + (c) * VW);
    REPEAT_16(TAKE)
#undef TAKE
    transpose_vf(rows);
    if (count >= VW && channels >= VW) {
#define GIVE(c) \
    if ((c) < VW) \
        store_vf(rows[c], p + (c) * stride);
        REPEAT_16(GIVE)
#undef GIVE
        return;
    }
    acc_t lanes[VW * VW];
#define GIVE(c) \
    if ((c) < VW) \
        store_private(rows[c], lanes + (c) * VW);
    REPEAT_16(GIVE)
#undef GIVE
    for (int c = 0; c < min(channels, VW); ++c)
        store_vf_part(load_private(lanes + c * VW), p + c * stride, count);
}

// Output pixels of one row: out[i] = bias + sum over taps of weight * pixel, all vectors of channels.
ALWAYS_INLINE void filter_row(const acc_t *pixels, const acc_t *weights, vf bias, int count, int kernel_h,
                              int kernel_w, int step, int row_step, int column_step, acc_t *out, ACT_PARAMS)
{
    int i = 0;
    for (; i + 4 <= count; i += 4, pixels += 4 * step, out += 4 * VW) {
        vf a = bias, b = bias, c = bias, d = bias;
        const acc_t *weight = weights;
        for (int r = 0; r < kernel_h; ++r) {
            const acc_t *tap = pixels + r * row_step;
            for (int s = 0; s < kernel_w; ++s, tap += column_step, weight += VW) {
                const vf factor = load_private(weight);
                a = MAD(factor, load_private(tap), a);
                b = MAD(factor, load_private(tap + step), b);
                c = MAD(factor, load_private(tap + 2 * step), c);
                d = MAD(factor, load_private(tap + 3 * step), d);
            }
        }
        store_private(activate(a, ACT_ARGS), out);
        store_private(activate(b, ACT_ARGS), out + VW);
        store_private(activate(c, ACT_ARGS), out + 2 * VW);
        store_private(activate(d, ACT_ARGS), out + 3 * VW);
    }
    for (; i < count; ++i, pixels += step, out += VW) {
        vf a = bias;
        for (int r = 0; r < kernel_h; ++r)
            for (int s = 0; s < kernel_w; ++s)
                a = MAD(load_private(weights + (r * kernel_w + s) * VW),
                        load_private(pixels + r * row_step + s * column_step), a);
        store_private(activate(a, ACT_ARGS), out);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_depthwise(const __global data_t *restrict x_base, long x_offset,
                         const __global acc_t *restrict w_base, long w_offset,
                         const __global data_t *restrict bias_base, long bias_offset, int flags,
                         __global data_t *restrict y_base, long y_offset, CONV_PARAMS, SHARES_PARAM,
                         ACT_PARAMS)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    const __global acc_t *w = w_base + w_offset;
    const __global data_t *bias = bias_base + bias_offset * UNITS(flags & WIDE_BIAS);
    const int has_bias = flags & (HAS_BIAS | WIDE_BIAS); // y is never wide here
    __global data_t *y = y_base + y_offset;
    const __global data_t *x_end = x + (batch - 1) * x_stride_n + (groups - 1) * x_stride_c +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    const int span_h = (kernel_h - 1) * dilation_h, span_w = (kernel_w - 1) * dilation_w;
    const int taps = kernel_h * kernel_w;
    const int items = (int)get_num_groups(0), item = group_place(shares).x;
    const int x_is_flat = x_stride_w == 1 && x_stride_h == in_w;
    const int y_is_flat = y_stride_w == 1 && y_stride_h == out_w;

    const long flat_vectors = ((long)in_h * in_w + VW - 1) / VW;
    const bool is_flat = x_is_flat && y_is_flat && stride_h == 1 && stride_w == 1 && in_h == out_h &&
                         in_w == out_w && flat_vectors * taps <= FLAT_MASKS;
    const bool is_rows = kernel_h == kernel_w && (kernel_w == 3 || kernel_w == 5) && dilation_h == 1 &&
                         dilation_w == 1 && stride_h == stride_w && stride_w <= 2 && x_stride_w == 1 &&
                         y_stride_w == 1;
    if (is_flat && !is_rows) {
        depthwise_flat(x, w, bias, has_bias, y, item, items, CONV_ARGS, ACT_ARGS);
        return;
    }
#define ROWS(width, stride, fold) \
    if (kernel_w == width && stride_w == stride && (fold == 2) == FITS_HALF(out_w, stride)) { \
        depthwise_rows(width, stride, fold, x, w, bias, has_bias, y, item, items, CONV_ARGS, ACT_ARGS); \
        return; \
    }
    if (is_rows) {
        ROWS(3, 1, 1) ROWS(3, 2, 1) ROWS(3, 1, 2) ROWS(3, 2, 2)
        ROWS(5, 1, 1) ROWS(5, 2, 1) ROWS(5, 1, 2) ROWS(5, 2, 2)
    }
#undef ROWS

    // A block of outputs whose padded inputs fit: whole rows if at all possible.
    const int pixels_most = PIXELS;
    const int columns_most = (pixels_most / (span_h + 1) - span_w - 1) / stride_w + 1;
    const int block_w = min(out_w, columns_most);
    const int pitch = (block_w - 1) * stride_w + span_w + 1;
    const int rows_most = min((pixels_most / pitch - span_h - 1) / stride_h + 1, max(1, PIXELS / block_w));
    const int block_h = min(out_h, rows_most);

    // This item's share of the blocks of all planes, VW planes at once.
    const int channel_blocks = (groups + VW - 1) / VW;
    const int blocks_h = (out_h + block_h - 1) / block_h, blocks_w = (out_w + block_w - 1) / block_w;
    const long blocks = (long)batch * channel_blocks * blocks_h * blocks_w;

    acc_t pixels[PIXELS * VW];
    acc_t result[(PIXELS + VW) * VW];
    acc_t weights[MAX_TAPS * VW];

    const long block_begin = blocks * item / items;
    for (long block = block_begin; block < blocks * (item + 1) / items; ++block) {
        const long channel_image = block / blocks_w / blocks_h;
        const int channel = channel_image % channel_blocks * VW, channels = min(VW, groups - channel);
        const long image = channel_image / channel_blocks;
        const int first_row = block / blocks_w % blocks_h * block_h, first_column = block % blocks_w * block_w;
        const int rows = min(block_h, out_h - first_row), columns = min(block_w, out_w - first_column);
        const __global data_t *source = x + image * x_stride_n + channel * x_stride_c;

        // The input rows and columns under the block, of which some may be padding.
        const int top = first_row * stride_h - pad_h, left = first_column * stride_w - pad_w;
        const int bottom = top + (rows - 1) * stride_h + span_h + 1;
        const int right = left + (columns - 1) * stride_w + span_w + 1;
        const int row_begin = clamp(0, top, bottom), row_end = clamp(in_h, row_begin, bottom);
        const int column_begin = clamp(0, left, right), column_end = clamp(in_w, column_begin, right);
        const int inside = (row_end - row_begin) * (column_end - column_begin);
        // One block a plane: the margins are still zero from the plane before.
        if (inside < (bottom - top) * (right - left) && (block == block_begin || blocks_h * blocks_w > 1))
            for (int i = 0; i < (bottom - top) * pitch; ++i)
                store_private((vf)(0.0f), pixels + i * VW);
        if (x_is_flat && column_begin == 0 && column_end == in_w) {
            // All columns: the rows are one run.
            acc_t *to = pixels + ((row_begin - top) * pitch - left) * VW;
            const __global data_t *from = source + (long)row_begin * in_w;
            for (int i = 0, column = 0; i < inside; i += VW) {
                acc_t tile[VW * VW];
                if (channels == VW && from + i + (VW - 1) * x_stride_c + VW <= x_end)
                    load_transposed(from + i, x_stride_c, tile);
                else
                    load_transposed_part(from + i, x_stride_c, channels, inside - i, tile);
                for (int j = 0; j < min(VW, inside - i);) {
                    const int length = min(in_w - column, min(VW, inside - i) - j);
                    for (int k = 0; k < length; ++k)
                        store_private(load_private(tile + (j + k) * VW), to + k * VW);
                    to += length * VW;
                    j += length;
                    column += length;
                    if (column == in_w) {
                        column = 0;
                        to += (pitch - in_w) * VW;
                    }
                }
            }
        } else {
            for (int h = row_begin; h < row_end; ++h)
                for (int c = 0; c < channels; ++c) {
                    const __global data_t *from = source + c * x_stride_c + h * x_stride_h;
                    acc_t *to = pixels + ((h - top) * pitch - left) * VW + c;
                    for (int s = column_begin; s < column_end; ++s)
                        to[s * VW] = load_one(from, s * x_stride_w);
                }
        }

        for (int m = 0; m < filters; ++m) {
            const __global acc_t *w_block = w + (long)m * taps * groups + channel;
            vf start = (vf)(0.0f);
            for (int t = 0; t < taps; ++t)
                store_private(load_acc_part(w_block + (long)t * groups, channels), weights + t * VW);
            if (has_bias && filters == 1) {
                start = bias_part(bias, channel, channels, has_bias);
            } else if (has_bias) {
                acc_t lanes[VW];
                for (int c = 0; c < VW; ++c)
                    lanes[c] = c < channels ? bias_at(bias, (channel + c) * filters + m, has_bias) : 0.0f;
                start = load_private(lanes);
            }
            for (int r = 0; r < rows; ++r) {
                const acc_t *row = pixels + r * stride_h * pitch * VW;
                acc_t *to = result + r * columns * VW;
                if (kernel_h == 3 && kernel_w == 3)
                    filter_row(row, weights, start, columns, 3, 3, stride_w * VW, dilation_h * pitch * VW,
                               dilation_w * VW, to, ACT_ARGS);
                else
                    filter_row(row, weights, start, columns, kernel_h, kernel_w, stride_w * VW,
                               dilation_h * pitch * VW, dilation_w * VW, to, ACT_ARGS);
            }

            const long filter_stride = filters * y_stride_c;
            __global data_t *out = y + image * y_stride_n + ((long)channel * filters + m) * y_stride_c +
                                   first_row * y_stride_h + first_column * y_stride_w;
            if (y_is_flat && columns == out_w) {
                for (int i = 0; i < rows * columns; i += VW)
                    store_transposed(result + i * VW, out + i, filter_stride, channels, rows * columns - i);
            } else {
                for (int c = 0; c < channels; ++c)
                    for (int r = 0; r < rows; ++r)
                        for (int s = 0; s < columns; ++s)
                            store_one(out, c * filter_stride + r * y_stride_h + s * y_stride_w,
                                      result[(r * columns + s) * VW + c]);
            }
        }
    }
}

// ---- channels together: vectors of channels ----

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_depthwise_channels(const __global data_t *restrict x_base, long x_offset,
                                  const __global acc_t *restrict w_base, long w_offset,
                                  const __global data_t *restrict bias_base, long bias_offset, int flags,
                                  __global data_t *restrict y_base, long y_offset, CONV_PARAMS, SHARES_PARAM,
                                  ACT_PARAMS)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    const __global acc_t *w = w_base + w_offset;
    const __global data_t *bias = bias_base + bias_offset * UNITS(flags & WIDE_BIAS);
    const int has_bias = flags & (HAS_BIAS | WIDE_BIAS); // y is never wide here
    const long rows = (long)batch * out_h, items = get_num_groups(0), item = group_place(shares).x;
    // Few rows are cut into parts of their channels, for equal shares.
    const int parts = rows >= 16 * items ? 1 : min(4, (groups + VW - 1) / VW);
    const int part_size = ((groups + parts - 1) / parts + VW - 1) / VW * VW;
    const long units = rows * parts;

    // Square filters of 3 and 5 columns have code of their own.
    const bool is_common = kernel_h == kernel_w && (kernel_w == 3 || kernel_w == 5) && stride_w <= 2 && dilation_w == 1;
    const int span = (PIXELS_AT_ONCE - 1) * stride_w + (kernel_w - 1) * dilation_w + 1;

    for (long unit = units * item / items; unit < units * (item + 1) / items; ++unit) {
        const long at = unit / parts;
        const int c_begin = min(groups, (int)(unit - at * parts) * part_size);
        const int c_end = min(groups, c_begin + part_size), oh = at % out_h;
        const long n = at / out_h;
        const int top = oh * stride_h - pad_h;
        const int r_begin = top < 0 ? (-top + dilation_h - 1) / dilation_h : 0;
        const int r_end = min(kernel_h, top < in_h ? (in_h - 1 - top) / dilation_h + 1 : 0);
        const __global data_t *row = x + n * x_stride_n + top * x_stride_h;
        __global data_t *out_row = y_base + y_offset + n * y_stride_n + oh * y_stride_h;
        if (is_common) {
            for (int c = c_begin; c < c_end; c += VW) {
                const int count = min(VW, c_end - c);
                const vf start = has_bias ? bias_part(bias, c, count, has_bias) : (vf)(0.0f);
#define LINE(width, stride) \
    if (kernel_w == width && stride_w == stride) \
        filter_line(width, stride, row - pad_w * x_stride_w + c, dilation_h * x_stride_h, x_stride_w, \
                    bits_between(r_begin, r_end, width), -pad_w, in_w, out_w, w + c, groups, start, count, \
                    out_row + c, y_stride_w, ACT_ARGS);
                LINE(3, 1) LINE(3, 2) LINE(5, 1) LINE(5, 2)
#undef LINE
            }
            continue;
        }
        for (int ow = 0; ow < out_w;) {
            const int left = ow * stride_w - pad_w;
            const bool is_inside = ow + PIXELS_AT_ONCE <= out_w && left >= 0 && left + span <= in_w;
            const __global data_t *from = row + left * x_stride_w;
            __global data_t *out = out_row + ow * y_stride_w;
            if (is_inside && dilation_w == 1) {
                filter_pixels(from, dilation_h * x_stride_h, x_stride_w, r_begin, r_end, kernel_w, stride_w, w, bias,
                              has_bias, groups, c_begin, c_end, out, y_stride_w, ACT_ARGS);
                ow += PIXELS_AT_ONCE;
            } else {
                const int s_begin = left < 0 ? (-left + dilation_w - 1) / dilation_w : 0;
                const int s_end = min(kernel_w, left < in_w ? (in_w - 1 - left) / dilation_w + 1 : 0);
                filter_pixel(from, dilation_h * x_stride_h, dilation_w * x_stride_w, r_begin, r_end, s_begin, s_end,
                             kernel_w, w, bias, has_bias, groups, c_begin, c_end, out, ACT_ARGS);
                ++ow;
            }
        }
    }
}
