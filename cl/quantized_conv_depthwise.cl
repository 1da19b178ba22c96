// SPDX-License-Identifier: MIT
// Depthwise convolution of bytes for CPU devices: one filter for each channel, channels last.
//
// Channels side by side are a vector. A strip of outputs along the width shares the columns that it reads, each of
// which becomes floats once, and a row of the filter: for filters of 3 or 5 columns at stride 1 or 2 all of it stays in
// registers; others fetch a column for each product. Floats are exact here: 514 taps of at most 255 times 128 are less
// than 2^24. What lies outside the image counts as the zero point, and so adds nothing.
//
// Expected, for 3x3 at stride 1: 9 multiplications and 3.75 columns read and converted for a vector of outputs.
//
//   -DVW           channels a vector
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/quantized_lay_out.clh"

LAY_OUT_KERNEL(husk_quantized_conv_depthwise_lay_out)

#define STRIP 8 // outputs
#define EACH_8(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#define EACH_COLUMN(STEP) /* of the most that a strip reads: 7 * 2 + 5 */ \
    EACH_8(STEP) STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15) STEP(16) STEP(17) STEP(18)

// Weights as floats, [tap][channel], a tap a work-group.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantized_conv_depthwise_pack(const __global uchar *w_base, long w_offset, long w_k, long w_d, long w_h,
                                        long w_w, int filter_h, int filter_w, int channels, __global float *to_base,
                                        long to_offset)
{
    const int tap = (int)get_group_id(0), row = tap / filter_w;
    const __global uchar *w = w_base + w_offset + row / filter_h * w_d + row % filter_h * w_h + tap % filter_w * w_w;
    __global float *to = to_base + to_offset + (long)tap * channels;
    for (int c = 0; c < channels; ++c)
        to[c] = (float)(char)w[c * w_k];
}

// What a strip is multiplied with, for one row of the filter.
typedef struct {
    const __global uchar *x; // the image's row, at the strip's first channel
    long x_column;
    int start, width; // of the strip's first tap, among the image's columns
    uchar flip;
    vf zero;
    const __global float *w; // the filter's row, at the first channel
    long w_tap;
} strip_row;

ALWAYS_INLINE vf column_at(const strip_row *r, int column)
{
    return convert_vf(convert_vi(LOAD_BYTES(r->x + column * r->x_column) ^ r->flip)) - r->zero;
}

// taps, stride: literals. has_edge: some columns may lie outside.
ALWAYS_INLINE void add_row(vf *sums, int taps, int stride, bool has_edge, const strip_row *r)
{
    vf weights[5];
#define WEIGHT(t) \
    if ((t) < taps) \
        weights[t] = LOAD_UNALIGNED(__global, r->w + (t) * r->w_tap);
    WEIGHT(0) WEIGHT(1) WEIGHT(2) WEIGHT(3) WEIGHT(4)
#undef WEIGHT
#define TAP(i, t) \
    if ((t) < taps && (i) >= (t) && ((i) - (t)) % stride == 0 && ((i) - (t)) / stride < STRIP) \
        sums[((i) - (t)) / stride] = MAD(value, weights[t], sums[((i) - (t)) / stride]);
#define COLUMN(i) \
    if ((i) < (STRIP - 1) * stride + taps && (!has_edge || (uint)(r->start + (i)) < (uint)r->width)) { \
        const vf value = column_at(r, r->start + (i)); \
        TAP(i, 0) TAP(i, 1) TAP(i, 2) TAP(i, 3) TAP(i, 4) \
    }
    EACH_COLUMN(COLUMN)
#undef COLUMN
#undef TAP
}

// Any taps, stride and dilation; fewer channels than a vector has.
ALWAYS_INLINE void add_any_row(vf *sums, int taps, int stride, int dilation, int lanes, const strip_row *r)
{
    for (int t = 0; t < taps; ++t) {
        const __global float *w = r->w + t * r->w_tap;
        const vf weight = lanes == VW ? LOAD_UNALIGNED(__global, w) : fetch_scales(w, 1, lanes);
#define OUTPUT(s) \
    { \
        const int column = r->start + t * dilation + (s) * stride; \
        if ((uint)column < (uint)r->width) { \
            vf value; \
            if (lanes == VW) { \
                value = column_at(r, column); \
            } else { \
                uchar some[VW]; \
                for (int i = 0; i < VW; ++i) \
                    some[i] = i < lanes ? r->x[column * r->x_column + i] : (uchar)0; \
                value = convert_vf(convert_vi(vload_vf(0, some) ^ r->flip)) - r->zero; \
            } \
            sums[s] = MAD(value, weight, sums[s]); \
        } \
    }
        EACH_8(OUTPUT)
#undef OUTPUT
    }
}

