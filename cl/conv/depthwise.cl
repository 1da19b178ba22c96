// SPDX-License-Identifier: MIT
// Depthwise convolution (one input channel a group) in one or two dimensions, for CPUs; `filters`, the
// filters of a group, is the channel multiplier. Any stride, padding and dilation; filters of up to 256 taps
// that reach over up to 1024 pixels.
//
//   husk_conv_depthwise           channels apart (NCHW and any strides), in one of three ways.
//                                 Rows: 3x3 and 5x5 filters at stride 1 or 2 go down strips of VW columns of outputs
//                                 and load every row of x once, with the edges masked; where a row fills half a
//                                 vector at most, two planes share the vectors.
//                                 Flat: a plane whose outputs lie like its inputs is one run of elements, and a
//                                 table of masks tells every tap what is padding. For small planes and other filters.
//                                 Anything else: VW planes are transposed into private memory, so that a vector
//                                 holds a pixel of VW channels, and back.
//   husk_conv_depthwise_channels  channels together (NHWC, multiplier 1): vectors of channels.
//
// Weights come packed by husk_conv_depthwise_pack, [multiplier][tap][group].
//
//   VW   4, 8 or 16: floats in a vector
#include "lib/lanes.clh"
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"
#include "lib/shares.clh"

// Pixels of VW channels that are worked on at a time, padding included. Larger rooms repeat fewer of the rows
// that two blocks share.
#define PIXELS 1024
#define MAX_TAPS 256

#define CONV_ARGS \
    batch, groups, channels, filters, in_d, in_h, in_w, out_d, out_h, out_w, kernel_d, kernel_h, kernel_w, stride_d, \
    stride_h, stride_w, pad_d, pad_h, pad_w, dilation_d, dilation_h, dilation_w, x_stride_n, x_stride_c, x_stride_d, \
    x_stride_h, x_stride_w, y_stride_n, y_stride_c, y_stride_d, y_stride_h, y_stride_w

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

// ---- rows: vectors along a row of a plane ----

#define STRIP_LOADS 5   // vectors that are loaded of a row for a strip of outputs, at most
#define STRIPS 32       // whose masks are kept
#define BLOCK_FLOATS 4096 // of x under a block of rows, so that its strips find it in the first-level cache
#define LEAST_ROWS 8

#define EVEN_MASK ((lane_mask)0x5555)

// Columns of outputs in a strip. At stride 2 the filter's third column is found in the lane of the next output's
// first, which the last output does not have; with two planes the last one of each half.
#define STRIP_WIDTH(stride) (VW + 1 - (stride))
#define FITS_HALF(out_w, stride) ((out_w) <= VW / 2 + 1 - (stride))

// A strip of columns of one plane, or with fold 2 of two planes (x_more, y_more), the second of which has the second
// half of every vector.
typedef struct {
    const __global data_t *x, *x_more; // the strip's first column and row, which may be padding
    __global data_t *y, *y_more;
    const __global data_t *begin, *end; // elements of x that exist
    long x_stride, y_stride;
    long x_ahead; // from a row's first vector to what is asked for meanwhile, in the block that is next
    int width, width_more; // outputs, in either plane
    lane_mask first, first_more; // as masks
    lane_mask inside[STRIP_LOADS]; // which lanes of a row's loads count
} strip;

#define ROW_LOAD(plane, i, at) load_lanes(plane + (at), s->inside[i], s->begin, s->end)

// What a row of inputs gives the sums: at stride 1 a vector for each of the filter's columns.
// At stride 2 two vectors of neighbouring inputs, for half of the outputs or for one of two planes each. An even
// lane is what the filter's first column sees for one output and its third column for the output before; an odd lane
// likewise for the second and the fourth. So columns 2 and 3 have sums of their own, and lanes are brought together
// when all rows have been added: a third more multiplications for 3 columns and a fifth more for 5, but no shuffles of
// inputs, and no second load of what lies a lane further. A fifth column has loads of its own, of even lanes.
ALWAYS_INLINE void load_row(int taps_w, int stride, int fold, const strip *s, const __global data_t *x,
                            const __global data_t *more, vf *inputs)
{
    if (stride == 2) {
        inputs[0] = ROW_LOAD(x, 0, 0);
        inputs[1] = fold == 1 ? ROW_LOAD(x, 1, VW) : ROW_LOAD(more, 0, 0);
        if (taps_w == 5) {
            inputs[2] = ROW_LOAD(x, 2, 4);
            inputs[3] = fold == 1 ? ROW_LOAD(x, 3, 4 + VW) : ROW_LOAD(more, 2, 4);
        }
        return;
    }
#define INPUT(i) \
    if ((i) < taps_w) { \
        const vf a = ROW_LOAD(x, i, i), b = fold == 1 ? a : ROW_LOAD(more, i, i); \
        inputs[i] = fold == 1 ? a : (vf)(a.lo, b.lo); \
    }
    INPUT(0) INPUT(1) INPUT(2) INPUT(3) INPUT(4)
#undef INPUT
}

