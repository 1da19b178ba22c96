// SPDX-License-Identifier: MIT
// What surrounds the convolutions that a gradient by the data is made of, for CPUs.
//
// With a stride s, the elements of dx whose index is p modulo s meet every s-th element of the filter alone: they are a
// convolution of dy with stride 1, whose filter has these elements in reverse, channels and filters exchanged. There
// are s of them a dimension, the phases, and the library's own convolution computes them (any of its variants).
//
//   flip         w[g K + k][c][r] -> flipped[g C + c][k][m], r = first + (taps - 1 - m) * step
//   interleave   dx[i] = phase[i mod s][i / s], or is added to; a phase that meets nothing is not there and is zero
//
// flip costs reading w once a call; some channels go together, since their taps are neighbours in w. interleave costs
// reading and writing dx once, and is not needed with stride 1. Phases lie in scratch memory, one every `slot`
// elements, packed in dx's order of dimensions.
//
// Other ways have kernels here, so that they are no programs of their own:
//   depthwise           writes dx, see lib/data_strips.clh
//   columns, patches    dx from a product of dy and the weights, see lib/data_columns.clh: patches that overlap, and
//                       those that do not
//
//   VW   4, 8 or 16: floats in a vector
#define TILE_M 1 // lib/tile.clh's transposing alone is wanted
#define TILE_NV 1
#include "lib/vector.clh"
#include "lib/convolution.clh"
#include "lib/data_columns.clh"
#include "lib/data_strips.clh"
#include "lib/shares.clh"

#define TOGETHER 16 // channels

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_backward_data_flip(
    const __global data_t *restrict w_base, long w_offset, __global data_t *restrict flipped_base, long flipped_offset,
    int all_channels, int channels, int filters, int taps_d, int taps_h, int taps_w, int first_d, int first_h,
    int first_w, int step_d, int step_h, int step_w, long w_stride_k, long w_stride_c, long w_stride_d,
    long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const long items = get_num_groups(0), item = get_group_id(0);
    const int begin = (int)(all_channels * item / items), end = (int)(all_channels * (item + 1) / items);
    const long taps = (long)taps_d * taps_h * taps_w;
    const long last = (first_d + (taps_d - 1) * step_d) * w_stride_d + (first_h + (taps_h - 1) * step_h) * w_stride_h +
                      (first_w + (taps_w - 1) * step_w) * w_stride_w;
    // The taps are neighbours, in their order.
    const bool is_flat = (taps_w == 1 || step_w * w_stride_w == 1) && (taps_h == 1 || step_h * w_stride_h == taps_w) &&
                         (taps_d == 1 || step_d * w_stride_d == (long)taps_h * taps_w);
    for (int channel = begin, together; channel < end; channel += together) {
        const int group = channel / channels, first = channel % channels;
        together = min(min(TOGETHER, end - channel), channels - first);
        const __global data_t *w = w_base + w_offset + last + (long)group * filters * w_stride_k + first * w_stride_c;
        __global data_t *to = flipped_base + flipped_offset + (long)channel * filters * taps;
        for (int k = 0; k < filters; ++k, w += w_stride_k, to += taps)
            for (int c = 0; c < together; ++c) {
                const __global data_t *from = w + c * w_stride_c;
                __global data_t *flipped = to + c * filters * taps;
                if (is_flat) {
                    for (long i = 0; i < taps; ++i)
                        store_one(flipped, i, load_one(from, -i));
                    continue;
                }
                for (int d = 0; d < taps_d; ++d)
                    for (int h = 0; h < taps_h; ++h) {
                        const __global data_t *row = from - d * step_d * w_stride_d - h * step_h * w_stride_h;
                        for (int s = 0; s < taps_w; ++s)
                            store_one(flipped++, 0, load_one(row, -(s * step_w * w_stride_w)));
                    }
            }
    }
}

// Elements of a row's end are written in part.
inline void put(__global data_t *to, vf value, int count, int accumulate, int units)
{
    if (accumulate)
        value += load_vf_either(to, count, units);
    store_vf_either(value, to, count, units);
}

inline vf take(const __global acc_t *from, int is_there, int count)
{
    return is_there && count > 0 ? load_acc_part(from, count) : (vf)(0.0f);
}

// A row of dx from the rows of `stride` phases; one that is not there has a negative offset.
inline void interleave_row(const __global acc_t *parts, const long *offsets, int stride, int length,
                           __global data_t *to, long to_stride, int accumulate, int units)
{
    if (to_stride == units && stride == 1) {
        for (int i = 0; i < length; i += VW)
            put(to + i * units, take(parts + offsets[0] + i, offsets[0] >= 0, length - i), length - i, accumulate,
                units);
        return;
    }
    if (to_stride == units && stride == 2) {
        const int evens = (length + 1) / 2, odds = length / 2;
        for (int i = 0; 2 * i < length; i += VW) {
            const vf even = take(parts + offsets[0] + i, offsets[0] >= 0, evens - i);
            const vf odd = take(parts + offsets[1] + i, offsets[1] >= 0, odds - i);
            put(to + 2 * i * units, interleave_low(even, odd), length - 2 * i, accumulate, units);
            put(to + (2 * i + VW) * units, interleave_high(even, odd), length - 2 * i - VW, accumulate, units);
        }
        return;
    }
    for (int p = 0; p < stride && p < length; ++p)
        for (int i = p, j = 0; i < length; i += stride, ++j) {
            const acc_t value = offsets[p] >= 0 ? parts[offsets[p] + j] : 0.0f;
            __global data_t *at = to + i * to_stride;
            store_either(at, accumulate ? value + load_either(at, units) : value, units);
        }
}