// Work-groups: rows of outputs, counted over images, depths and heights; and blocks of channels, of which the last has
// all that are left. kernel_columns: the literals that fit, 10 * taps + stride, or 0.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantized_conv_depthwise(const __global uchar *x_base, long x_offset, long x_n, long x_d, long x_h, long x_w,
                                   int flip, const __global float *w_base, long w_offset,
                                   __global uchar *y_base, long y_offset, long y_n, long y_c, long y_d, long y_h,
                                   long y_w, int channels, int in_d, int in_h, int in_w, int filter_d, int filter_h,
                                   int filter_w, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h,
                                   int pad_w, int dilation_d, int dilation_h, int dilation_w, int out_d, int out_h,
                                   int out_w, int kernel_columns, int block, long total, long share, FINISH_PARAMS)
{
    const finish_t finish = FINISH_FROM(0);
    const long element = kind == OUTPUT_BYTES ? 1 : kind == OUTPUT_SUMS ? 4 : (long)sizeof(data_t);
    const int first_channel = (int)get_group_id(1) * block;
    const int last_channel = get_group_id(1) + 1 == get_num_groups(1) ? channels : first_channel + block;
    const long first = get_group_id(0) * share, last = min(first + share, total);
    for (long row = first; row < last; ++row) {
        const int oh = (int)(row % out_h), od = (int)(row / out_h % out_d);
        const long n = row / out_h / out_d;
        const int top = oh * stride_h - pad_h, front = od * stride_d - pad_d;
        __global uchar *y = y_base + (y_offset + n * y_n + od * y_d + oh * y_h) * element;
        for (int ow = 0; ow < out_w; ow += STRIP) {
            const int there = min(out_w - ow, STRIP);
            strip_row r = {.x_column = x_w, .start = ow * stride_w - pad_w, .width = in_w, .flip = (uchar)flip,
                           .zero = (vf)((float)zero), .w_tap = channels};
            const bool has_edge = r.start < 0 || r.start + (STRIP - 1) * stride_w + filter_w > in_w;
            for (int c = first_channel; c < last_channel; c += VW) {
                // The last vector reaches back, where there is room.
                const int at = max(min(c, last_channel - VW), first_channel);
                const int lanes = min(last_channel - at, VW);
                vf sums[STRIP];
#define CLEAR(s) sums[s] = (vf)(0.0f);
                EACH_8(CLEAR)
#undef CLEAR
                for (int depth = 0; depth < filter_d; ++depth) {
                    const int d = front + depth * dilation_d;
                    if ((uint)d >= (uint)in_d)
                        continue;
                    for (int height = 0; height < filter_h; ++height) {
                        const int h = top + height * dilation_h;
                        if ((uint)h >= (uint)in_h)
                            continue;
                        r.x = x_base + x_offset + n * x_n + d * x_d + h * x_h + at;
                        r.w = w_base + w_offset + (long)((depth * filter_h + height) * filter_w) * channels + at;
#define FITTING(taps, stride) \
    if (lanes == VW && kernel_columns == 10 * (taps) + (stride)) { \
        if (has_edge) \
            add_row(sums, taps, stride, true, &r); \
        else \
            add_row(sums, taps, stride, false, &r); \
    } else
                        FITTING(3, 1)
                        FITTING(3, 2)
                        FITTING(5, 1)
                        FITTING(5, 2)
                            add_any_row(sums, filter_w, stride_w, dilation_w, lanes, &r);
#undef FITTING
                    }
                }
                const vf scale = scales_of(&finish, at, lanes), bias = biases_of(&finish, at, lanes);
                vf lines[STRIP]; // not the sums themselves, which then would not stay in registers
#define KEEP(s) lines[s] = sums[s];
                EACH_8(KEEP)
#undef KEEP
                for (int s = 0; s < there; ++s)
                    store_sums(convert_vi(lines[s]), y + at * y_c * element, (ow + s) * y_w, y_c, lanes, scale, bias,
                               &finish, ACT_ARGS);
            }
        }
    }
}