// The sums of an output: at stride 1 of the even and of the odd columns, so that fewer additions wait for the one
// before; at stride 2 of either vector of inputs, and of columns 2 and 3 apart.
#define SUMS_OF(stride) (2 * (stride))
#define SUM_AT(stride, j, i) ((j) * SUMS_OF(stride) + (i) % SUMS_OF(stride))
// Outputs, one below the other, that a row of inputs is added to.
#define OUTPUTS_OF(taps_w, stride) (((taps_w) - 1) / (stride) + 1)
#define MOST_SUMS 12
// The row's vector that is multiplied for column i; at stride 2 columns count by pairs and vectors.
#define INPUT_AT(stride, i) ((stride) == 1 ? (i) : (i) < 4 ? (i) % 2 : (i) - 2)

// activate(), where most activations branch around what only leaky ones need: it would take the multipliers' time.
// The slope is compared as an integer, which leaves the floating-point units alone.
ALWAYS_INLINE vf finish(vf x, ACT_PARAMS)
{
#if defined(__clang__) && !defined(ACT_SMOOTH)
    x = x < (vf)(act_low) ? (vf)(act_low) : x;
    if (__builtin_expect(as_int(act_slope) != as_int(1.0f), 0))
        x = x < (vf)(0.0f) ? x * act_slope : x;
    return x > (vf)(act_high) ? (vf)(act_high) : x;
#else
    return activate(x, ACT_ARGS);
#endif
}

