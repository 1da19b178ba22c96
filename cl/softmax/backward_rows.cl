// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax for CPU devices over rows, one work-item per work-group, explicit vectors.
//
//     softmax      dx = y (dy - sum y dy)          log-softmax  dx = dy - e^y sum dy          along a row
//
// A row is the elements along the axis, at any stride; rows are numbered over the outer dimensions. Its sum is formed
// in blocks of BLOCK elements, added up in order, whoever forms them: it depends on the row's length alone.
//
//   husk_softmax_backward_rows           a work-group takes whole rows: y and dy are read for the sum, and again,
//                                        out of the cache they have come to, for dx
//   husk_softmax_backward_rows_partial   few and long rows, cut into blocks: every block's sum
//   husk_softmax_backward_rows_apply     ... and every block's gradients from all of its row's sums
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/vector.clh"
#include "lib/long_sum.clh"
#include "lib/reduce.clh"
#include "lib/strided.clh"
#include "lib/vector_math.clh"

#define BLOCK 4096 // elements

// A block's sum of y dy, or of dy alone. next_dx: where what is written next lies (NULL: nothing is asked for).
ALWAYS_INLINE acc_t sum_block(bool log_form, const __global data_t *y, long y_stride, const __global data_t *dy,
                              long dy_stride, int length, const __global data_t *next_dx)
{
    if (dy_stride != 1 || (y_stride != 1 && !log_form)) {
        LONG_SUM(all);
        for (int i = 0, stop; i < length;) {
            acc_t run = 0.0f;
            for (stop = min(i + LONG_SUM_RUN, length); i < stop; ++i) {
                const acc_t d = load_one(dy, i * dy_stride);
                run = log_form ? run + d : MAD(load_one(y, i * y_stride), d, run);
            }
            LONG_SUM_ADD(all, run);
        }
        return LONG_SUM_TOTAL(all);
    }
    vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
    int i = 0;
#define ADD(s, v) \
    { \
        const vf d = load_vf(dy + i + v * VW); \
        s = log_form ? s + d : MAD(load_vf(y + i + v * VW), d, s); \
    }
    for (; i + 4 * VW <= length; i += 4 * VW) {
#pragma unroll
        for (int j = 0; j < 4 * VW; j += 16) {
            if (next_dx)
                PREFETCH_WRITE(next_dx + i + j);
        }
        ADD(s0, 0)
        ADD(s1, 1)
        ADD(s2, 2)
        ADD(s3, 3)
    }
#undef ADD
    for (; i < length; i += VW) {
        const vf d = load_vf_part(dy + i, length - i);
        s0 = log_form ? s0 + d : MAD(load_vf_part(y + i, length - i), d, s0);
    }
    return reduce_sum((s0 + s1) + (s2 + s3));
}

ALWAYS_INLINE vf gradient_vf(bool log_form, vf y, vf dy, acc_t sum)
{
    return log_form ? MAD(-exp_vf(y), (vf)(sum), dy) : y * (dy - (vf)(sum));
}

// dx may be y or dy. next_y, next_dy: what is read next (NULL: nothing is asked for).
ALWAYS_INLINE void store_block(bool log_form, const __global data_t *y, long y_stride, const __global data_t *dy,
                               long dy_stride, int length, acc_t sum, __global data_t *dx, long dx_stride,
                               int accumulate, const __global data_t *next_y, const __global data_t *next_dy)
{
    if (y_stride != 1 || dy_stride != 1 || dx_stride != 1) {
        for (int i = 0; i < length; i += VW) {
            const int n = min(VW, length - i);
            acc_t lanes[2 * VW];
            for (int j = 0; j < VW; ++j) {
                lanes[j] = j < n ? load_one(y, (i + j) * y_stride) : 0.0f;
                lanes[VW + j] = j < n ? load_one(dy, (i + j) * dy_stride) : 0.0f;
            }
            store_private(gradient_vf(log_form, load_private(lanes), load_private(lanes + VW), sum), lanes);
            for (int j = 0; j < n; ++j) {
                const long at = (i + j) * dx_stride;
                store_one(dx, at, accumulate ? load_one(dx, at) + lanes[j] : lanes[j]);
            }
        }
        return;
    }
    int i = 0;
#define STORE(v) \
    { \
        vf g = gradient_vf(log_form, load_vf(y + i + v * VW), load_vf(dy + i + v * VW), sum); \
        if (accumulate) \
            g += load_vf(dx + i + v * VW); \
        store_vf(g, dx + i + v * VW); \
    }
    for (; i + 4 * VW <= length; i += 4 * VW) {
#pragma unroll
        for (int j = 0; j < 4 * VW; j += 16) {
            if (next_y)
                PREFETCH_READ(next_y + i + j);
            if (next_dy)
                PREFETCH_READ(next_dy + i + j);
        }
        STORE(0)
        STORE(1)
        STORE(2)
        STORE(3)
    }
#undef STORE
    for (; i < length; i += VW) {
        const int n = length - i;
        vf g = gradient_vf(log_form, load_vf_part(y + i, n), load_vf_part(dy + i, n), sum);
        if (accumulate)
            g += load_vf_part(dx + i, n);
        store_vf_part(g, dx + i, n);
    }
}

