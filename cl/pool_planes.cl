// SPDX-License-Identifier: MIT
// Pooling for CPU devices where the width is contiguous in memory (NCHW and its kin): one work-item per
// work-group, vectors along rows.
//
// A unit of work is a row of outputs, or a part of a long one. First all input rows of its windows are
// combined element by element into one private row with padding around it; then windows are combined along
// that row, by unaligned loads for stride 1, by taking every other element of two vectors for stride 2. So an
// output costs stride_w * window_d * window_h + window_w operations instead of the product of all three.
//
//   husk_pool_planes_max, husk_pool_planes_avg, husk_pool_planes_max_indices
//
// Needs stride 1 of x and y along the width, and
// (columns - 1) * stride_w + (window_w - 1) * dilation_w + 1 <= ROW, columns rounded up to VW.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_vector.clh"

#define ROW 4096 // elements of the private row: 16 KiB

// Combines the rows at x, `step_d` and `step_h` elements apart, element by element: whole vectors.
POOL_INLINE void combine_rows(int mode, int vectors, int n, const __global data_t *x, int depths, long step_d,
                              int heights, long step_h, acc_t *row)
{
    vf best[4];
    for (int v = 0; v < vectors; ++v)
        best[v] = (vf)(mode == POOL_AVG ? 0.0f : -INFINITY);
    for (int i = 0; i < depths; ++i) {
        const __global data_t *element = x + i * step_d;
        for (int j = 0; j < heights; ++j) {
            for (int v = 0; v < vectors; ++v) {
                const vf value = n == VW ? load_vf(element + v * VW) : load_vf_part(element, n);
                best[v] = mode == POOL_AVG ? best[v] + value : max_or_nan(value, best[v]);
            }
            element += step_h;
        }
    }
    for (int v = 0; v < vectors; ++v)
        store_private(mode == POOL_AVG || n == VW ? best[v] : LANES < (vi)(n) ? best[v] : (vf)(-INFINITY),
                      row + v * VW);
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
                      (vi)(position + i * position_step_d + j * position_step_h) + LANES, &best, &best_position);
    }
    store_private(LANES < (vi)(n) ? best : (vf)(-INFINITY), row);
    CONCAT(vstore, VW)(LANES < (vi)(n) ? best_position : (vi)(-1), 0, positions);
}

// Elements i, i + stride, i + 2 stride ... of a private row.
POOL_INLINE vf load_every(const acc_t *row, int stride)
{
    if (stride == 1)
        return load_private(row);
    if (stride == 2) {
        const vf a = load_private(row);
        const vf b = load_private(row + VW);
        return (vf)(a.even, b.even);
    }
    acc_t lanes[VW];
    for (int i = 0; i < VW; ++i)
        lanes[i] = row[i * stride];
    return load_private(lanes);
}

POOL_INLINE vi load_every_position(const int *positions, int stride)
{
    int lanes[VW];
    for (int i = 0; i < VW; ++i)
        lanes[i] = positions[i * stride];
    return CONCAT(vload, VW)(0, lanes);
}

// Combines windows along the private row into `columns` outputs.
POOL_INLINE void combine_columns(int mode, int stride, const acc_t *row, const int *positions, int columns,
                                 int window, int dilation, const acc_t *column_scale, acc_t scale,
                                 __global data_t *y, INDICES_PARAMS)
{
    for (int i = 0; i < columns; i += VW) {
        const int n = min(VW, columns - i);
        vf best = (vf)(mode == POOL_AVG ? 0.0f : -INFINITY);
        vi best_position = (vi)(-1);
        for (int k = 0; k < window; ++k) {
            const vf value = load_every(row + i * stride + k * dilation, stride);
            if (mode == POOL_AVG)
                best += value;
            else if (mode == POOL_MAX)
                best = max_or_nan(value, best);
            else
                take_any(value, load_every_position(positions + i * stride + k * dilation, stride), &best,
                         &best_position);
        }
        if (mode == POOL_AVG)
            best = best * (load_private(column_scale + i) * scale);
        store_vf_part(best, y + i, n);
        if (mode == POOL_MAX_INDICES)
            store_positions(best_position, n, indices_base, indices_are_long, indices_offset + i * indices_stride_w,
                            indices_stride_w);
    }
}

// 1 / (elements that count along the width) for `columns` outputs, the first of whose windows starts at w.
POOL_INLINE void fill_column_scale(int w, int columns, int window, int stride, int dilation, int extent,
                                   int limit, int count_pad, acc_t *column_scale)
{
    for (int i = 0; i < columns; ++i) {
        const int start = w + i * stride;
        const bool is_inside = start >= 0 && start + (window - 1) * dilation < extent;
        const int count = is_inside ? window : window_count(start, window, dilation, extent, limit, count_pad);
        column_scale[i] = count > 0 ? 1.0f / (acc_t)count : 0.0f;
    }
}

