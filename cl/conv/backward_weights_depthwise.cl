// SPDX-License-Identifier: MIT
// The gradient of depthwise convolution (one channel of x a group) by weights and bias, on CPUs: one work-item is a
// work-group and computes with explicit vectors.
//
//   dw[k][r][s] = sum over images and positions of dy[k][h][w] * x[c][h * stride + r * dilation - pad][...]
//
//   husk_conv_backward_weights_depthwise_strips     3x3 and 5x5 at stride 1 and 2, rows of neighbours: no copies, see
//                                                   lib/filter_strips.clh
//   husk_conv_backward_weights_depthwise            any layout
//   husk_conv_backward_weights_depthwise_channels   channels last: VW channels a vector
//
// A work-item takes some filters, all images of each. The second copies a band of dy and the pixels under it, padded,
// into private memory that the first cache holds: a row after the other at one pitch, and x's apart by their remainders
// modulo the stride. There a tap of the filter is an offset, and its sum runs over the whole band at once, whatever the
// rows' length: TAPS taps share a load of dy. Expected of it, for a 3x3: 9 loads and 9 additions a vector of dy, and
// half as much for copying: some 14 cycles. Found: 9 to 12 and, where planes are small, as much again for copying.
//
// What lies between the rows of dy, or beside an image, is zero, so it adds nothing, unless the other factor is a NaN
// or an infinity there; a filter whose sums are not all finite is summed anew, element by element.
//
//   VW   4, 8 or 16: floats in a vector
#include "lib/vector.clh"
#include "lib/long_sum.clh"
#include "lib/convolution.clh"
#include "lib/lanes.clh"
#include "lib/filter_strips.clh"
#include "lib/shares.clh"

#define TAPS      9    // at a time
#define MOST_TAPS 252  // a multiple of TAPS
#define ROOM      8192 // elements of a band of x, and of dy

#define GRADIENT_PARAMS \
    long w_stride_k, long w_stride_h, long w_stride_w, long dbias_stride, int has_bias, int accumulate

#define REPEAT_9(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8)

// ---- private copies ----

// `rows` rows of elements column, column + stride ..., from every `row_step`-th row of a plane on, zero where it has
// none; they lie `pitch` apart, up to VW - 1 more are written past the last.
inline void stage_rows(const __global data_t *plane, long row_stride, int in_rows, int first_row, int row_step,
                       int rows, long x_stride, int extent, int column, int stride, int pitch, acc_t *to)
{
    const int low = column < 0 ? min((stride - 1 - column) / stride, pitch) : 0;
    const int high = column >= extent ? low : clamp((extent - column + stride - 1) / stride, low, pitch);
    for (int r = 0, row = first_row; r < rows; ++r, row += row_step, to += pitch) {
        if (row < 0 || row >= in_rows) {
            for (int i = 0; i < pitch; i += VW)
                store_private((vf)(0.0f), to + i);
            continue;
        }
        const __global data_t *from = plane + row * row_stride + column * x_stride;
        for (int i = 0; i < low; i += VW)
            store_private((vf)(0.0f), to + i);
        int i = low;
        if (x_stride == 1 && stride == 1) {
            for (; i + VW <= high; i += VW)
                store_private(load_vf(from + i), to + i);
            if (i < high) {
                store_private(load_vf_part(from + i, high - i), to + i);
                i += VW;
            }
        } else if (x_stride == 1 && stride == 2) {
            for (; i + VW < high; i += VW) {
                const vf a = load_vf(from + 2 * i), b = load_vf(from + 2 * i + VW);
                store_private(EVEN_LANES(vf, a, b), to + i);
            }
            if (i < high) {
                const int left = extent - column - 2 * i; // elements of the row
                const vf a = load_vf_part(from + 2 * i, left);
                const vf b = left > VW ? load_vf_part(from + 2 * i + VW, left - VW) : (vf)(0.0f);
                store_private(EVEN_LANES(vf, a, b), to + i);
                i += VW;
            }
        } else {
            for (; i < high; ++i)
                to[i] = load_one(from, (long)i * stride * x_stride);
        }
        for (; i < pitch; i += VW)
            store_private((vf)(0.0f), to + i);
    }
}

