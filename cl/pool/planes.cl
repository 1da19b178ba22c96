// SPDX-License-Identifier: MIT
// Pooling for CPU devices where the width is contiguous in memory (NCHW and its kin): one work-item per
// work-group, vectors along rows.
//
// A unit of work is a row of outputs, or a part of a long one. First all input rows of its windows are
// combined element by element into a private row with padding around it; then windows are combined along
// that row, by unaligned loads for stride 1, by taking every other element of two vectors for stride 2. So an
// output costs stride_w * window_d * window_h + window_w operations instead of the product of all three.
// Short rows go by batches: a processor that reads a private row as soon as it was written would wait for it.
//
// The common windows, of 2 x 2 and 3 x 3 at stride 1 and 2, go without private memory: bands of four rows of outputs
// straight from x, first down the columns, then by shuffles along the rows.
//
//   husk_pool_planes_max, husk_pool_planes_avg, husk_pool_planes_max_indices
//
// Needs stride 1 of x and y along the width, and
// (columns - 1) * stride_w + (window_w - 1) * dilation_w + 1 <= ROW, columns rounded up to VW.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_vector.clh"

#define ROW 4096 // elements of private rows in all: 16 KiB
#define BATCH 8  // rows of outputs that are worked on at a time

POOL_INLINE vf combine(int mode, vf value, vf best)
{
    return mode == POOL_AVG ? best + value : max_or_nan(value, best);
}

POOL_INLINE vf nothing_yet(int mode)
{
    return (vf)(mode == POOL_AVG ? 0.0f : -INFINITY);
}

// Combines the rows at x, `step_d` and `step_h` elements apart, element by element: n elements of a vector.
POOL_INLINE void combine_rows(int mode, int n, const __global data_t *x, int depths, long step_d, int heights,
                              long step_h, acc_t *row)
{
    vf best = nothing_yet(mode);
    for (int i = 0; i < depths; ++i) {
        const __global data_t *element = x + i * step_d;
        for (int j = 0; j < heights; ++j, element += step_h)
            best = combine(mode, load_vf_part(element, n), best);
    }
    store_private(LANES < (vi)(n) ? best : nothing_yet(mode), row);
}

// The same for 4 whole vectors.
POOL_INLINE void combine_rows_4(int mode, const __global data_t *x, int depths, long step_d, int heights,
                                long step_h, acc_t *row)
{
    vf best0 = nothing_yet(mode), best1 = best0, best2 = best0, best3 = best0;
    for (int i = 0; i < depths; ++i) {
        const __global data_t *element = x + i * step_d;
        for (int j = 0; j < heights; ++j, element += step_h) {
            best0 = combine(mode, load_vf(element), best0);
            best1 = combine(mode, load_vf(element + VW), best1);
            best2 = combine(mode, load_vf(element + 2 * VW), best2);
            best3 = combine(mode, load_vf(element + 3 * VW), best3);
        }
    }
    store_private(best0, row);
    store_private(best1, row + VW);
    store_private(best2, row + 2 * VW);
    store_private(best3, row + 3 * VW);
}

// The same for one vector with the positions of the winners; position is that of x's first element.
POOL_INLINE void combine_rows_positions(int n, const __global data_t *x, int depths, long step_d,
                                        int position_step_d, int heights, long step_h, int position_step_h,
                                        int position, acc_t *row, int *positions)
{
    vf best = (vf)(-INFINITY);
    vi best_position = (vi)(-1);
    if (depths > 0 && heights > 0) {
        best = load_vf_part(x, n);
        best_position = (vi)(position) + LANES;
    }
    for (int i = 0; i < depths; ++i) {
        for (int j = i == 0 ? 1 : 0; j < heights; ++j)
            take_later(load_vf_part(x + i * step_d + j * step_h, n),
                       (vi)(position + i * position_step_d + j * position_step_h) + LANES, &best, &best_position);
    }
    store_private(LANES < (vi)(n) ? best : (vf)(-INFINITY), row);
    STORE_PRIVATE(vint, CONVERT(int, LANES < (vi)(n) ? best_position : (vi)(-1)), positions);
}

// Elements 0, stride, 2 stride ... of a private row, n of them at least.
POOL_INLINE vf load_every(const acc_t *row, int stride, int n)
{
    if (stride == 1)
        return load_private(row);
    if (stride == 2) {
        const vf a = load_private(row);
        const vf b = load_private(row + VW);
        return EVEN_LANES(vf, a, b);
    }
    acc_t lanes[VW];
    for (int i = 0; i < n; ++i)
        lanes[i] = row[i * stride];
    return load_private(lanes);
}

