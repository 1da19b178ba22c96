// SPDX-License-Identifier: MIT
// Depthwise convolution of bytes for CPU devices: one filter for each channel, channels last.
//
// Channels side by side are a vector. Four rows of the filter (of its depths, one after the other) are a quad: what
// four rows of the image have in a column becomes a vector of quads once, and is multiplied with a quad of the filter
// for each of the outputs it meets, a strip of which stays in registers. That is for filters of 3 or 5 columns at
// stride 1 or 2; others gather a column for each of their outputs. What lies outside the image counts as the zero
// point, which the sum of the filter takes away again.
//
// Expected, for 3x3 at stride 1: 3 instructions that multiply, and 1.25 columns of 8, for a vector of outputs.
//
//   -DVW                       channels a vector
//   -DDOT_QUADS, -DDOT_PLAIN   see lib/quantized_dot.clh
//   -DACT_SMOOTH               with the transcendental activations, see lib/activation.clh
#include "lib/quantized_dot.clh"
#include "lib/quantized_lay_out.clh"

LAY_OUT_KERNEL(husk_quantized_conv_depthwise_lay_out)

#define STRIP 8 // outputs
#define EACH_8(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
#define EACH_COLUMN(STEP) /* of the most that a strip reads: 7 * 2 + 5 */ \
    EACH_8(STEP) STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15) STEP(16) STEP(17) STEP(18)

// The filters, [quad of rows][column][channel] in words, and behind them their sums. A work-group packs one vector of
// channels; rows: of all depths.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantized_conv_depthwise_pack(const __global uchar *w_base, long w_offset, long w_k, long w_d, long w_h,
                                        long w_w, int rows, int filter_h, int filter_w, int channels,
                                        __global int *to_base, long to_offset)
{
    ONE_ITEM();
    const int first = (int)get_group_id(0) * VW, quads = (rows + 3) / 4;
    __global int *sums = to_base + to_offset + (long)quads * filter_w * channels;
    for (int c = first; c < min(first + VW, channels); ++c) {
        const __global uchar *w = w_base + w_offset + c * w_k;
        int sum = 0;
        for (int q = 0; q < quads; ++q)
            for (int column = 0; column < filter_w; ++column) {
                uint word = 0;
                for (int row = 4 * q; row < min(4 * q + 4, rows); ++row) {
                    const uchar byte = w[row / filter_h * w_d + row % filter_h * w_h + column * w_w];
                    word |= (uint)byte << 8 * (row % 4);
                    sum += (char)byte;
                }
                to_base[to_offset + ((long)q * filter_w + column) * channels + c] = (int)word;
            }
        sums[c] = sum;
    }
}

// A strip: where it looks in the image and in the filter, at its first channel.
typedef struct {
    const __global uchar *x; // the image
    long x_d, x_h, x_w;
    int in_d, in_h, in_w, front, top, start; // of the image; and where the filter's first element lies
    int filter_h, filter_w, rows, dilation_d, dilation_h;
    uint flips, zeros; // of a quad
    const __global int *w;
    long w_step; // from a column of a quad to the next
} strip_view;

// A quad of the strip's rows. Those outside are read where the image begins, and replaced.
typedef struct {
    long rows[4];
    uint inside; // bits to keep; the others are the zero point
} quad_view;

#define KEPT_QUADS 4 // of an output's row

ALWAYS_INLINE quad_view find_quad(const strip_view *v, int quad)
{
    quad_view q = {.inside = 0};
#define ROW(i) \
    { \
        const int row = min(4 * quad + (i), v->rows - 1); /* those that are too many meet zeros of the filter */ \
        const int d = v->front + row / v->filter_h * v->dilation_d, h = v->top + row % v->filter_h * v->dilation_h; \
        const bool is_inside = (uint)d < (uint)v->in_d && (uint)h < (uint)v->in_h; \
        q.rows[i] = is_inside ? d * v->x_d + h * v->x_h : 0; \
        q.inside |= is_inside ? 255u << 8 * (i) : 0u; \
    }
    ROW(0) ROW(1) ROW(2) ROW(3)
#undef ROW
    return q;
}

// Fewer channels than a vector has are read one by one.
ALWAYS_INLINE vi bytes_of(const __global uchar *at, int lanes)
{
    if (lanes == VW)
        return convert_vi(LOAD_BYTES(at));
    uchar some[VW];
    for (int i = 0; i < VW; ++i)
        some[i] = i < lanes ? at[i] : (uchar)0;
    return convert_vi(LOAD_PRIVATE(vb, some));
}