#define MAX_PHASES   1024
#define NAMED_PHASES 64 // each a bit of `present`; those beyond are there

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_data_interleave(
    const __global acc_t *restrict parts_base, long parts_offset, __global data_t *restrict dx_base, long dx_offset,
    int batch, int channels, int in_d, int in_h, int in_w, int stride_d, int stride_h, int stride_w, long dx_stride_n,
    long dx_stride_c, long dx_stride_d, long dx_stride_h, long dx_stride_w, long slot, long present,
    int channels_last, int flags)
{
    ONE_ITEM();
    const int accumulate = flags & 1, units = UNITS(flags & 2);
    dx_offset *= units;
    dx_stride_n *= units;
    dx_stride_c *= units;
    dx_stride_d *= units;
    dx_stride_h *= units;
    dx_stride_w *= units;
    const __global acc_t *parts = parts_base + parts_offset;
    const long items = get_num_groups(0), item = get_group_id(0);
    const int planes = channels_last ? 1 : channels;
    const long rows = (long)batch * planes * in_d * in_h;
    const int across = channels_last ? channels : 1; // elements of a phase from one column to the next
    for (long row = rows * item / items; row < rows * (item + 1) / items; ++row) {
        const int h = row % in_h, d = row / in_h % in_d;
        const long plane = row / in_h / in_d, n = plane / planes, c = plane % planes;
        const int phase_d = d % stride_d, phase_h = h % stride_h;
        const int out_d = (in_d - phase_d + stride_d - 1) / stride_d;
        const int out_h = (in_h - phase_h + stride_h - 1) / stride_h;
        long offsets[MAX_PHASES];
        for (int p = 0; p < stride_w; ++p) {
            const int phase = (phase_d * stride_h + phase_h) * stride_w + p;
            const int out_w = (in_w - p + stride_w - 1) / stride_w;
            const bool is_there = phase >= NAMED_PHASES || (present >> phase & 1);
            const long row_of_phase = (plane * out_d + d / stride_d) * out_h + h / stride_h;
            offsets[p] = is_there ? phase * slot + row_of_phase * out_w * across : -1;
        }
        __global data_t *to = dx_base + dx_offset + n * dx_stride_n + c * dx_stride_c + d * dx_stride_d +
                              h * dx_stride_h;
        if (!channels_last) {
            interleave_row(parts, offsets, stride_w, in_w, to, dx_stride_w, accumulate, units);
            continue;
        }
        for (int w = 0; w < in_w; ++w) {
            const long from = offsets[w % stride_w];
            const long at = from < 0 ? -1 : from + (long)(w / stride_w) * channels;
            interleave_row(parts, &at, 1, channels, to + w * dx_stride_w, dx_stride_c, accumulate, units);
        }
    }
}