// Asks for `count` elements.
inline void ask_for(const __global data_t *from, long count)
{
    for (long i = 0; i < count; i += 64 / DATA_BYTES)
        PREFETCH_FAR(from + i);
}

// The remainders modulo the stride that a filter's elements have, in the order of their first; which one each has, and
// how many steps of the stride it lies away.
inline int find_remainders(int size, int dilation, int stride, int *remainders, int *which, int *steps)
{
    int count = 0;
    for (int i = 0; i < size; ++i) {
        const int remainder = i * dilation % stride;
        int j = 0;
        while (j < count && remainders[j] != remainder)
            ++j;
        if (j == count)
            remainders[count++] = remainder;
        which[i] = j;
        steps[i] = i * dilation / stride;
    }
    return count;
}

// ---- sums ----

// sums[t] += dy[i] * x[offsets[t] + i], `count` elements, rounded up to vectors; taps is a literal.
__attribute__((always_inline)) inline void correlate(int taps, const acc_t *dy, const acc_t *x, const int *offsets,
                                                     int count, acc_t *sums)
{
    vf acc[TAPS];
#define BEGIN(t) \
    const acc_t *x##t = x + ((t) < taps ? offsets[t] : 0); \
    acc[t] = (vf)(0.0f);
    REPEAT_9(BEGIN)
#undef BEGIN
    for (int i = 0; i < count; i += VW) {
        const vf value = load_private(dy + i);
#define ADD(t) \
    if ((t) < taps) \
        acc[t] = MAD(value, load_private(x##t + i), acc[t]);
        REPEAT_9(ADD)
#undef ADD
    }
#define END(t) \
    if ((t) < taps) \
        store_private(load_private(sums + (t) * VW) + acc[t], sums + (t) * VW);
    REPEAT_9(END)
#undef END
}

inline acc_t sum_lanes(const acc_t *lanes)
{
    acc_t total = 0.0f;
    for (int i = 0; i < VW; ++i)
        total += lanes[i];
    return total;
}

// A tap's sum over pixels that there are.
inline acc_t sum_carefully(const __global data_t *x, const __global data_t *dy, int r, int s, CONV_PARAMS)
{
    acc_t sum = 0.0f;
    for (int n = 0; n < batch; ++n)
        for (int h = 0; h < out_h; ++h) {
            const int row = h * stride_h + r * dilation_h - pad_h;
            if (row < 0 || row >= in_h)
                continue;
            const long from = n * x_stride_n + row * x_stride_h, to = n * y_stride_n + h * y_stride_h;
            acc_t here = 0.0f;
            for (int w = 0; w < out_w; ++w) {
                const int column = w * stride_w + s * dilation_w - pad_w;
                if (column >= 0 && column < in_w)
                    here += load_one(x, from + column * x_stride_w) * load_one(dy, to + w * y_stride_w);
            }
            sum += here;
        }
    return sum;
}

// What `accumulate` says: to add to what is there, and what is f32 beside a narrower dy (UNITS of lib/dtype.clh).
#define ADDS 1
#define WIDE_DW 2
#define WIDE_DBIAS 4

inline void give(__global data_t *base, long at, acc_t value, int accumulate, int wide)
{
    const int units = UNITS(accumulate & wide);
    __global data_t *to = base + at * units;
    store_either(to, accumulate & ADDS ? value + load_either(to, units) : value, units);
}

// A band is `rows` rows of `columns` elements of dy; the host sees to it that it and its pixels fit their rooms.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_depthwise(const __global data_t *restrict x_base, long x_offset,
                                          const __global data_t *restrict dy_base, long dy_offset,
                                          __global data_t *restrict dw_base, long dw_offset,
                                          __global data_t *restrict dbias_base, long dbias_offset, CONV_PARAMS,
                                          int rows, int columns, GRADIENT_PARAMS)
{
    ONE_ITEM();
    const int all = groups * filters, taps = kernel_h * kernel_w;
    const int items = get_num_groups(0), item = get_group_id(0);
    int remainders_h[MOST_TAPS], remainders_w[MOST_TAPS], which_h[MOST_TAPS], which_w[MOST_TAPS];
    int steps_h[MOST_TAPS], steps_w[MOST_TAPS], offsets[MOST_TAPS];
    const int phases_h = find_remainders(kernel_h, dilation_h, stride_h, remainders_h, which_h, steps_h);
    const int phases_w = find_remainders(kernel_w, dilation_w, stride_w, remainders_w, which_w, steps_w);
    const int pitch = columns + steps_w[kernel_w - 1], reach = steps_h[kernel_h - 1];
    const int slot = (rows + reach) * pitch + VW;
    for (int t = 0; t < MOST_TAPS; ++t) {
        const int r = t / kernel_w, s = t % kernel_w;
        offsets[t] = t < taps ? (which_h[r] * phases_w + which_w[s]) * slot + steps_h[r] * pitch + steps_w[s] : 0;
    }
    acc_t pixels[ROOM + 2 * VW], band[ROOM + 2 * VW], sums[(MOST_TAPS + 1) * VW];
    acc_t whole[MOST_TAPS * VW], rests[MOST_TAPS * VW];
    for (int i = 0; i < ROOM + 2 * VW; i += VW)
        store_private((vf)(0.0f), pixels + i);

    for (int k = (int)((long)all * item / items); k < (int)((long)all * (item + 1) / items); ++k) {
        const __global data_t *x = x_base + x_offset + k / filters * x_stride_c;
        const __global data_t *dy = dy_base + dy_offset + k * y_stride_c;
        const long dw = dw_offset + k * w_stride_k;
        LONG_SUM_VF(bias_sum);
        int runs = 0;
        long_sums_begin(sums, whole, rests, min(taps + TAPS, MOST_TAPS) * VW);
        for (int n = 0; n < batch; ++n) {
            // An image's plane lies far from the next one's: it is asked for a whole plane ahead.
            const int next = min(n + 1, batch - 1);
            for (int h = 0; h < out_h; h += rows)
                for (int w = 0; w < out_w; w += columns) {
                    const int rows_here = min(rows, out_h - h), columns_here = min(columns, out_w - w);
                    if (x_stride_w == 1 && y_stride_w == 1 && next != n) {
                        ask_for(x + next * x_stride_n + h * stride_h * x_stride_h, rows_here * stride_h * x_stride_h);
                        ask_for(dy + next * y_stride_n + h * y_stride_h, rows_here * y_stride_h);
                    }
                    for (int p = 0; p < phases_h * phases_w; ++p)
                        stage_rows(x + n * x_stride_n, x_stride_h, in_h,
                                   h * stride_h + remainders_h[p / phases_w] - pad_h, stride_h, rows_here + reach,
                                   x_stride_w, in_w, w * stride_w + remainders_w[p % phases_w] - pad_w, stride_w,
                                   pitch, pixels + p * slot);
                    stage_rows(dy + n * y_stride_n + w * y_stride_w, y_stride_h, out_h, h, 1, rows_here, y_stride_w,
                               columns_here, 0, 1, pitch, band);
                    const int count = rows_here * pitch;
                    store_private((vf)(0.0f), band + count);
                    for (int first = 0; first < count; first += LONG_SUM_RUN * VW) {
                        const int length = min(LONG_SUM_RUN * VW, count - first);
                        int t = 0;
                        for (; taps - t > 4; t += TAPS)
                            correlate(TAPS, band + first, pixels + first, offsets + t, length, sums + t * VW);
                        if (t < taps)
                            correlate(4, band + first, pixels + first, offsets + t, length, sums + t * VW);
                        if (has_bias) {
                            vf run = (vf)(0.0f);
                            for (int i = 0; i < length; i += VW)
                                run += load_private(band + first + i);
                            LONG_SUM_ADD_VF(bias_sum, run);
                        }
                        if (++runs % LONG_SUM_RUN == 0)
                            long_sums_run(sums, whole, rests, taps * VW);
                    }
                }
        }
        long_sums_end(sums, whole, rests, taps * VW);
        for (int t = 0; t < taps; ++t) {
            const int r = t / kernel_w, s = t % kernel_w;
            acc_t sum = sum_lanes(sums + t * VW);
            if (!isfinite(sum))
                sum = sum_carefully(x, dy, r, s, CONV_ARGS);
            give(dw_base, dw + r * w_stride_h + s * w_stride_w, sum, accumulate, WIDE_DW);
        }
        if (has_bias) {
            store_private(LONG_SUM_TOTAL_VF(bias_sum), sums);
            give(dbias_base, dbias_offset + k * dbias_stride, sum_lanes(sums), accumulate, WIDE_DBIAS);
        }
    }
}

// ---- strips ----

// A filter's gradient from its taps' sums, wherever it lies, and anew where they are not finite.
inline void give_taps(const acc_t *values, const __global data_t *x, const __global data_t *dy,
                      __global data_t *dw_base, long dw, CONV_PARAMS, long w_stride_h, long w_stride_w, int accumulate)
{
    for (int t = 0; t < kernel_h * kernel_w; ++t) {
        const int r = t / kernel_w, s = t % kernel_w;
        acc_t sum = values[t];
        if (!isfinite(sum))
            sum = sum_carefully(x, dy, r, s, CONV_ARGS);
        give(dw_base, dw + r * w_stride_h + s * w_stride_w, sum, accumulate, WIDE_DW);
    }
}

// Columns of x and of dy are neighbours.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_depthwise_strips(const __global data_t *restrict x_base, long x_offset,
                                                 const __global data_t *restrict dy_base, long dy_offset,
                                                 __global data_t *restrict dw_base, long dw_offset,
                                                 __global data_t *restrict dbias_base, long dbias_offset, CONV_PARAMS,
                                                 SHARES_PARAM, GRADIENT_PARAMS)
{
    ONE_ITEM();
    const int all = groups * filters, items = (int)get_num_groups(0), item = group_place(shares).x;
    const __global data_t *x = x_base + x_offset, *dy = dy_base + dy_offset;
    strip_source from_x = {x, x, x + (batch - 1) * x_stride_n + (groups - 1) * x_stride_c + (in_h - 1) * x_stride_h +
                           in_w, x_stride_n, x_stride_h, 0};
    strip_source from_dy = {dy, dy, dy + (batch - 1) * y_stride_n + (all - 1) * y_stride_c +
                            (out_h - 1) * y_stride_h + out_w, y_stride_n, y_stride_h, 0};
    const int fold = STRIP_FOLDS(stride_w, in_w, out_w) && batch > 1 ? 2 : 1, columns = STRIP_WIDTH(stride_w);
    strip_masks masks[STRIPS];
    if (out_w <= STRIPS * columns)
        for (int strip = 0; strip * columns < out_w; ++strip)
            masks[strip] = find_strip_masks(stride_w, fold, strip * columns, pad_w, in_w, out_w);
    const int taps = kernel_h * kernel_w, units = UNITS(accumulate & WIDE_DW);
    const bool is_flat = w_stride_w == 1 && w_stride_h == kernel_w && !(accumulate & ADDS);
    // Of more images, or of more columns of one, the sums are joined at last: one chain of all would err the more.
    const int strips = (out_w + columns - 1) / columns;
    const int run = max(STRIP_RUN / (out_h * strips), 1) * 2, wide = max(STRIP_RUN / out_h, 1) * 2 * columns;
    acc_t values[STRIP_SUMS], whole[STRIP_SUMS], rests[STRIP_SUMS];
    for (int k = (int)((long)all * item / items); k < (int)((long)all * (item + 1) / items); ++k) {
        const int channel = filters == 1 ? k : k / filters, next = min(k + 1, all - 1);
        const __global data_t *x_plane = x + channel * x_stride_c, *dy_plane = dy + k * y_stride_c;
        const long x_next = ((filters == 1 ? next : next / filters) - channel) * x_stride_c,
                   dy_next = (next - k) * y_stride_c;
        for (int n = 0; n < batch; n += run) {
            const int count = min(run, batch - n);
            const bool ends = n + run >= batch;
            from_x.plane = x_plane + n * x_stride_n;
            from_x.next = ends ? x_next - n * x_stride_n : run * x_stride_n;
            from_dy.plane = dy_plane + n * y_stride_n;
            from_dy.next = ends ? dy_next - n * y_stride_n : run * y_stride_n;
            for (int column = 0; column < out_w; column += wide) {
                const int end = min(column + wide, out_w);
#define SUM(width, stride, folded) \
    if (kernel_w == width && stride_w == stride && fold == folded) \
        sum_strips(width, stride, folded, &from_x, &from_dy, count, column, end, in_h, in_w, out_h, out_w, pad_h, \
                   pad_w, masks, values);
                SUM(3, 1, 1) SUM(3, 1, 2) SUM(3, 2, 1) SUM(5, 1, 1) SUM(5, 1, 2) SUM(5, 2, 1)
#undef SUM
                if (batch <= run && out_w <= wide)
                    break;
                if (n == 0 && column == 0)
                    long_sums_begin(whole, whole, rests, taps + 1);
                if (ends && end == out_w)
                    long_sums_end(values, whole, rests, taps + 1);
                else
                    long_sums_run(values, whole, rests, taps + 1);
            }
        }
        from_x.plane = x_plane;
        from_dy.plane = dy_plane;
        const long dw = dw_offset + k * w_stride_k;
        if (is_flat && are_finite(values, taps))
            for (int i = 0; i < taps; i += VW)
                store_vf_either(load_private(values + i), dw_base + (dw + i) * units, taps - i, units);
        else
            give_taps(values, from_x.plane, from_dy.plane, dw_base, dw, CONV_ARGS, w_stride_h, w_stride_w, accumulate);
        if (has_bias)
            give(dbias_base, dbias_offset + k * dbias_stride, values[taps], accumulate, WIDE_DBIAS);
    }
}