// `rows` rows of outputs in one strip, from the top down: a row of inputs is loaded once and added to all the outputs
// that see it. top: the first row of inputs, which may be padding. start: what a pair of sums begins with.
ALWAYS_INLINE void filter_strip(int taps_w, int stride, int fold, const strip *s, int top, int in_h, int rows,
                                const vf *weights, const vf *start, ACT_PARAMS)
{
    vf sums[MOST_SUMS];
#define START(n) \
    if ((n) < SUMS_OF(stride) * OUTPUTS_OF(taps_w, stride)) { \
        const int column = (n) % SUMS_OF(stride); \
        sums[n] = column < 2 ? start[column] : (vf)(0.0f); \
    }
    REPEAT_8(START) START(8) START(9) START(10) START(11)
#undef START
    const __global data_t *x = s->x, *more = s->x_more;
    __global data_t *y = s->y, *y_more = s->y_more;
#define WEIGHT_OF(k, i) \
    weights[stride == 1 ? (k) * taps_w + (i) \
                        : (fold == 2 && (i) % 2 ? taps_w * (taps_w / 2 + 1) : 0) + (k) * (taps_w / 2 + 1) + (i) / 2]
#define ADD(q, j, i) \
    if ((i) < (stride == 1 ? taps_w : taps_w + 1)) { \
        const int n = SUM_AT(stride, j, i); \
        sums[n] = MAD(WEIGHT_OF((q) - (j) * stride, i), inputs[INPUT_AT(stride, i)], sums[n]); \
    }
#define ADD_TO(q, j) \
    if ((q) - (j) * stride >= 0 && (q) - (j) * stride < taps_w) { \
        ADD(q, j, 0) ADD(q, j, 1) ADD(q, j, 2) ADD(q, j, 3) ADD(q, j, 4) ADD(q, j, 5) \
    }
// Row q of those that the next output sees.
#define INPUT_ROW(q) \
    { \
        if ((uint)top < (uint)in_h) { \
            vf inputs[5]; \
            if (fold == 1 && (q) >= taps_w - stride) { \
                PREFETCH_FAR(x + s->x_ahead); \
                if (stride == 2) \
                    PREFETCH_FAR(x + s->x_ahead + VW); \
            } \
            load_row(taps_w, stride, fold, s, x, more, inputs); \
            ADD_TO(q, 0) ADD_TO(q, 1) ADD_TO(q, 2) ADD_TO(q, 3) ADD_TO(q, 4) \
        } \
        ++top; \
        x += s->x_stride; \
        if (fold == 2) \
            more += s->x_stride; \
    }
#define EARLY_ROW(q) \
    if ((q) < taps_w - stride) \
        INPUT_ROW(q)
    REPEAT_4(EARLY_ROW)
#undef EARLY_ROW
    for (int r = 0; r < rows; ++r) {
        if (stride == 2)
            INPUT_ROW(taps_w - 2)
        INPUT_ROW(taps_w - 1)
        vf sum = sums[0] + sums[1];
        if (stride == 2)
            sum = EVEN_LANES(vf, sums[0], sums[1]) + ODD_LANES(vf, sums[0], sums[1]) +
                  NEXT_EVEN_LANES(vf, sums[2], sums[3]);
        if (stride == 2 && taps_w == 5)
            sum += NEXT_ODD_LANES(vf, sums[2], sums[3]);
        const vf out = finish(sum, ACT_ARGS);
        store_lanes(out, y, s->width, s->first);
        y += s->y_stride;
        if (fold == 2) {
            store_lanes((vf)(out.hi, out.hi), y_more, s->width_more, s->first_more);
            y_more += s->y_stride;
        }
#define NEXT(n) \
    if ((n) < SUMS_OF(stride) * (OUTPUTS_OF(taps_w, stride) - 1)) \
        sums[n] = sums[((n) + SUMS_OF(stride)) % MOST_SUMS]; \
    else if ((n) < SUMS_OF(stride) * OUTPUTS_OF(taps_w, stride)) \
        sums[n] = (n) % SUMS_OF(stride) < 2 ? start[(n) % SUMS_OF(stride) % 2] : (vf)(0.0f);
        REPEAT_8(NEXT) NEXT(8) NEXT(9) NEXT(10) NEXT(11)
#undef NEXT
    }
#undef INPUT_ROW
#undef ADD_TO
#undef ADD
#undef WEIGHT_OF
}

// Which lanes of a row's loads count, for the strip of outputs that begins at column ow; see load_row.
ALWAYS_INLINE void strip_masks(int stride, int fold, int ow, int pad_w, int in_w, lane_mask *inside)
{
    const int reach = fold == 2 && stride == 1 ? VW / 2 : VW;
    for (int i = 0; i < STRIP_LOADS; ++i) {
        const int at = ow * stride - pad_w + (stride == 1 ? i : i % 2 * VW + i / 2 * 4);
        const lane_mask mask = lanes_between(-at, min(in_w - at, reach));
        inside[i] = stride == 2 && i >= 2 ? mask & EVEN_MASK : mask;
    }
}

// Blocks block_begin .. block_end-1 of block_h rows of a plane, or of two, which `planes` gives. masks: of every strip
// while there are at most STRIPS, else room for one.
ALWAYS_INLINE void filter_blocks(int taps_w, int stride, int fold, const strip *planes, lane_mask *masks, int in_h,
                                 int in_w, int out_h, int out_w, int pad_h, int pad_w, int block_h, int block_begin,
                                 int block_end, const vf *weights, const vf *start, ACT_PARAMS)
{
    const int width = STRIP_WIDTH(stride);
    strip s = *planes;
    for (int block = block_begin; block < block_end; ++block) {
        const int oh = block * block_h, rows = min(block_h, out_h - oh), top = oh * stride - pad_h;
        const long down = top * s.x_stride - pad_w;
        s.x = planes->x + down;
        s.x_more = planes->x_more + down;
        s.y = planes->y + oh * s.y_stride;
        s.y_more = planes->y_more + oh * s.y_stride;
        s.x_ahead = pad_w + (oh + rows < out_h ? (long)rows * stride * s.x_stride
                                               : planes->x_ahead - (long)oh * stride * s.x_stride);
        const lane_mask *inside = masks;
        for (int ow = 0; ow < out_w; ow += width) {
            if (out_w > STRIPS * width) {
                inside = masks;
                strip_masks(stride, fold, ow, pad_w, in_w, masks);
            }
#define INSIDE(i) s.inside[i] = inside[i];
            INSIDE(0) INSIDE(1) INSIDE(2) INSIDE(3) INSIDE(4)
#undef INSIDE
            inside += STRIP_LOADS;
            s.width = min(out_w - ow, width);
            s.first = lanes_between(0, s.width);
            if (fold == 2) {
                s.width_more = planes->width_more ? s.width : 0;
                s.first_more = lanes_between(0, s.width_more);
            }
            filter_strip(taps_w, stride, fold, &s, top, in_h, rows, weights, start, ACT_ARGS);
            s.x += width * stride;
            s.y += width;
        }
    }
}