// One filter a channel, columns of dx and of dy are neighbours; the geometry is the forward convolution's.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_data_depthwise(const __global data_t *restrict w_base, long w_offset,
                                       const __global data_t *restrict dy_base, long dy_offset,
                                       __global data_t *restrict dx_base, long dx_offset, CONV_PARAMS,
                                       SHARES_PARAM, long w_stride_k, long w_stride_h, long w_stride_w, int accumulate)
{
    ONE_ITEM();
    const __global data_t *dy = dy_base + dy_offset;
    __global data_t *dx = dx_base + dx_offset;
    const int fold = DATA_FOLDS(stride_w, in_w) && batch > 1 ? 2 : 1;
    const int items = (int)get_num_groups(0), item = group_place(shares).x;
    const long units = (long)((batch + fold - 1) / fold) * groups, last = units * (item + 1) / items;
    const __global data_t *end = dy + (batch - 1) * y_stride_n + (groups - 1) * y_stride_c + (out_h - 1) * y_stride_h +
                                 out_w;
    data_plane p = {dy, dy, end, dx, y_stride_n, y_stride_h, x_stride_n, x_stride_h, 0, out_h, out_w, in_h, in_w,
                    pad_h, pad_w, accumulate};
    lane_mask masks[DATA_STRIPS * DATA_LOADS];
    if (in_w <= DATA_STRIPS * DATA_WIDTH(stride_w))
        for (int strip = 0; strip * DATA_WIDTH(stride_w) < in_w; ++strip)
            find_data_masks(stride_w, fold, strip, &p, masks + strip * DATA_LOADS);
    long unit = units * item / items;
    int n = (int)(unit / groups) * fold, k = (int)(unit % groups);
    for (; unit < last; ++unit) {
        const __global data_t *w = w_base + w_offset + k * w_stride_k;
        vf weights[25];
#define WEIGHT(t) \
    if ((t) < kernel_w * kernel_w) \
        weights[t] = (vf)(load_one(w, (t) / kernel_w * w_stride_h + (t) % kernel_w * w_stride_w));
        DATA_EACH_25(WEIGHT)
#undef WEIGHT
        p.dy = dy + n * y_stride_n + k * y_stride_c;
        p.dx = dx + n * x_stride_n + k * x_stride_c;
        p.dy_next = k + 1 < groups ? y_stride_c : 0;
#define SPREAD(width, stride, parity, folded) \
    if (kernel_w == width && stride_w == stride && (stride == 1 || (pad_w & 1) == parity) && fold == folded) \
        spread_strips(width, stride, parity, folded, &p, n + 1 < batch, masks, weights);
        SPREAD(3, 1, 0, 1) SPREAD(3, 1, 0, 2) SPREAD(5, 1, 0, 1) SPREAD(5, 1, 0, 2)
        SPREAD(3, 2, 0, 1) SPREAD(3, 2, 0, 2) SPREAD(5, 2, 0, 1) SPREAD(5, 2, 0, 2)
        SPREAD(3, 2, 1, 1) SPREAD(3, 2, 1, 2) SPREAD(5, 2, 1, 1) SPREAD(5, 2, 1, 2)
#undef SPREAD
        if (++k == groups) {
            k = 0;
            n += fold;
        }
    }
}

// dx's strides are the geometry's, its planes have no gaps; a work-item takes some vectors of channels.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_data_columns(const __global acc_t *restrict columns_base, long columns_offset,
                                     __global data_t *restrict dx_base, long dx_offset, CONV_PARAMS, int flags)
{
    ONE_ITEM();
    const int accumulate = flags & 1, units = UNITS(flags & 2), positions = out_h * out_w, pixels = in_h * in_w;
    const int vectors = (channels + VW - 1) / VW, taps = kernel_h * kernel_w;
    const long all = (long)batch * vectors, items = get_num_groups(0), item = get_group_id(0);
    acc_t plane[(MOST_PIXELS + VW) * VW];
    for (long unit = all * item / items; unit < all * (item + 1) / items; ++unit) {
        const long n = unit / vectors;
        const int c = unit % vectors * VW, lanes = min(VW, channels - c);
        const __global acc_t *from = columns_base + columns_offset + (n * positions * channels + c) * taps;
        for (int i = 0; i < pixels + VW; ++i)
            store_private((vf)(0.0f), plane + i * VW);
        for (int h = 0; h < out_h; ++h)
            for (int w = 0; w < out_w; ++w, from += (long)channels * taps)
                add_position(from, lanes, kernel_h, kernel_w, h * stride_h - pad_h, w * stride_w - pad_w, dilation_h,
                             dilation_w, in_h, in_w, plane);
        give_planes(plane, pixels, dx_base + (dx_offset + n * x_stride_n + c * x_stride_c) * units, x_stride_c, lanes,
                    accumulate, units);
    }
}

// Filters are no larger than the stride; a work-item takes some rows of dx.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_data_patches(const __global acc_t *restrict columns_base, long columns_offset,
                                     __global data_t *restrict dx_base, long dx_offset, CONV_PARAMS, int flags)
{
    ONE_ITEM();
    const int accumulate = flags & 1, units = UNITS(flags & 2), taps = kernel_h * kernel_w;
    const long step = (long)channels * taps; // from a position to the next
    const long all = (long)batch * channels * in_h, items = get_num_groups(0), item = get_group_id(0);
    for (long unit = all * item / items; unit < all * (item + 1) / items; ++unit) {
        const int h = unit % in_h, c = unit / in_h % channels, r = (h + pad_h) % stride_h, p = (h + pad_h) / stride_h;
        const long n = unit / in_h / channels;
        __global data_t *to = dx_base + (dx_offset + n * x_stride_n + c * x_stride_c + h * x_stride_h) * units;
        const bool is_met = r < kernel_h && p < out_h;
        const __global acc_t *from = columns_base + columns_offset +
                                     ((n * out_h + (is_met ? p : 0)) * out_w * channels + c) * taps + r * kernel_w;
        int done = 0; // columns of dx
        for (int q = 0; is_met && q < out_w; ++q, from += step) {
            const int left = q * stride_w - pad_w, first = max(left, done), last = min(left + kernel_w, in_w);
            if (first >= last)
                continue;
            give_patch(0, first - done, to + done * units, accumulate, units);
            give_patch(from + (first - left), last - first, to + first * units, accumulate, units);
            done = last;
        }
        give_patch(0, in_w - done, to + done * units, accumulate, units);
    }
}
