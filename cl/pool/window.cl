// SPDX-License-Identifier: MIT
// Pooling for CPU devices with large windows (global pooling): one work-item per work-group, vectors along
// the window's rows, which lie together in memory.
//
// Needs stride 1 of x along the width and dilation 1 there. The host merges dimensions that a window spans
// whole, so that global pooling of a packed image is one row.
//
//   husk_pool_window_max, husk_pool_window_avg, husk_pool_window_max_indices
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_vector.clh"

// Adds the sum of `length` elements, at most sum_block additions a lane at a time.
POOL_INLINE void sum_row(const __global data_t *x, int length, int sum_block, acc_t *total)
{
    for (int start = 0; start < length;) {
        const int size = (int)min((long)length - start, (long)sum_block * 4 * VW);
        const __global data_t *part = x + start;
        vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
        int i = 0;
        for (; i + 4 * VW <= size; i += 4 * VW) {
            s0 += load_vf(part + i);
            s1 += load_vf(part + i + VW);
            s2 += load_vf(part + i + 2 * VW);
            s3 += load_vf(part + i + 3 * VW);
        }
        for (; i + VW <= size; i += VW)
            s0 += load_vf(part + i);
        if (i < size)
            s1 += load_vf_part(part + i, size - i);
        *total += reduce_sum((s0 + s1) + (s2 + s3));
        start += size;
    }
}

POOL_INLINE vf max_row(const __global data_t *x, int length, vf best)
{
    int i = 0;
    for (; i + VW <= length; i += VW)
        best = max_or_nan(load_vf(x + i), best);
    if (i < length) {
        const int n = length - i;
        best = max_or_nan(LANES < (vi)(n) ? load_vf_part(x + i, n) : (vf)(-INFINITY), best);
    }
    return best;
}

POOL_INLINE void max_row_positions(const __global data_t *x, int length, int position, vf *best,
                                   vi *best_position)
{
    for (int i = 0; i < length; i += VW) {
        const int n = min(VW, length - i);
        const vi is_there = LANES < (vi)(n);
        const vf v = is_there ? load_vf_part(x + i, n) : *best;
        vf next = *best;
        vi next_position = *best_position;
        take_next(v, (vi)(position + i) + LANES, &next, &next_position);
        *best = is_there ? next : *best;
        *best_position = is_there ? next_position : *best_position;
    }
}

// The winner of all lanes.
POOL_INLINE acc_t reduce_positions(vf best, vi best_position, int *position)
{
    acc_t values[VW];
    ACC_INT positions[VW];
    store_private(best, values);
    STORE_PRIVATE(vi, best_position, positions);
    acc_t winner = values[0];
    int at = (int)positions[0];
    for (int i = 1; i < VW; ++i) {
        const bool is_nan = values[i] != values[i];
        const bool ties = values[i] == winner || (is_nan && winner != winner);
        if (values[i] > winner || (is_nan && winner == winner) || (ties && (uint)positions[i] < (uint)at)) {
            winner = values[i];
            at = (int)positions[i];
        }
    }
    *position = at;
    return winner;
}

// What a vector's lanes hold of a row: sums or maxima of every VW-th element. Needs length <= sum_block * 4 * VW.
POOL_INLINE vf partial_row(int mode, const __global data_t *x, int length)
{
    const vf none = (vf)(mode == POOL_AVG ? 0.0f : -INFINITY);
    vf p0 = none, p1 = none, p2 = none, p3 = none;
#define COMBINE(v, best) (mode == POOL_AVG ? (best) + (v) : max_or_nan(v, best))
    int i = 0;
    for (; i + 4 * VW <= length; i += 4 * VW) {
        p0 = COMBINE(load_vf(x + i), p0);
        p1 = COMBINE(load_vf(x + i + VW), p1);
        p2 = COMBINE(load_vf(x + i + 2 * VW), p2);
        p3 = COMBINE(load_vf(x + i + 3 * VW), p3);
    }
    if (i + 2 * VW <= length) {
        p0 = COMBINE(load_vf(x + i), p0);
        p1 = COMBINE(load_vf(x + i + VW), p1);
        i += 2 * VW;
    }
    if (i + VW <= length) {
        p2 = COMBINE(load_vf(x + i), p2);
        i += VW;
    }
    if (i < length)
        p3 = COMBINE(load_lanes_or(x + i, lanes_between(0, length - i), none.s0, x, x + length), p3);
    return COMBINE(COMBINE(p0, p1), COMBINE(p2, p3));
}

// VW windows of one row each, `stride` elements apart, into a vector of results: partial results are combined by
// twos, so that vectors stay full.
POOL_INLINE vf pool_rows(int mode, const __global data_t *x, long stride, int length)
{
    vf parts[VW];
#define PART(c) \
    if ((c) < VW) \
        parts[c] = partial_row(mode, x + (c) * stride, length);
    for (int c = 0; c < VW; ++c)
        PART(c)
#undef PART
#define FOLD(c) \
    { \
        const vf even = EVEN_LANES(vf, parts[2 * (c)], parts[2 * (c) + 1]); \
        const vf odd = ODD_LANES(vf, parts[2 * (c)], parts[2 * (c) + 1]); \
        parts[c] = COMBINE(odd, even); \
    }
#if VW == 16
    FOLD(0) FOLD(1) FOLD(2) FOLD(3) FOLD(4) FOLD(5) FOLD(6) FOLD(7)
#endif
#if VW >= 8
    FOLD(0) FOLD(1) FOLD(2) FOLD(3)
#endif
    FOLD(0) FOLD(1)
    FOLD(0)
#undef FOLD
#undef COMBINE
    return parts[0];
}