// ---- flat: a plane as one run of elements, where outputs lie like inputs ----

#define FLAT_MASKS 1024

// A few vectors of outputs. masks: of every tap for every vector of the plane, `pitch` of them.
ALWAYS_INLINE void filter_flat(int vectors, const __global data_t *x, const __global acc_t *w, long w_stride,
                               int taps, const int *offsets, const lane_mask *masks, int pitch, vf bias,
                               __global data_t *y, int count, const __global data_t *begin,
                               const __global data_t *end, ACT_PARAMS)
{
    vf sums[4] = {bias, bias, bias, bias};
    for (int t = 0; t < taps; ++t) {
        const vf weight = (vf)(w[t * w_stride]);
        const __global data_t *tap = x + offsets[t];
#define ADD(v) \
    if ((v) < vectors) \
        sums[v] = MAD(weight, load_lanes(tap + (v) * VW, masks[t * pitch + (v)], begin, end), sums[v]);
        REPEAT_4(ADD)
#undef ADD
    }
#define FINISH(v) \
    if ((v) < vectors) \
        store_vf_part(activate(sums[v], ACT_ARGS), y + (v) * VW, count - (v) * VW);
    REPEAT_4(FINISH)
#undef FINISH
}

#define REPEAT_25(STEP) \
    REPEAT_16(STEP) STEP(16) STEP(17) STEP(18) STEP(19) STEP(20) STEP(21) STEP(22) STEP(23) STEP(24)

// The two values in even and in odd lanes.
ALWAYS_INLINE vf alternate(float even, float odd)
{
    return BLEND((vf)(odd), (vf)(even), (LANES & 1) == (vi)(0));
}

// A filter's weights as filter_strip reads them: plane 1 is the second one of two that share vectors.
ALWAYS_INLINE void load_weights(int taps_w, int stride, int plane, const __global acc_t *w, long step, vf *weights)
{
    const int pairs = taps_w / 2 + 1;
    if (stride == 1) {
#define WEIGHT(t) \
    if ((t) < taps_w * taps_w) { \
        if (plane == 0) \
            weights[t] = (vf)(w[(t) * step]); \
        else \
            weights[t].hi = w[(t) * step]; \
    }
        REPEAT_25(WEIGHT)
#undef WEIGHT
    } else {
#define WEIGHT(t) \
    if ((t) < taps_w * pairs) { \
        const __global acc_t *pair = w + ((t) / pairs * taps_w + (t) % pairs * 2) * step; \
        weights[plane * taps_w * pairs + (t)] = alternate(pair[0], (t) % pairs + 1 < pairs ? pair[step] : 0.0f); \
    }
        REPEAT_16(WEIGHT)
#undef WEIGHT
    }
}