// y is x of STRIDED_PARAMS, dx its y, dy its z. share: rows a work-group takes.
ALWAYS_INLINE void whole_rows(bool log_form, const __global data_t *y, const __global data_t *dy,
                              __global data_t *dx, strided_rows *rows, const long *z_stride, int length,
                              long y_stride, long dy_stride, long dx_stride, long first, long last, int accumulate)
{
    const bool is_packed = y_stride == 1 && dy_stride == 1 && dx_stride == 1;
    strided_seek(rows, first);
    for (long r = first; r < last; ++r) {
        const __global data_t *y_row = y + rows->x;
        const __global data_t *dy_row = dy + strided_third(rows, z_stride);
        __global data_t *dx_row = dx + rows->y;
        strided_next(rows); // after the last row the first one, which is as good to fetch as any
        LONG_SUM(all);
        for (int i = 0; i < length; i += BLOCK)
            LONG_SUM_ADD(all, sum_block(log_form, y_row + i * y_stride, y_stride, dy_row + i * dy_stride, dy_stride,
                                        min(BLOCK, length - i), is_packed ? dx_row + i : 0));
        const acc_t sum = LONG_SUM_TOTAL(all);
        store_block(log_form, y_row, y_stride, dy_row, dy_stride, length, sum, dx_row, dx_stride, accumulate,
                    is_packed ? y + rows->x : 0, is_packed ? dy + strided_third(rows, z_stride) : 0);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_backward_rows(const __global data_t *y_base, long y_offset, const __global data_t *dy_base,
                                long dy_offset, __global data_t *dx_base, long dx_offset, STRIDED_PARAMS,
                                STRIDED_Z_PARAMS, int length, long y_stride, long dy_stride, long dx_stride,
                                long row_count, long share, int log_form, int accumulate)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, row_count);
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);
    if (log_form)
        whole_rows(true, y_base + y_offset, dy_base + dy_offset, dx_base + dx_offset, &rows, z_stride, length,
                   y_stride, dy_stride, dx_stride, first, last, accumulate);
    else
        whole_rows(false, y_base + y_offset, dy_base + dy_offset, dx_base + dx_offset, &rows, z_stride, length,
                   y_stride, dy_stride, dx_stride, first, last, accumulate);
}

// sums: of every block of every row. share: blocks a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_backward_rows_partial(const __global data_t *y_base, long y_offset,
                                        const __global data_t *dy_base, long dy_offset, __global acc_t *sums_base,
                                        long sums_offset, STRIDED_PARAMS, STRIDED_Z_PARAMS, int length,
                                        long y_stride, long dy_stride, int row_blocks, long block_count, long share,
                                        int log_form)
{
    ONE_ITEM();
    __global acc_t *sums = sums_base + sums_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, block_count);
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);
    for (long i = first; i < last; ++i) {
        const int start = (int)(i % row_blocks) * BLOCK;
        strided_seek(&rows, i / row_blocks);
        const __global data_t *y = y_base + y_offset + rows.x + start * y_stride;
        const __global data_t *dy = dy_base + dy_offset + strided_third(&rows, z_stride) + start * dy_stride;
        const int size = min(BLOCK, length - start);
        sums[i] = log_form ? sum_block(true, y, y_stride, dy, dy_stride, size, 0)
                           : sum_block(false, y, y_stride, dy, dy_stride, size, 0);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_backward_rows_apply(const __global data_t *y_base, long y_offset, const __global data_t *dy_base,
                                      long dy_offset, __global data_t *dx_base, long dx_offset,
                                      const __global acc_t *sums_base, long sums_offset, STRIDED_PARAMS,
                                      STRIDED_Z_PARAMS, int length, long y_stride, long dy_stride, long dx_stride,
                                      int row_blocks, long block_count, long share, int log_form, int accumulate)
{
    ONE_ITEM();
    const __global acc_t *sums = sums_base + sums_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, block_count);
    acc_t sum = 0.0f;
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);
    for (long i = first; i < last; ++i) {
        const long row = i / row_blocks;
        const int start = (int)(i - row * row_blocks) * BLOCK;
        if (i == first || start == 0) {
            strided_seek(&rows, row);
            LONG_SUM(all);
            for (int b = 0; b < row_blocks; ++b)
                LONG_SUM_ADD(all, sums[row * row_blocks + b]);
            sum = LONG_SUM_TOTAL(all);
        }
        const __global data_t *y = y_base + y_offset + rows.x + start * y_stride;
        const __global data_t *dy = dy_base + dy_offset + strided_third(&rows, z_stride) + start * dy_stride;
        __global data_t *dx = dx_base + dx_offset + rows.y + start * dx_stride;
        const int size = min(BLOCK, length - start);
        if (log_form)
            store_block(true, y, y_stride, dy, dy_stride, size, sum, dx, dx_stride, accumulate, 0, 0);
        else
            store_block(false, y, y_stride, dy, dy_stride, size, sum, dx, dx_stride, accumulate, 0, 0);
    }
}