POOL_INLINE vi load_every_position(const int *positions, int stride, int n)
{
    if (stride == 1)
        return convert_vi(LOAD_PRIVATE(vint, positions));
    if (stride == 2) {
        const vi a = convert_vi(LOAD_PRIVATE(vint, positions));
        const vi b = convert_vi(LOAD_PRIVATE(vint, positions + VW));
        return EVEN_LANES(vi, a, b);
    }
    ACC_INT lanes[VW];
    for (int i = 0; i < n; ++i)
        lanes[i] = positions[i * stride];
    return LOAD_PRIVATE(vi, lanes);
}

// One vector of outputs, of which n count, from the private row. The common windows are written out.
POOL_INLINE vf combine_window(int mode, int stride, int n, const acc_t *row, int window, int dilation)
{
    if (stride == 2 && dilation == 1 && (window == 2 || window == 3)) {
        const vf a = load_private(row);
        const vf b = load_private(row + VW);
        const vf pairs = combine(mode, ODD_LANES(vf, a, b), EVEN_LANES(vf, a, b));
        return window == 2 ? pairs : combine(mode, load_every(row + 2, 2, n), pairs);
    }
    if (stride > 2) { // one by one: gathering a vector for every k would wait for its elements every time
        acc_t lanes[VW];
        for (int i = 0; i < n; ++i) {
            acc_t best = row[i * stride];
            for (int k = 1; k < window; ++k) {
                const acc_t v = row[i * stride + k * dilation];
                best = mode == POOL_AVG ? best + v : v > best || v != v ? v : best;
            }
            lanes[i] = best;
        }
        return load_private(lanes);
    }
    if (window == 3) {
        const vf pairs = combine(mode, load_every(row + dilation, stride, n), load_every(row, stride, n));
        return combine(mode, load_every(row + 2 * dilation, stride, n), pairs);
    }
    vf best = load_every(row, stride, n);
    for (int k = 1; k < window; ++k)
        best = combine(mode, load_every(row + k * dilation, stride, n), best);
    return best;
}

// Combines windows along the private row into `columns` outputs.
POOL_INLINE void combine_columns(int mode, int stride, const acc_t *row, const int *positions, int columns,
                                 int window, int dilation, const acc_t *column_scale, acc_t scale,
                                 __global data_t *y, INDICES_PARAMS)
{
    for (int i = 0; i < columns; i += VW) {
        const int n = min(VW, columns - i);
        if (mode != POOL_MAX_INDICES) {
            const vf best = combine_window(mode, stride, n, row + i * stride, window, dilation);
            const vf factor = load_private(column_scale + i) * scale;
            store_vf_part(mode == POOL_AVG ? best * factor : best, y + i, n);
            continue;
        }
        vf best = (vf)(-INFINITY);
        vi best_position = (vi)(-1);
        for (int k = 0; k < window; ++k) {
            const int first = i * stride + k * dilation;
            take_any(load_every(row + first, stride, n), load_every_position(positions + first, stride, n),
                     &best, &best_position);
        }
        store_vf_part(best, y + i, n);
        store_positions(best_position, n, indices_base, indices_are_long,
                        indices_offset + i * indices_stride_w, indices_stride_w);
    }
}

// 1 / (elements that count along the width) for `columns` outputs, the first of whose windows starts at w.
POOL_INLINE void fill_column_scale(int w, int columns, int window, int stride, int dilation, int extent,
                                   int limit, int count_pad, acc_t *column_scale)
{
    for (int i = 0; i < columns; ++i) {
        const int start = w + i * stride;
        const bool is_inside = start >= 0 && start + (window - 1) * dilation < extent;
        const int count =
            is_inside ? window : window_count(start, window, dilation, extent, limit, count_pad);
        column_scale[i] = count > 0 ? 1.0f / (acc_t)count : 0.0f;
    }
}

// ---- bands: windows of 2 x 2 and 3 x 3 at stride 1 and 2, straight from x ----

#define BAND 4       // rows of outputs that are worked on at a time, so that a row is read once for all of them
#define STRIPS 64    // of VW columns, whose masks and scales are kept
#define STRIP_LOADS 3