// This work-item's share of all planes, row by row; the filter is square, of `taps_w` columns.
ALWAYS_INLINE void depthwise_rows(int taps_w, int stride, int fold, const __global data_t *x,
                                  const __global acc_t *w, const __global data_t *bias, int has_bias,
                                  __global data_t *y, int item, int items, CONV_PARAMS, ACT_PARAMS)
{
    const int block_h = min(out_h, max(LEAST_ROWS, BLOCK_FLOATS / max(1, in_w * stride)));
    const int blocks = (out_h + block_h - 1) / block_h, image_planes = groups * filters;
    const long planes = (long)batch * image_planes, units = (planes + fold - 1) / fold * blocks;
    const long last = units * (item + 1) / items;
    long unit = units * item / items;
    int block = (int)(unit % blocks);
    long plane = unit / blocks * fold, image = plane / image_planes;
    int filter = (int)(plane % image_planes);

    lane_mask masks[STRIPS * STRIP_LOADS];
    const int width = STRIP_WIDTH(stride);
    if (out_w <= STRIPS * width)
        for (int ow = 0; ow < out_w; ow += width)
            strip_masks(stride, fold, ow, pad_w, in_w, masks + ow / width * STRIP_LOADS);

    strip s;
    s.begin = x;
    s.end = x + (batch - 1) * x_stride_n + (groups - 1) * x_stride_c + (in_h - 1) * x_stride_h + in_w;
    s.x_stride = x_stride_h;
    s.y_stride = y_stride_h;
    // Strips go down the rows, where no prefetcher follows: a block asks for the rows of the next one, or of the next
    // plane. That is one of the same channel while there are filters left.
    s.x_ahead = filters == 1 ? x_stride_c : 0;
    for (; unit < last; plane += fold) {
        const int block_end = (int)min((long)blocks, block + last - unit);
        const int channel = filters == 1 ? filter : filter / filters;
        vf weights[30];
        load_weights(taps_w, stride, 0, w + (long)(filter - channel * filters) * taps_w * taps_w * groups + channel,
                     groups, weights);
        s.x = x + image * x_stride_n + channel * x_stride_c;
        s.y = y + image * y_stride_n + filter * y_stride_c;
        s.x_more = s.x;
        s.y_more = s.y;
        s.width_more = 0;
        const float own = has_bias ? bias_at(bias, filter, has_bias) : 0.0f;
        vf start[2] = {(vf)(own), (vf)(0.0f)};
        if (stride == 2)
            start[0] = start[1] = alternate(own, 0.0f);
        if (++filter == image_planes) {
            filter = 0;
            ++image;
        }
        if (fold == 2) {
            // The last plane of an odd number is its own second one, which is not stored.
            const bool has_more = plane + 1 < planes;
            const int second = has_more ? filter : image_planes - 1;
            const int next = filters == 1 ? second : second / filters;
            load_weights(taps_w, stride, 1, w + (long)(second - next * filters) * taps_w * taps_w * groups + next,
                         groups, weights);
            const float other = has_bias ? bias_at(bias, second, has_bias) : 0.0f;
            if (stride == 1)
                start[0].hi = other;
            else
                start[1] = alternate(other, 0.0f);
            if (has_more) {
                s.x_more = x + image * x_stride_n + next * x_stride_c;
                s.y_more = y + image * y_stride_n + filter * y_stride_c;
                s.width_more = 1;
                if (++filter == image_planes) {
                    filter = 0;
                    ++image;
                }
            }
        }
        filter_blocks(taps_w, stride, fold, &s, masks, in_h, in_w, out_h, out_w, pad_h, pad_w, block_h, block,
                      block_end, weights, start, ACT_ARGS);
        unit += block_end - block;
        block = 0;
    }
}