ALWAYS_INLINE vi words_of(const __global int *at, int lanes)
{
    if (lanes == VW)
        return LOAD_WORDS(at);
    int some[VW];
    for (int i = 0; i < VW; ++i)
        some[i] = i < lanes ? at[i] : 0;
    return LOAD_PRIVATE(vi, some);
}

// A column of a quad; rows, a literal: as many as the filter has.
ALWAYS_INLINE vi column_at(const strip_view *v, const quad_view *q, int rows, int column, int lanes)
{
    const __global uchar *at = v->x + column * v->x_w;
    vi words = bytes_of(at + q->rows[0], lanes);
    if (rows > 1)
        words |= bytes_of(at + q->rows[1], lanes) << 8;
    if (rows > 2)
        words |= bytes_of(at + q->rows[2], lanes) << 16;
    if (rows > 3)
        words |= bytes_of(at + q->rows[3], lanes) << 24;
    return ((words ^ (vi)((int)v->flips)) & (vi)((int)q->inside)) | (vi)((int)(v->zeros & ~q->inside));
}

// All of a strip's sums. rows, taps, stride, has_edge: literals; rows: of the only quad, or 4 of KEPT_QUADS at most.
ALWAYS_INLINE void sum_strip(vi *lines, int rows, int taps, int stride, bool has_edge, const strip_view *v,
                             const quad_view *kept)
{
    vi sums[STRIP];
#define CLEAR(s) sums[s] = (vi)(0);
    EACH_8(CLEAR)
#undef CLEAR
    for (int quad = 0; quad < (rows < 4 ? 1 : (v->rows + 3) / 4); ++quad) {
        const quad_view q = kept[quad];
        const __global int *w = v->w + quad * taps * v->w_step;
        SPREAD_B(0, LOAD_WORDS(w))
        SPREAD_B(1, LOAD_WORDS(w + v->w_step))
        SPREAD_B(2, LOAD_WORDS(w + 2 * v->w_step))
        SPREAD_B(3, LOAD_WORDS(w + min(taps - 1, 3) * v->w_step))
        SPREAD_B(4, LOAD_WORDS(w + (taps - 1) * v->w_step))
#define TAP(i, t) \
    if ((t) < taps && (i) >= (t) && ((i) - (t)) % stride == 0 && ((i) - (t)) / stride < STRIP) { \
        DOT(sums[((i) - (t)) / stride], t) \
    }
#define COLUMN(i) \
    if ((i) < (STRIP - 1) * stride + taps) { \
        vi words = (vi)((int)v->zeros); \
        if (!has_edge || (uint)(v->start + (i)) < (uint)v->in_w) \
            words = column_at(v, &q, rows, v->start + (i), VW); \
        SPREAD_A(words) \
        TAP(i, 0) TAP(i, 1) TAP(i, 2) TAP(i, 3) TAP(i, 4) \
    }
        EACH_COLUMN(COLUMN)
#undef COLUMN
#undef TAP
    }
#define KEEP(s) lines[s] = sums[s];
    EACH_8(KEEP)
#undef KEEP
}

// Any stride and dilation; fewer channels than a vector has.
ALWAYS_INLINE void sum_any_strip(vi *lines, int stride, int dilation, int lanes, const strip_view *v)
{
    vi sums[STRIP];
#define CLEAR(s) sums[s] = (vi)(0);
    EACH_8(CLEAR)
#undef CLEAR
    for (int quad = 0; quad < (v->rows + 3) / 4; ++quad) {
        const quad_view q = find_quad(v, quad);
        for (int t = 0; t < v->filter_w; ++t) {
            SPREAD_B(0, words_of(v->w + (quad * v->filter_w + t) * v->w_step, lanes))
#define OUTPUT(s) \
    { \
        const int column = v->start + t * dilation + (s) * stride; \
        vi words = (vi)((int)v->zeros); \
        if ((uint)column < (uint)v->in_w) \
            words = column_at(v, &q, 4, column, lanes); \
        SPREAD_A(words) \
        DOT(sums[s], 0) \
    }
            EACH_8(OUTPUT)
#undef OUTPUT
        }
    }
#define KEEP(s) lines[s] = sums[s];
    EACH_8(KEEP)
#undef KEEP
}