// Larger elements by one instruction; what is NaN or may be shows in the sum of all elements.
POOL_INLINE vf combine_fast(int mode, bool exact, vf value, vf best)
{
    return mode == POOL_AVG ? best + value : exact ? max_or_nan(value, best) : max_vf(value, best);
}

// One strip of `band` rows of outputs, of which `rows` are there. x: the first window's first element. present: a
// bit for every row of inputs that is no padding. inside: which lanes of a row's loads are none. Answers whether
// every element was a number; if not, and unless `exact`, nothing is stored.
POOL_INLINE bool pool_band(int mode, bool exact, int window, int stride, const __global data_t *x, long x_stride,
                           uint present, const lane_mask *inside, const __global data_t *begin,
                           const __global data_t *end, __global data_t *y, long y_stride, int rows, int width,
                           lane_mask first, vf column_scale, const acc_t *row_scale)
{
    const vf none = nothing_yet(mode);
    vf best[STRIP_LOADS * BAND] = {none, none, none, none, none, none, none, none, none, none, none, none};
    vf all = (vf)(0.0f);
    // The loads of a row: at stride 1 the strip and what follows it, at stride 2 two vectors and what follows.
    const int loads = stride + (window > stride ? 1 : 0);
#define TAKE(r, q, i) \
    if ((i) < loads && (r) * stride <= (q) && (q) < (r) * stride + window) \
        best[(r) * STRIP_LOADS + (i)] = combine_fast(mode, exact, v##i, best[(r) * STRIP_LOADS + (i)]);
#define TAKE_ROW(r, q) TAKE(r, q, 0) TAKE(r, q, 1) TAKE(r, q, 2)
#define LOAD(i) (i) < loads ? load_lanes_or(x + (i) * VW, inside[i], none.s0, begin, end) : none
#define INPUT_ROW(q) \
    if ((q) < (BAND - 1) * stride + window) { \
        if (present & 1u << (q)) { \
            const vf v0 = LOAD(0), v1 = LOAD(1), v2 = LOAD(2); \
            if (mode != POOL_AVG && !exact) \
                all += loads == 1 ? v0 : loads == 2 ? v0 + v1 : v0 + v1 + v2; \
            TAKE_ROW(0, q) TAKE_ROW(1, q) TAKE_ROW(2, q) TAKE_ROW(3, q) \
        } \
        x += x_stride; \
    }
    INPUT_ROW(0) INPUT_ROW(1) INPUT_ROW(2) INPUT_ROW(3) INPUT_ROW(4)
    INPUT_ROW(5) INPUT_ROW(6) INPUT_ROW(7) INPUT_ROW(8)
#undef INPUT_ROW
#undef LOAD
#undef TAKE_ROW
#undef TAKE
    if (mode != POOL_AVG && !exact && any(all != all))
        return false;
#define OUTPUT_ROW(r) \
    if ((r) < rows) { \
        const vf a = best[(r) * STRIP_LOADS], b = best[(r) * STRIP_LOADS + 1], c = best[(r) * STRIP_LOADS + 2]; \
        const vf one = stride == 1 ? a : EVEN_LANES(vf, a, b); \
        const vf two = stride == 1 ? NEXT_LANES(vf, a, b.s0) : ODD_LANES(vf, a, b); \
        vf out = combine_fast(mode, exact, two, one); \
        if (window == 3) \
            out = combine_fast(mode, exact, stride == 1 ? NEXT_LANES_2(vf, a, b.s0, b.s1) \
                                                        : NEXT_LANES(vf, one, c.s0), out); \
        store_lanes(mode == POOL_AVG ? out * (column_scale * row_scale[r]) : out, y, width, first); \
        y += y_stride; \
    }
    OUTPUT_ROW(0) OUTPUT_ROW(1) OUTPUT_ROW(2) OUTPUT_ROW(3)
#undef OUTPUT_ROW
    return true;
}

// This work-group's share of the bands of all planes.
POOL_INLINE void pool_bands(int mode, int window, int stride, POOL_PARAMS)
{
    const int bands = (out_h + BAND - 1) / BAND;
    const long units = (long)batch * channels * bands;
    const long last = units * (get_group_id(0) + 1) / get_num_groups(0);
    long unit = units * get_group_id(0) / get_num_groups(0);
    long rest = unit;
    int band = split(&rest, bands);
    int c = split(&rest, channels);
    long n = rest;
    const __global data_t *begin = x_base + x_offset;
    const __global data_t *end =
        begin + (batch - 1) * x_stride_n + (channels - 1) * x_stride_c + (in_h - 1) * x_stride_h + in_w;

    lane_mask masks[STRIPS * STRIP_LOADS];
    vf scales[STRIPS];
    for (int ow = 0; ow < out_w; ow += VW) {
        for (int i = 0; i < STRIP_LOADS; ++i) {
            const int at = ow * stride - pad_w + i * VW;
            masks[ow / VW * STRIP_LOADS + i] = lanes_between(-at, in_w - at);
        }
        if (mode == POOL_AVG) {
            acc_t lanes[VW];
            fill_column_scale(ow * stride - pad_w, VW, window, stride, 1, in_w, limit_w, count_pad, lanes);
            scales[ow / VW] = load_private(lanes);
        }
    }

    for (; unit < last; ++unit) {
        const int oh = band * BAND, rows = min(BAND, out_h - oh), top = oh * stride - pad_h;
        const uint present = bits_between(-top, in_h - top, 16);
        const __global data_t *x = begin + n * x_stride_n + c * x_stride_c + top * x_stride_h - pad_w;
        __global data_t *y = y_base + y_offset + n * y_stride_n + c * y_stride_c + oh * y_stride_h;
        acc_t row_scale[BAND] = {0.0f, 0.0f, 0.0f, 0.0f};
        if (mode == POOL_AVG)
            fill_column_scale(top, BAND, window, stride, 1, in_h, limit_h, count_pad, row_scale);
        for (int ow = 0, strip = 0; ow < out_w; ow += VW, ++strip, x += VW * stride) {
            const int width = min(VW, out_w - ow);
            const vf scale = mode == POOL_AVG ? scales[strip] : (vf)(1.0f);
#define BAND_BY(exact) \
    pool_band(mode, exact, window, stride, x, x_stride_h, present, masks + strip * STRIP_LOADS, begin, end, y + ow, \
              y_stride_h, rows, width, lanes_between(0, width), scale, row_scale)
            if (!BAND_BY(false))
                BAND_BY(true);
#undef BAND_BY
        }
        if (++band == bands) {
            band = 0;
            if (++c == channels) {
                c = 0;
                ++n;
            }
        }
    }
}

// Whether bands compute the problem, and has.
POOL_INLINE bool try_bands(int mode, POOL_PARAMS)
{
    if (in_d != 1 || out_d != 1 || window_d != 1 || pad_d != 0 || dilation_h != 1 || dilation_w != 1 ||
        window_h != window_w || stride_h != stride_w || out_w > STRIPS * VW)
        return false;
#define BANDS(window, stride) \
    if (window_w == window && stride_w == stride) { \
        pool_bands(mode, window, stride, POOL_ARGS); \
        return true; \
    }
    BANDS(2, 2) BANDS(3, 2) BANDS(3, 1) BANDS(2, 1)
#undef BANDS
    return false;
}

// What is known of a unit between its two steps.
typedef struct {
    __global data_t *y;
    long indices_at;
    acc_t scale;
} unit_state;

// columns: outputs of a unit; a multiple of VW unless it is out_w. share: units a work-group takes.
POOL_INLINE void pool_planes(int mode, POOL_PARAMS, INDICES_PARAMS, int columns, long unit_count, long share)
{
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    const int parts = (out_w + columns - 1) / columns;
    vf row_vectors[ROW / VW + 4]; // aligned
    acc_t *rows = (acc_t *)row_vectors;
    vf scale_vectors[ROW / VW + 1];
    acc_t *column_scale = (acc_t *)scale_vectors;
    int positions[ROW + 4 * VW];
    unit_state states[BATCH];

    long rest = first;
    output_position to; // w counts parts
    to.w = split(&rest, parts);
    to.h = split(&rest, out_h);
    to.d = split(&rest, out_d);
    to.c = split(&rest, channels);
    to.n = (int)rest;

    int together = 1;
    for (long unit = first; unit < last; unit += together) {
        const int ow = to.w * columns;
        const int width = min(columns, out_w - ow);
        const int w = ow * stride_w - pad_w;

        // A private row's element i is the input's column w + i; what lies outside is padding, written once.
        const int span = ((width + VW - 1) / VW * VW - 1) * stride_w + (window_w - 1) * dilation_w + 1;
        const int pitch = (span + 2 * VW - 1) / VW * VW;
        const int low = clamp(-w, 0, span);
        const int high = clamp(in_w - w, low, span);
        if (unit == first || parts > 1) {
            together = parts > 1 ? 1 : clamp((ROW + 4 * VW) / pitch, 1, BATCH);
            for (int i = 0; i < together * pitch; i += VW) {
                store_private(nothing_yet(mode), rows + i);
                if (mode == POOL_MAX_INDICES)
                    STORE_PRIVATE(vint, (vint)(-1), positions + i);
            }
            if (mode == POOL_AVG)
                fill_column_scale(w, width, window_w, stride_w, dilation_w, in_w, limit_w, count_pad,
                                  column_scale);
        }
        const int units = (int)min((long)together, last - unit);

        for (int b = 0; b < units; ++b) {
            const int d = to.d * stride_d - pad_d;
            const int h = to.h * stride_h - pad_h;
            const int first_d = window_first(d, dilation_d);
            const int first_h = window_first(h, dilation_h);
            const int depths = max(0, window_last(d, window_d, dilation_d, in_d) - first_d);
            const int heights = max(0, window_last(h, window_h, dilation_h, in_h) - first_h);
            const int z = d + first_d * dilation_d;
            const int top = h + first_h * dilation_h;
            const long step_d = dilation_d * x_stride_d;
            const long step_h = dilation_h * x_stride_h;
            const __global data_t *x = x_base + x_offset + to.n * x_stride_n + to.c * x_stride_c +
                                       z * x_stride_d + top * x_stride_h + w;
            acc_t *row = rows + b * pitch;
            int i = low;
            if (mode == POOL_MAX_INDICES) {
                const int origin = (z * in_h + top) * in_w + w;
                for (; i < high; i += VW)
                    combine_rows_positions(min(VW, high - i), x + i, depths, step_d, dilation_d * in_h * in_w,
                                           heights, step_h, dilation_h * in_w, origin + i, row + i,
                                           positions + b * pitch + i);
            } else {
                for (; i + 4 * VW <= high; i += 4 * VW)
                    combine_rows_4(mode, x + i, depths, step_d, heights, step_h, row + i);
                for (; i < high; i += VW)
                    combine_rows(mode, min(VW, high - i), x + i, depths, step_d, heights, step_h, row + i);
            }

            states[b].y = y_base + y_offset + to.n * y_stride_n + to.c * y_stride_c + to.d * y_stride_d +
                          to.h * y_stride_h + ow;
            states[b].indices_at = indices_offset + to.n * indices_stride_n + to.c * indices_stride_c +
                                   to.d * indices_stride_d + to.h * indices_stride_h + ow * indices_stride_w;
            if (mode == POOL_AVG) {
                const int count = window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) *
                                  window_count(h, window_h, dilation_h, in_h, limit_h, count_pad);
                states[b].scale = count > 0 ? 1.0f / (acc_t)count : 0.0f;
            }
            next_output(&to, channels, out_d, out_h, parts);
        }

        for (int b = 0; b < units; ++b) {
            const acc_t *row = rows + b * pitch;
            const int *row_positions = positions + b * pitch;
#define COMBINE_COLUMNS(stride) \
    combine_columns(mode, stride, row, row_positions, width, window_w, dilation_w, column_scale, \
                    states[b].scale, states[b].y, indices_base, states[b].indices_at, indices_are_long, \
                    indices_stride_n, indices_stride_c, indices_stride_d, indices_stride_h, indices_stride_w)
            if (stride_w == 1)
                COMBINE_COLUMNS(1);
            else if (stride_w == 2)
                COMBINE_COLUMNS(2);
            else
                COMBINE_COLUMNS(stride_w);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_planes_max(POOL_PARAMS, int columns, long unit_count, long share)
{
    ONE_ITEM();
    if (!try_bands(POOL_MAX, POOL_ARGS))
        pool_planes(POOL_MAX, POOL_ARGS, NO_INDICES_ARGS, columns, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_planes_avg(POOL_PARAMS, int columns, long unit_count, long share)
{
    ONE_ITEM();
    if (!try_bands(POOL_AVG, POOL_ARGS))
        pool_planes(POOL_AVG, POOL_ARGS, NO_INDICES_ARGS, columns, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_planes_max_indices(POOL_PARAMS, INDICES_PARAMS, int columns, long unit_count, long share)
{
    ONE_ITEM();
    pool_planes(POOL_MAX_INDICES, POOL_ARGS, INDICES_ARGS, columns, unit_count, share);
}