// The same for planes whose outputs lie like their inputs, by any filter at stride 1.
ALWAYS_INLINE void depthwise_flat(const __global data_t *x, const __global acc_t *w, const __global data_t *bias,
                                  int has_bias, __global data_t *y, int item, int items, CONV_PARAMS, ACT_PARAMS)
{
    const int size = in_h * in_w, vectors = (size + VW - 1) / VW, taps = kernel_h * kernel_w;
    const __global data_t *end = x + (batch - 1) * x_stride_n + (groups - 1) * x_stride_c + size;
    int offsets[MAX_TAPS];
    lane_mask masks[FLAT_MASKS];
    for (int t = 0; t < taps; ++t) {
        const int down = t / kernel_w * dilation_h - pad_h, right = t % kernel_w * dilation_w - pad_w;
        offsets[t] = down * in_w + right;
        // The lanes whose row and column exist, from row to row.
        for (int v = 0; v < vectors; ++v)
            masks[t * vectors + v] = 0;
        for (int h = max(0, -down); h < min(in_h, in_h - down); ++h) {
            const int first = h * in_w + max(0, -right), until = h * in_w + min(in_w, in_w - right);
            for (int v = first / VW; v * VW < until; ++v)
                masks[t * vectors + v] |= lanes_between(first - v * VW, until - v * VW);
        }
    }

    const int image_planes = groups * filters;
    const long planes = (long)batch * image_planes;
    const long last = planes * (item + 1) / items;
    long plane = planes * item / items, image = plane / image_planes;
    int filter = (int)(plane % image_planes);
    for (; plane < last; ++plane) {
        const int channel = filters == 1 ? filter : filter / filters;
        const __global acc_t *weights = w + (long)(filter - channel * filters) * taps * groups + channel;
        const __global data_t *from = x + image * x_stride_n + channel * x_stride_c;
        __global data_t *to = y + image * y_stride_n + filter * y_stride_c;
        const vf start = (vf)(has_bias ? bias_at(bias, filter, has_bias) : 0.0f);
#define FLAT(count) \
    filter_flat(count, from + v * VW, weights, groups, taps, offsets, masks + v, vectors, start, to + v * VW, \
                size - v * VW, x, end, ACT_ARGS)
        int v = 0;
        for (; v + 4 <= vectors; v += 4)
            FLAT(4);
        if (v + 2 <= vectors) {
            FLAT(2);
            v += 2;
        }
        if (v < vectors)
            FLAT(1);
#undef FLAT
        if (++filter == image_planes) {
            filter = 0;
            ++image;
        }
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

// The first n lanes, of which `first` is the mask.
ALWAYS_INLINE vf load_first(const __global data_t *p, int n, lane_mask first)
{
#ifdef HAS_MASKED_LANES
    return load_lanes(p, first, p, p + n);
#else
    return load_vf_part(p, n);
#endif
}

ALWAYS_INLINE vf load_first_acc(const __global acc_t *p, int n, lane_mask first)
{
#ifdef HAS_MASKED_LANES
    const masked_vf zero = __builtin_astype((vf)(0.0f), masked_vf);
    return __builtin_astype(__builtin_ia32_loadups512_mask((const float *)(ulong)p, zero, first), vf);
#else
    return load_acc_part(p, n);
#endif
}

// A row of outputs in up to VW channels, by a square filter of `taps` columns: a column of inputs is loaded once and
// added to all the outputs that see it. x: the first one's first tap; left: its column. present: a bit for every row
// of the filter that is not in the padding.
ALWAYS_INLINE void filter_line(int taps, int stride, const __global data_t *x, long x_row, long x_column, uint present,
                               int left, int in_w, int pixels, const __global acc_t *w, int groups, vf start,
                               int count, __global data_t *y, long y_column, ACT_PARAMS)
{
    const lane_mask first = lanes_between(0, count);
    vf weights[25];
#define WEIGHT(t) \
    if ((t) < taps * taps) \
        weights[t] = load_first_acc(w + (long)(t) * groups, count, first);
    REPEAT_25(WEIGHT)
#undef WEIGHT
    // Rows that are padding load nothing, from where something is.
    const int some = popcount((present & -present) - 1u);
    long down[5];
    int counts[5];
    lane_mask masks[5];
#define ROW(i) \
    down[i] = (present >> (i) & 1u ? (i) : some) * x_row; \
    counts[i] = present >> (i) & 1u ? count : 0; \
    masks[i] = present >> (i) & 1u ? first : 0;
    ROW(0) ROW(1) ROW(2) ROW(3) ROW(4)
#undef ROW
    const vf zero = (vf)(0.0f);
    vf sums[10] = {start, zero, start, zero, start, zero, start, zero, start, zero};
#define ADD(q, j, i) \
    if ((i) < taps) \
        sums[2 * (j) + (i) % 2] = \
            MAD(weights[(i) * taps + (q) - (j) * stride], inputs[i], sums[2 * (j) + (i) % 2]);
#define ADD_TO(q, j) \
    if ((q) - (j) * stride >= 0 && (q) - (j) * stride < taps) { \
        ADD(q, j, 0) ADD(q, j, 1) ADD(q, j, 2) ADD(q, j, 3) ADD(q, j, 4) \
    }
#define INPUT(i) \
    if ((i) < taps) \
        inputs[i] = load_first(x + down[i], counts[i], masks[i]);
// Column q of those that the next output sees.
#define INPUT_COLUMN(q) \
    { \
        if ((uint)left < (uint)in_w) { \
            vf inputs[5]; \
            INPUT(0) INPUT(1) INPUT(2) INPUT(3) INPUT(4) \
            ADD_TO(q, 0) ADD_TO(q, 1) ADD_TO(q, 2) ADD_TO(q, 3) ADD_TO(q, 4) \
        } \
        ++left; \
        x += x_column; \
    }
#define EARLY_COLUMN(q) \
    if ((q) < taps - stride) \
        INPUT_COLUMN(q)
    REPEAT_4(EARLY_COLUMN)
#undef EARLY_COLUMN
    for (int p = 0; p < pixels; ++p) {
        if (stride == 2)
            INPUT_COLUMN(taps - 2)
        INPUT_COLUMN(taps - 1)
        store_lanes(finish(sums[0] + sums[1], ACT_ARGS), y, count, first);
        y += y_column;
#define NEXT(j) \
    sums[2 * (j)] = sums[2 * (j) + 2]; \
    sums[2 * (j) + 1] = sums[2 * (j) + 3];
        REPEAT_4(NEXT)
#undef NEXT
        sums[2 * ((taps - 1) / stride)] = start;
        sums[2 * ((taps - 1) / stride) + 1] = zero;
    }
#undef INPUT_COLUMN
#undef INPUT
#undef ADD_TO
#undef ADD
}

#define PIXELS_AT_ONCE 4 // outputs of a row, which share weights

// PIXELS_AT_ONCE outputs of a row from `out` on, whose columns of inputs are all there, in channels
// c_begin .. c_end-1. x: the first one's first tap.
ALWAYS_INLINE void filter_pixels(const __global data_t *x, long x_stride_h, long x_stride_w, int r_begin, int r_end,
                                 int kernel_w, int pixel_step, const __global acc_t *w, const __global data_t *bias,
                                 int has_bias, int groups, int c_begin, int c_end, __global data_t *out,
                                 long y_stride_w, ACT_PARAMS)
{
    for (int c = c_begin; c < c_end; c += VW) {
        const int count = min(VW, c_end - c);
        const lane_mask first = lanes_between(0, count);
        const vf start = has_bias ? bias_part(bias, c, count, has_bias) : (vf)(0.0f);
        vf sums[PIXELS_AT_ONCE] = {start, start, start, start};
        for (int r = r_begin; r < r_end; ++r) {
            const __global data_t *row = x + r * x_stride_h + c;
            const __global acc_t *weight = w + (long)r * kernel_w * groups + c;
            for (int s = 0; s < kernel_w; ++s, weight += groups, row += x_stride_w) {
                const vf factor = load_first_acc(weight, count, first);
#define ADD(p) sums[p] = MAD(factor, load_first(row + (p) * pixel_step * x_stride_w, count, first), sums[p]);
                REPEAT_4(ADD)
#undef ADD
            }
        }
#define FINISH(p) store_lanes(finish(sums[p], ACT_ARGS), out + (p) * y_stride_w + c, count, first);
        REPEAT_4(FINISH)
#undef FINISH
    }
}

// One output by any filter.
ALWAYS_INLINE void filter_pixel(const __global data_t *x, long x_stride_h, long x_stride_w, int r_begin, int r_end,
                                int s_begin, int s_end, int kernel_w, const __global acc_t *w,
                                const __global data_t *bias, int has_bias, int groups, int c_begin, int c_end,
                                __global data_t *out, ACT_PARAMS)
{
    for (int c = c_begin; c < c_end; c += VW) {
        const int count = min(VW, c_end - c);
        vf sum = has_bias ? bias_part(bias, c, count, has_bias) : (vf)(0.0f);
        for (int r = r_begin; r < r_end; ++r)
            for (int s = s_begin; s < s_end; ++s)
                sum = MAD(load_acc_part(w + ((long)r * kernel_w + s) * groups + c, count),
                          load_vf_part(x + r * x_stride_h + s * x_stride_w + c, count), sum);
        store_vf_part(activate(sum, ACT_ARGS), out + c, count);
    }
}

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
