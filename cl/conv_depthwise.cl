// SPDX-License-Identifier: MIT
// Depthwise convolution (one input channel a group) in one or two dimensions, for CPUs; `filters`, the
// filters of a group, is the channel multiplier. Any stride, padding and dilation; filters of up to 256 taps
// that reach over up to 1024 pixels.
//
//   husk_conv_depthwise           channels apart (NCHW and any strides). A 3x3 filter at stride 1 or 2 runs down
//                                 strips of a plane straight from x, with the edges masked. Anything else, and
//                                 rows shorter than a vector: VW planes are transposed into private memory, so
//                                 that a vector holds a pixel of VW channels, and back.
//   husk_conv_depthwise_channels  channels together (NHWC, multiplier 1): vectors of channels.
//
// Weights come packed by husk_conv_depthwise_pack, [multiplier][tap][group].
//
//   VW   4, 8 or 16: floats in a vector
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"

// Pixels of VW channels that are worked on at a time, padding included. Larger rooms repeat fewer of the rows
// that two blocks share.
#define PIXELS 1024
#define MAX_TAPS 256

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_depthwise_pack(
    const __global data_t *restrict w_base, long w_offset, __global data_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const int begin = (int)((long)channels * get_group_id(0) / get_num_groups(0));
    const int end = (int)((long)channels * (get_group_id(0) + 1) / get_num_groups(0));
    const __global data_t *w = w_base + w_offset;
    __global data_t *packed = packed_base + packed_offset;
    const int taps = kernel_h * kernel_w;
    for (int m = 0; m < filters; ++m)
        for (int t = 0; t < taps; ++t)
            for (int g = begin; g < end; ++g)
                packed[((long)m * taps + t) * channels + g] =
                    w[((long)g * filters + m) * w_stride_k + t / kernel_w * w_stride_h + t % kernel_w * w_stride_w];
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
            out[i * VW + c] = c < channels ? p[c * stride + i] : 0.0f;
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

// What a 3x3 filter sees of one row for VW outputs that begin at input column `column`: three vectors, a tap each.
// Columns outside the row are zero: masked where reading them is still reading the tensor, else by elements.
ALWAYS_INLINE void load_row_taps(const __global data_t *row, int column, int in_w, int stride,
                                 const __global data_t *begin, const __global data_t *end, vf *taps)
{
    const int reach = stride == 1 ? VW + 2 : 2 * VW + 2;
    const __global data_t *p = row + column;
    vf first, second, third, fourth;
    if (column >= 0 && column + reach <= in_w) {
        first = load_vf(p);
        second = load_vf(p + (stride == 1 ? 1 : VW));
        third = load_vf(p + 2);
        fourth = stride == 1 ? third : load_vf(p + VW + 2);
    } else if (p >= begin && p + reach <= end) {
#define INSIDE(at) (((vi)(at) + LANES >= 0) & ((vi)(at) + LANES < (vi)(in_w)))
#define MASKED(at) select((vf)(0.0f), load_vf(row + (at)), INSIDE(at))
        first = MASKED(column);
        second = MASKED(column + (stride == 1 ? 1 : VW));
        third = MASKED(column + 2);
        fourth = stride == 1 ? third : MASKED(column + VW + 2);
    } else {
        acc_t lanes[2 * VW + 2];
        for (int i = 0; i < reach; ++i)
            lanes[i] = column + i >= 0 && column + i < in_w ? p[i] : 0.0f;
        first = load_private(lanes);
        second = load_private(lanes + (stride == 1 ? 1 : VW));
        third = load_private(lanes + 2);
        fourth = stride == 1 ? third : load_private(lanes + VW + 2);
    }
    taps[0] = stride == 1 ? first : even_elements(first, second);
    taps[1] = stride == 1 ? second : odd_elements(first, second);
    taps[2] = stride == 1 ? third : even_elements(third, fourth);
}

// One plane by a 3x3 filter: strips of VW columns, BAND_ROWS high, so that a row's taps are loaded once for the
// two or three outputs that see it, while the rows are read from memory nearly in their order.
#define BAND_ROWS 32
ALWAYS_INLINE void filter_strips(const __global data_t *x, long x_stride, int in_h, int in_w, int pad_h, int pad_w,
                                 int stride, const acc_t *weights, acc_t bias, __global data_t *y, long y_stride,
                                 int out_h, int out_w, const __global data_t *begin, const __global data_t *end,
                                 ACT_PARAMS)
{
    const int strips = (out_w + VW - 1) / VW, bands = (out_h + BAND_ROWS - 1) / BAND_ROWS;
    for (int block = 0; block < strips * bands; ++block) {
        const int ow = block % strips * VW, oh_begin = block / strips * BAND_ROWS;
        const int oh_end = min(out_h, oh_begin + BAND_ROWS), column = ow * stride - pad_w;
        vf top[3], middle[3], bottom[3];
#define LOAD_TAPS(taps, row) \
    if ((row) >= 0 && (row) < in_h) { \
        load_row_taps(x + (row) * x_stride, column, in_w, stride, begin, end, taps); \
    } else { \
        taps[0] = taps[1] = taps[2] = (vf)(0.0f); \
    }
        int row = oh_begin * stride - pad_h;
        LOAD_TAPS(top, row)
        if (stride == 1) {
            LOAD_TAPS(middle, row + 1)
        }
        for (int oh = oh_begin; oh < oh_end; ++oh, row += stride) {
            if (stride == 2) {
                LOAD_TAPS(middle, row + 1)
            }
            LOAD_TAPS(bottom, row + 2)
            vf a = (vf)(bias), b = (vf)(0.0f), c = (vf)(0.0f);
#define ADD(s) \
    a = MAD((vf)(weights[s]), top[s], a); \
    b = MAD((vf)(weights[3 + s]), middle[s], b); \
    c = MAD((vf)(weights[6 + s]), bottom[s], c);
            ADD(0) ADD(1) ADD(2)
#undef ADD
            store_vf_part(activate(a + b + c, ACT_ARGS), y + oh * y_stride + ow, out_w - ow);
#define MOVE(s) \
    top[s] = stride == 1 ? middle[s] : bottom[s]; \
    middle[s] = bottom[s];
            MOVE(0) MOVE(1) MOVE(2)
#undef MOVE
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_depthwise(const __global data_t *restrict x_base, long x_offset,
                         const __global data_t *restrict w_base, long w_offset,
                         const __global data_t *restrict bias_base, long bias_offset, int has_bias,
                         __global data_t *restrict y_base, long y_offset, CONV_PARAMS, ACT_PARAMS)
{
    const __global data_t *x = x_base + x_offset, *w = w_base + w_offset, *bias = bias_base + bias_offset;
    __global data_t *y = y_base + y_offset;
    const __global data_t *x_end = x + (batch - 1) * x_stride_n + (groups - 1) * x_stride_c +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    const int span_h = (kernel_h - 1) * dilation_h, span_w = (kernel_w - 1) * dilation_w;
    const int taps = kernel_h * kernel_w;
    const int x_is_flat = x_stride_w == 1 && x_stride_h == in_w;
    const int y_is_flat = y_stride_w == 1 && y_stride_h == out_w;

    if (kernel_h == 3 && kernel_w == 3 && dilation_h == 1 && dilation_w == 1 && x_stride_w == 1 && y_stride_w == 1 &&
        stride_h == stride_w && stride_w <= 2 && 4 * out_w >= 3 * VW) {
        const long planes = (long)batch * groups * filters, items_all = get_num_groups(0), me = get_group_id(0);
        for (long plane = planes * me / items_all; plane < planes * (me + 1) / items_all; ++plane) {
            const long image = plane / (groups * filters);
            const int filter = plane % (groups * filters), channel = filter / filters;
            acc_t nine[9];
            for (int t = 0; t < 9; ++t)
                nine[t] = w[((long)(filter % filters) * 9 + t) * groups + channel];
            const __global data_t *from = x + image * x_stride_n + channel * x_stride_c;
            __global data_t *to = y + image * y_stride_n + filter * y_stride_c;
            const acc_t start = has_bias ? bias[filter] : 0.0f;
            if (stride_w == 1)
                filter_strips(from, x_stride_h, in_h, in_w, pad_h, pad_w, 1, nine, start, to, y_stride_h, out_h, out_w,
                              x, x_end, ACT_ARGS);
            else
                filter_strips(from, x_stride_h, in_h, in_w, pad_h, pad_w, 2, nine, start, to, y_stride_h, out_h, out_w,
                              x, x_end, ACT_ARGS);
        }
        return;
    }

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
    const long items = get_num_groups(0), item = get_group_id(0);

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
                        to[s * VW] = from[s * x_stride_w];
                }
        }

        for (int m = 0; m < filters; ++m) {
            const __global data_t *w_block = w + (long)m * taps * groups + channel;
            vf start = (vf)(0.0f);
            for (int t = 0; t < taps; ++t)
                store_private(load_vf_part(w_block + (long)t * groups, channels), weights + t * VW);
            if (has_bias && filters == 1) {
                start = load_vf_part(bias + channel, channels);
            } else if (has_bias) {
                acc_t lanes[VW];
                for (int c = 0; c < VW; ++c)
                    lanes[c] = c < channels ? bias[(channel + c) * filters + m] : 0.0f;
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
                            out[c * filter_stride + r * y_stride_h + s * y_stride_w] =
                                result[(r * columns + s) * VW + c];
            }
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_depthwise_channels(const __global data_t *restrict x_base, long x_offset,
                                  const __global data_t *restrict w_base, long w_offset,
                                  const __global data_t *restrict bias_base, long bias_offset, int has_bias,
                                  __global data_t *restrict y_base, long y_offset, CONV_PARAMS, ACT_PARAMS)
{
    const __global data_t *x = x_base + x_offset, *w = w_base + w_offset, *bias = bias_base + bias_offset;
    const long rows = (long)batch * out_h;
    const long items = get_num_groups(0), item = get_group_id(0);

    for (long at = rows * item / items; at < rows * (item + 1) / items; ++at) {
        const int oh = at % out_h;
        const long n = at / out_h;
        const __global data_t *image = x + n * x_stride_n;
        const int top = oh * stride_h - pad_h;
        const int r_begin = top < 0 ? (-top + dilation_h - 1) / dilation_h : 0;
        const int r_end = min(kernel_h, top < in_h ? (in_h - 1 - top) / dilation_h + 1 : 0);
        for (int ow = 0; ow < out_w; ++ow) {
            const int left = ow * stride_w - pad_w;
            const int s_begin = left < 0 ? (-left + dilation_w - 1) / dilation_w : 0;
            const int s_end = min(kernel_w, left < in_w ? (in_w - 1 - left) / dilation_w + 1 : 0);
            __global data_t *out = y_base + y_offset + n * y_stride_n + oh * y_stride_h + ow * y_stride_w;
            for (int c = 0; c < groups; c += 4 * VW) {
                const int count = groups - c;
                vf sum[4] = {(vf)(0.0f), (vf)(0.0f), (vf)(0.0f), (vf)(0.0f)};
#define START(v) \
    if (has_bias) \
        sum[v] = load_vf_part(bias + c + (v) * VW, count - (v) * VW);
                REPEAT_4(START)
#undef START
                for (int r = r_begin; r < r_end; ++r) {
                    const __global data_t *row = image + (top + r * dilation_h) * x_stride_h + c;
                    for (int s = s_begin; s < s_end; ++s) {
                        const __global data_t *tap = row + (left + s * dilation_w) * x_stride_w;
                        const __global data_t *weight = w + ((long)r * kernel_w + s) * groups + c;
                        if (count >= 4 * VW) {
#define ADD(v) sum[v] = MAD(load_vf(tap + (v) * VW), load_vf(weight + (v) * VW), sum[v]);
                            REPEAT_4(ADD)
#undef ADD
                        } else {
#define ADD(v) \
    if (count > (v) * VW) \
        sum[v] = MAD(load_vf_part(tap + (v) * VW, count - (v) * VW), \
                     load_vf_part(weight + (v) * VW, count - (v) * VW), sum[v]);
                            REPEAT_4(ADD)
#undef ADD
                        }
                    }
                }
#define FINISH(v) store_vf_part(activate(sum[v], ACT_ARGS), out + c + (v) * VW, count - (v) * VW);
                REPEAT_4(FINISH)
#undef FINISH
            }
        }
    }
}
