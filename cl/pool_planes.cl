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
    for (int i = 0; i < depths; ++i) {
        for (int j = 0; j < heights; ++j)
            take_next(load_vf_part(x + i * step_d + j * step_h, n),
                      (vi)(position + i * position_step_d + j * position_step_h) + LANES, &best,
                      &best_position);
    }
    store_private(LANES < (vi)(n) ? best : (vf)(-INFINITY), row);
    CONCAT(vstore, VW)(LANES < (vi)(n) ? best_position : (vi)(-1), 0, positions);
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
        return CONCAT(vload, VW)(0, positions);
    if (stride == 2) {
        const vi a = CONCAT(vload, VW)(0, positions);
        const vi b = CONCAT(vload, VW)(0, positions + VW);
        return EVEN_LANES(vi, a, b);
    }
    int lanes[VW];
    for (int i = 0; i < n; ++i)
        lanes[i] = positions[i * stride];
    return CONCAT(vload, VW)(0, lanes);
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
                    CONCAT(vstore, VW)((vi)(-1), 0, positions + i);
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
    pool_planes(POOL_MAX, POOL_ARGS, NO_INDICES_ARGS, columns, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_planes_avg(POOL_PARAMS, int columns, long unit_count, long share)
{
    pool_planes(POOL_AVG, POOL_ARGS, NO_INDICES_ARGS, columns, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_planes_max_indices(POOL_PARAMS, INDICES_PARAMS, int columns, long unit_count, long share)
{
    pool_planes(POOL_MAX_INDICES, POOL_ARGS, INDICES_ARGS, columns, unit_count, share);
}