// columns: outputs of a unit; a multiple of VW unless it is out_w. share: units a work-group takes.
POOL_INLINE void pool_planes(int mode, POOL_PARAMS, INDICES_PARAMS, int columns, long unit_count, long share)
{
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    const int parts = (out_w + columns - 1) / columns;
    vf row_vectors[ROW / VW + 4]; // aligned
    acc_t *row = (acc_t *)row_vectors;
    vf scale_vectors[ROW / VW + 1];
    acc_t *column_scale = (acc_t *)scale_vectors;
    int positions[ROW + 4 * VW];
    const acc_t nothing = mode == POOL_AVG ? 0.0f : -INFINITY;

    long rest = first;
    int part = (int)(rest % parts);
    rest /= parts;
    int oh = (int)(rest % out_h);
    rest /= out_h;
    int od = (int)(rest % out_d);
    rest /= out_d;
    int c = (int)(rest % channels);
    int n = (int)(rest / channels);
    int scaled_part = -1;

    for (long unit = first; unit < last; ++unit) {
        const int ow = part * columns;
        const int width = min(columns, out_w - ow);
        const int d = od * stride_d - pad_d;
        const int h = oh * stride_h - pad_h;
        const int w = ow * stride_w - pad_w;
        const int first_d = window_first(d, dilation_d);
        const int first_h = window_first(h, dilation_h);
        const int depths = max(0, window_last(d, window_d, dilation_d, in_d) - first_d);
        const int heights = max(0, window_last(h, window_h, dilation_h, in_h) - first_h);
        const int z = d + first_d * dilation_d;
        const int top = h + first_h * dilation_h;

        // The private row's element i is the input's column w + i; what lies outside is padding.
        const int span = ((width + VW - 1) / VW * VW - 1) * stride_w + (window_w - 1) * dilation_w + 1;
        const int low = clamp(-w, 0, span);
        const int high = clamp(in_w - w, low, span);
        for (int i = 0; i < low; i += VW)
            store_private((vf)(nothing), row + i);
        for (int i = high / VW * VW; i < span + VW; i += VW)
            store_private((vf)(nothing), row + i);
        if (mode == POOL_MAX_INDICES) {
            for (int i = 0; i < span + VW; ++i)
                positions[i] = -1;
        }
        const long step_d = dilation_d * x_stride_d;
        const long step_h = dilation_h * x_stride_h;
        const __global data_t *x_row = x_base + x_offset + n * x_stride_n + c * x_stride_c + z * x_stride_d +
                                       top * x_stride_h + w;
        int i = low;
        if (mode == POOL_MAX_INDICES) {
            const int origin = (z * in_h + top) * in_w + w;
            for (; i < high; i += VW)
                combine_rows_positions(min(VW, high - i), x_row + i, depths, step_d, dilation_d * in_h * in_w,
                                       heights, step_h, dilation_h * in_w, origin + i, row + i, positions + i);
        } else {
            for (; i + 4 * VW <= high; i += 4 * VW)
                combine_rows(mode, 4, VW, x_row + i, depths, step_d, heights, step_h, row + i);
            for (; i + VW <= high; i += VW)
                combine_rows(mode, 1, VW, x_row + i, depths, step_d, heights, step_h, row + i);
            if (i < high)
                combine_rows(mode, 1, high - i, x_row + i, depths, step_d, heights, step_h, row + i);
        }

        acc_t scale = 0.0f;
        if (mode == POOL_AVG) {
            if (part != scaled_part)
                fill_column_scale(w, width, window_w, stride_w, dilation_w, in_w, limit_w, count_pad, column_scale);
            scaled_part = part;
            const acc_t count = (acc_t)window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) *
                                (acc_t)window_count(h, window_h, dilation_h, in_h, limit_h, count_pad);
            scale = count > 0.0f ? 1.0f / count : 0.0f;
        }
        __global data_t *y = y_base + y_offset + n * y_stride_n + c * y_stride_c + od * y_stride_d +
                             oh * y_stride_h + ow;
        const long at = indices_offset + n * indices_stride_n + c * indices_stride_c + od * indices_stride_d +
                        oh * indices_stride_h + ow * indices_stride_w;
#define COMBINE_COLUMNS(stride) \
    combine_columns(mode, stride, row, positions, width, window_w, dilation_w, column_scale, scale, y, indices_base, \
                    at, indices_are_long, indices_stride_n, indices_stride_c, indices_stride_d, indices_stride_h, \
                    indices_stride_w)
        if (stride_w == 1)
            COMBINE_COLUMNS(1);
        else if (stride_w == 2)
            COMBINE_COLUMNS(2);
        else
            COMBINE_COLUMNS(stride_w);

        if (++part < parts)
            continue;
        part = 0;
        if (++oh < out_h)
            continue;
        oh = 0;
        if (++od < out_d)
            continue;
        od = 0;
        if (++c < channels)
            continue;
        c = 0;
        ++n;
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