// share: outputs a work-group takes.
POOL_INLINE void pool_window(int mode, POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);

    long rest = first;
    output_position at;
    at.w = split(&rest, out_w);
    at.h = split(&rest, out_h);
    at.d = split(&rest, out_d);
    at.c = split(&rest, channels);
    at.n = (int)rest;
    const bool is_global = out_w == 1 && out_h == 1 && out_d == 1;
    int d, h, first_d, first_h, last_d, last_h, first_w, length;
    acc_t scale;
    for (long unit = first; unit < last; ++unit, next_output(&at, channels, out_d, out_h, out_w)) {
        if (unit == first || !is_global) { // one window suits all channels of global pooling
            d = at.d * stride_d - pad_d;
            h = at.h * stride_h - pad_h;
            const int w = at.w * stride_w - pad_w;
            first_d = window_first(d, dilation_d);
            first_h = window_first(h, dilation_h);
            last_d = window_last(d, window_d, dilation_d, in_d);
            last_h = window_last(h, window_h, dilation_h, in_h);
            first_w = w + window_first(w, 1);
            length = max(0, w + window_last(w, window_w, 1, in_w) - first_w);
            const acc_t count = (acc_t)window_count(d, window_d, dilation_d, in_d, limit_d, count_pad) *
                                (acc_t)window_count(h, window_h, dilation_h, in_h, limit_h, count_pad) *
                                (acc_t)window_count(w, window_w, 1, in_w, limit_w, count_pad);
            scale = count > 0.0f ? 1.0f / count : 0.0f;
        }
        const __global data_t *x = x_base + x_offset + at.n * x_stride_n + at.c * x_stride_c + first_w;

        // Global pooling: a window is a row, and the next VW of them lie evenly.
        if (mode != POOL_MAX_INDICES && is_global && last_d - first_d == 1 && last_h - first_h == 1 &&
            at.c + VW <= channels && unit + VW <= last && length <= sum_block * 4 * VW) {
            const int z = d + first_d * dilation_d, row = h + first_h * dilation_h;
            const vf found = pool_rows(mode, x + z * x_stride_d + row * x_stride_h, x_stride_c, length);
            const vf out = mode == POOL_AVG ? found * scale : found;
            __global data_t *y = y_base + y_offset + at.n * y_stride_n + at.c * y_stride_c;
            if (y_stride_c == 1) {
                store_vf(out, y);
            } else {
                acc_t lanes[VW];
                store_private(out, lanes);
                for (int i = 0; i < VW; ++i)
                    store_one(y, i * y_stride_c, lanes[i]);
            }
            unit += VW - 1;
            at.c += VW - 1; // the loop takes the last step
            continue;
        }

        acc_t sum = 0.0f;
        vf best = (vf)(-INFINITY);
        vi position = (vi)(-1);
        for (int i = first_d; i < last_d; ++i) {
            const int z = d + i * dilation_d;
            acc_t plane_sum = 0.0f;
            for (int j = first_h; j < last_h; ++j) {
                const int row = h + j * dilation_h;
                const __global data_t *x_row = x + z * x_stride_d + row * x_stride_h;
                if (mode == POOL_AVG)
                    sum_row(x_row, length, sum_block, &plane_sum);
                else if (mode == POOL_MAX)
                    best = max_row(x_row, length, best);
                else
                    max_row_positions(x_row, length, (z * in_h + row) * in_w + first_w, &best, &position);
            }
            sum += plane_sum;
        }

        __global data_t *y = y_base + y_offset + at.n * y_stride_n + at.c * y_stride_c + at.d * y_stride_d +
                             at.h * y_stride_h + at.w * y_stride_w;
        if (mode == POOL_AVG) {
            store_one(y, 0, sum * scale);
        } else if (mode == POOL_MAX) {
            store_one(y, 0, any(best != best) ? NAN : reduce_max(best));
        } else {
            int winner;
            store_one(y, 0, reduce_positions(best, position, &winner));
            store_position(indices_base, indices_are_long,
                           indices_offset + at.n * indices_stride_n + at.c * indices_stride_c +
                               at.d * indices_stride_d + at.h * indices_stride_h + at.w * indices_stride_w,
                           winner);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_window_max(POOL_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_window(POOL_MAX, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_window_avg(POOL_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_window(POOL_AVG, POOL_ARGS, NO_INDICES_ARGS, unit_count, share);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_window_max_indices(POOL_PARAMS, INDICES_PARAMS, long unit_count, long share)
{
    ONE_ITEM();
    pool_window(POOL_MAX_INDICES, POOL_ARGS, INDICES_ARGS, unit_count, share);
}