// Work-groups: rows of outputs, counted over images, depths and heights; and blocks of channels, of which the last has
// all that are left. literals: 10 * taps + stride where they are 3 or 5, and 1 or 2, and the filter has 4 * KEPT_QUADS
// rows at most, else 0.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantized_conv_depthwise(const __global uchar *x_base, long x_offset, long x_n, long x_d, long x_h, long x_w,
                                   int flip, const __global int *w_base, long w_offset,
                                   __global uchar *y_base, long y_offset, long y_n, long y_c, long y_d, long y_h,
                                   long y_w, int channels, int in_d, int in_h, int in_w, int filter_d, int filter_h,
                                   int filter_w, int stride_d, int stride_h, int stride_w, int pad_d, int pad_h,
                                   int pad_w, int dilation_d, int dilation_h, int dilation_w, int out_d, int out_h,
                                   int out_w, int literals, int block, long total, long share, FINISH_PARAMS)
{
    ONE_ITEM();
    const finish_t finish = FINISH_FROM(0);
    const long element = kind == OUTPUT_BYTES ? 1 : kind == OUTPUT_SUMS ? 4 : (long)sizeof(data_t);
    const int first_channel = (int)get_group_id(1) * block;
    const int last_channel = get_group_id(1) + 1 == get_num_groups(1) ? channels : first_channel + block;
    const long first = get_group_id(0) * share, last = min(first + share, total);
    const int rows = filter_d * filter_h;
    const __global int *w_sums = w_base + w_offset + (long)((rows + 3) / 4) * filter_w * channels;
    for (long row = first; row < last; ++row) {
        const int oh = (int)(row % out_h), od = (int)(row / out_h % out_d);
        const long n = row / out_h / out_d;
        __global uchar *y = y_base + (y_offset + n * y_n + od * y_d + oh * y_h) * element;
        strip_view v = {.x_d = x_d, .x_h = x_h, .x_w = x_w, .in_d = in_d, .in_h = in_h, .in_w = in_w,
                        .front = od * stride_d - pad_d, .top = oh * stride_h - pad_h, .filter_h = filter_h,
                        .filter_w = filter_w, .rows = rows, .dilation_d = dilation_d, .dilation_h = dilation_h,
                        .flips = (uint)flip * 0x01010101u, .zeros = (uint)zero * 0x01010101u, .w_step = channels};
        quad_view kept[KEPT_QUADS];
        for (int quad = 0; quad < min((rows + 3) / 4, KEPT_QUADS); ++quad)
            kept[quad] = find_quad(&v, quad);
        for (int ow = 0; ow < out_w; ow += STRIP) {
            const int there = min(out_w - ow, STRIP);
            v.start = ow * stride_w - pad_w;
            const bool has_edge = v.start < 0 || v.start + (STRIP - 1) * stride_w + filter_w > in_w;
            for (int c = first_channel; c < last_channel; c += VW) {
                // The last vector reaches back, where there is room.
                const int at = max(min(c, last_channel - VW), first_channel);
                const int lanes = min(last_channel - at, VW);
                v.x = x_base + x_offset + n * x_n + at;
                v.w = w_base + w_offset + at;
                vi lines[STRIP];
#define FITTING(taps, stride, rows_here) \
    if (lanes == VW && literals == 10 * (taps) + (stride) && ((rows_here) == 4 || rows == (rows_here))) { \
        if (has_edge) \
            sum_strip(lines, rows_here, taps, stride, true, &v, kept); \
        else \
            sum_strip(lines, rows_here, taps, stride, false, &v, kept); \
    } else
                FITTING(3, 1, 3)
                FITTING(3, 2, 3)
                FITTING(3, 1, 4)
                FITTING(3, 2, 4)
                FITTING(5, 1, 4)
                FITTING(5, 2, 4)
                    sum_any_strip(lines, stride_w, dilation_w, lanes, &v);
#undef FITTING
                const vi correction = words_of(w_sums + at, lanes) * (vi)(zero);
                const vf scale = scales_of(&finish, at, lanes), bias = biases_of(&finish, at, lanes);
                if (y_w == 1 && y_c != 1 && kind != OUTPUT_SUMS) {
                    for (int s = 0; s < there; s += VW)
                        store_neighbours(lines + s, 1, min(VW, there - s), correction, y + at * y_c * element, ow + s,
                                         y_c, lanes, scale, bias, &finish, ACT_ARGS);
                    continue;
                }
                for (int s = 0; s < there; ++s)
                    store_sums(lines[s] - correction, y + at * y_c * element, (ow + s) * y_w, y_c, lanes, scale, bias,
                               &finish, ACT_ARGS);
            }
        }
    }
}