// ---- channels last ----

// Positions first .. last-1 of a row of dy, for which every tap has a pixel; taps is a literal.
__attribute__((always_inline)) inline void correlate_channels(int taps, const __global data_t *x,
                                                              const __global data_t *dy, const long *offsets,
                                                              long x_step, long y_step, int count, int lanes,
                                                              acc_t *sums)
{
    vf acc[TAPS];
#define BEGIN(t) \
    const __global data_t *x##t = x + ((t) < taps ? offsets[t] : 0); \
    acc[t] = (vf)(0.0f);
    REPEAT_9(BEGIN)
#undef BEGIN
    if (lanes == VW) {
        for (int i = 0; i < count; ++i) {
            const vf value = load_vf(dy + i * y_step);
            const long at = i * x_step;
#define ADD(t) \
    if ((t) < taps) \
        acc[t] = MAD(value, load_vf(x##t + at), acc[t]);
            REPEAT_9(ADD)
#undef ADD
        }
    } else {
        for (int i = 0; i < count; ++i) {
            const vf value = load_vf_part(dy + i * y_step, lanes);
            const long at = i * x_step;
#define ADD(t) \
    if ((t) < taps) \
        acc[t] = MAD(value, load_vf_part(x##t + at, lanes), acc[t]);
            REPEAT_9(ADD)
#undef ADD
        }
    }
#define END(t) \
    if ((t) < taps) \
        store_private(load_private(sums + (t) * VW) + acc[t], sums + (t) * VW);
    REPEAT_9(END)
#undef END
}

// The first position whose pixel is not left of the row, and past the last whose is not right of it.
inline int first_inside(int column, int stride, int out)
{
    return column < 0 ? min((stride - 1 - column) / stride, out) : 0;
}

inline int last_inside(int column, int stride, int extent, int out)
{
    return column >= extent ? 0 : min((extent - column + stride - 1) / stride, out);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_depthwise_channels(const __global data_t *restrict x_base, long x_offset,
                                                   const __global data_t *restrict dy_base, long dy_offset,
                                                   __global data_t *restrict dw_base, long dw_offset,
                                                   __global data_t *restrict dbias_base, long dbias_offset,
                                                   CONV_PARAMS, int rows, int columns, GRADIENT_PARAMS)
{
    ONE_ITEM();
    const int taps = kernel_h * kernel_w, units = (groups + VW - 1) / VW;
    const int items = get_num_groups(0), item = get_group_id(0);
    const long x_step = stride_w * x_stride_w;
    // Of all taps together: from `left` to `right` every one has a pixel.
    const int left = first_inside(-pad_w, stride_w, out_w);
    const int right = max(left, last_inside((kernel_w - 1) * dilation_w - pad_w, stride_w, in_w, out_w));
    long offsets[MOST_TAPS];
    acc_t sums[(MOST_TAPS + 1) * VW], whole[MOST_TAPS * VW], rests[MOST_TAPS * VW];
    for (int t = 0; t < MOST_TAPS; ++t) {
        const int tap = min(t, taps - 1);
        offsets[t] = (tap / kernel_w * dilation_h - pad_h) * x_stride_h +
                     (tap % kernel_w * dilation_w - pad_w) * x_stride_w;
    }
    for (int unit = (int)((long)units * item / items); unit < (int)((long)units * (item + 1) / items); ++unit) {
        const int k = unit * VW, lanes = min(VW, groups - k);
        const __global data_t *x = x_base + x_offset + k, *dy = dy_base + dy_offset + k;
        LONG_SUM_VF(bias_sum);
        int runs = 0;
        long_sums_begin(sums, whole, rests, min(taps + TAPS, MOST_TAPS) * VW);
        for (int n = 0; n < batch; ++n)
            for (int h = 0; h < out_h; ++h) {
                const __global data_t *dy_row = dy + n * y_stride_n + h * y_stride_h;
                const __global data_t *x_row = x + n * x_stride_n + (long)h * stride_h * x_stride_h;
                const int top = h * stride_h - pad_h, bottom = top + (kernel_h - 1) * dilation_h;
                const bool is_inside = top >= 0 && bottom < in_h;
                for (int from = left; is_inside && from < right; from += LONG_SUM_RUN) {
                    const __global data_t *x_from = x_row + from * x_step, *dy_from = dy_row + from * y_stride_w;
                    const int count = min(LONG_SUM_RUN, right - from);
                    int t = 0;
                    for (; taps - t > 4; t += TAPS)
                        correlate_channels(TAPS, x_from, dy_from, offsets + t, x_step, y_stride_w, count, lanes,
                                           sums + t * VW);
                    if (t < taps)
                        correlate_channels(4, x_from, dy_from, offsets + t, x_step, y_stride_w, count, lanes,
                                           sums + t * VW);
                    if (++runs % LONG_SUM_RUN == 0)
                        long_sums_run(sums, whole, rests, taps * VW);
                }
                for (int t = 0; t < taps; ++t) {
                    const int row = top + t / kernel_w * dilation_h, column = t % kernel_w * dilation_w - pad_w;
                    if (row < 0 || row >= in_h)
                        continue;
                    const int first = first_inside(column, stride_w, out_w);
                    const int last = last_inside(column, stride_w, in_w, out_w);
                    vf sum = (vf)(0.0f);
                    for (int w = first; w < last; ++w) {
                        if (is_inside && w >= left && w < right) {
                            w = right - 1;
                            continue;
                        }
                        sum = MAD(load_vf_part(dy_row + w * y_stride_w, lanes),
                                  load_vf_part(x_row + offsets[t] + w * x_step, lanes), sum);
                    }
                    store_private(load_private(sums + t * VW) + sum, sums + t * VW);
                }
                if (has_bias) {
                    for (int w = 0, stop; w < out_w;) {
                        vf run = (vf)(0.0f);
                        for (stop = min(w + LONG_SUM_RUN, out_w); w < stop; ++w)
                            run += load_vf_part(dy_row + w * y_stride_w, lanes);
                        LONG_SUM_ADD_VF(bias_sum, run);
                    }
                }
            }
        long_sums_end(sums, whole, rests, taps * VW);
        for (int t = 0; t < taps; ++t)
            for (int i = 0; i < lanes; ++i)
                give(dw_base,
                     dw_offset + (k + i) * w_stride_k + t / kernel_w * w_stride_h + t % kernel_w * w_stride_w,
                     sums[t * VW + i], accumulate, WIDE_DW);
        if (has_bias) {
            store_private(LONG_SUM_TOTAL_VF(bias_sum), sums);
            for (int i = 0; i < lanes; ++i)
                give(dbias_base, dbias_offset + (k + i) * dbias_stride, sums[i], accumulate, WIDE_DBIAS);
        }
    }
}
