// SPDX-License-Identifier: MIT
// Softmax and log-softmax for CPU devices over rows, one work-item per work-group, explicit vectors.
//
// A row is the elements along the axis, at any stride; rows are numbered over the outer dimensions.
//
//   husk_softmax_rows           short rows (up to ROW elements): a row is copied to private memory while its
//                               maximum is found, exponentials stay there, and only results are written:
//                               one read and one write of memory an element
//   husk_softmax_rows_partial   long rows, cut into blocks: maximum and sum of every block
//   husk_softmax_rows_apply     ... and every block's results from all of its row's pairs
//
// The blocks of a row depend on its length alone and their sums are added in order, so the result does not
// depend on the number of work-groups.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/vector.clh"
#include "lib/reduce.clh"
#include "lib/strided.clh"
#include "lib/vector_math.clh"

#define ROW 65536  // elements a row kept in private memory may have: 256 KiB, what a second-level cache holds
#define BLOCK 4096 // elements a block of a longer row has

// Copies `length` elements to private memory, whole vectors filled up with -inf, and finds their maximum.
// A NaN is skipped here; the sum meets it.
ALWAYS_INLINE acc_t load_block(const __global data_t *x, long stride, int length, acc_t *block)
{
    vf m0 = (vf)(-INFINITY), m1 = m0, m2 = m0, m3 = m0;
    int i = 0;
    if (stride == 1) {
        for (; i + 4 * VW <= length; i += 4 * VW) {
            const vf v0 = load_vf(x + i);
            const vf v1 = load_vf(x + i + VW);
            const vf v2 = load_vf(x + i + 2 * VW);
            const vf v3 = load_vf(x + i + 3 * VW);
            store_private(v0, block + i);
            store_private(v1, block + i + VW);
            store_private(v2, block + i + 2 * VW);
            store_private(v3, block + i + 3 * VW);
            m0 = max_vf(v0, m0);
            m1 = max_vf(v1, m1);
            m2 = max_vf(v2, m2);
            m3 = max_vf(v3, m3);
        }
        for (; i < length; i += VW) {
            const int lanes = min(VW, length - i);
            const vf v = LANES < (vi)(lanes) ? load_vf_part(x + i, lanes) : (vf)(-INFINITY);
            store_private(v, block + i);
            m0 = max_vf(v, m0);
        }
    } else {
        for (; i < length; ++i)
            block[i] = load_one(x, i * stride);
        for (; i % VW != 0; ++i)
            block[i] = -INFINITY;
        for (i = 0; i < length; i += VW)
            m0 = max_vf(load_private(block + i), m0);
    }
    return reduce_max(max_vf(max_vf(m0, m1), max_vf(m2, m3)));
}

// Sum of e^(x - maximum) over a block filled up with -inf; the exponentials replace x where they are kept.
// Meanwhile memory is idle: it fetches the rows that are read and written next (NULL: nothing).
ALWAYS_INLINE acc_t sum_block(acc_t *block, int length, acc_t maximum, bool keep,
                              const __global data_t *next_x, const __global data_t *next_y)
{
    const vf shift = (vf)(maximum);
    vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
    int i = 0;
    for (; i + 4 * VW <= length; i += 4 * VW) {
#pragma unroll
        for (int j = 0; j < 4 * VW; j += 16) {
            if (next_x)
                PREFETCH_READ(next_x + i + j);
            if (next_y)
                PREFETCH_WRITE(next_y + i + j);
        }
        const vf e0 = exp_vf(load_private(block + i) - shift);
        const vf e1 = exp_vf(load_private(block + i + VW) - shift);
        const vf e2 = exp_vf(load_private(block + i + 2 * VW) - shift);
        const vf e3 = exp_vf(load_private(block + i + 3 * VW) - shift);
        if (keep) {
            store_private(e0, block + i);
            store_private(e1, block + i + VW);
            store_private(e2, block + i + 2 * VW);
            store_private(e3, block + i + 3 * VW);
        }
        s0 += e0;
        s1 += e1;
        s2 += e2;
        s3 += e3;
    }
    for (; i < length; i += VW) {
        const vf e = exp_vf(load_private(block + i) - shift);
        if (keep)
            store_private(e, block + i);
        s0 += e;
    }
    return reduce_sum((s0 + s1) + (s2 + s3));
}

// y = (block - maximum) * scale - shift, in this order: what a large maximum has in common with the row cancels before
// the logarithm of a sum is added, which is small beside it. maximum 0 and shift 0 cost nothing where they are known.
ALWAYS_INLINE void store_block(const acc_t *block, int length, acc_t maximum, acc_t scale, acc_t shift,
                               __global data_t *y, long stride)
{
    const vf below = (vf)(maximum), factor = (vf)(scale), minus = (vf)(shift);
    if (stride == 1) {
        int i = 0;
        for (; i + VW <= length; i += VW)
            store_vf((load_private(block + i) - below) * factor - minus, y + i);
        if (i < length)
            store_vf_part((load_private(block + i) - below) * factor - minus, y + i, length - i);
    } else {
        for (int i = 0; i < length; ++i)
            store_one(y, i * stride, (block[i] - maximum) * scale - shift);
    }
}

// A row's maximum, and its sum of e^(x - maximum). Infinite and NaN maxima make the sum NaN as they should:
// -inf - -inf where the whole row is -inf, inf - inf where some element is inf.
inline void combine_pairs(const __global acc_t *pairs, int count, acc_t *maximum, acc_t *sum)
{
    acc_t largest = -INFINITY;
    for (int i = 0; i < count; ++i)
        largest = pairs[2 * i] > largest ? pairs[2 * i] : largest;
    acc_t total = 0.0f;
    for (int i = 0; i < count; ++i)
        total += pairs[2 * i + 1] * exp(pairs[2 * i] - largest);
    *maximum = largest;
    *sum = total;
}

// y may be x. share: rows a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_rows(const __global data_t *x_base, long x_offset, __global data_t *y_base, long y_offset,
                       STRIDED_PARAMS, int length, long x_stride, long y_stride, long row_count, long share,
                       int log_form)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, row_count);
    vf vectors[ROW / VW + 1]; // aligned
    acc_t *row = (acc_t *)vectors;
    STRIDED_ROWS(rows);

    strided_seek(&rows, first);
    for (long r = first; r < last; ++r) {
        const acc_t maximum = load_block(x + rows.x, x_stride, length, row);
        __global data_t *y_row = y + rows.y;
        strided_next(&rows); // after the last row the first one, which is as good to fetch as any
        const __global data_t *next_x = x_stride == 1 ? x + rows.x : 0;
        const __global data_t *next_y = y_stride == 1 ? y + rows.y : 0;
        if (log_form) {
            const acc_t sum = sum_block(row, length, maximum, false, next_x, next_y);
            store_block(row, length, maximum, 1.0f, log(sum), y_row, y_stride);
        } else {
            const acc_t sum = sum_block(row, length, maximum, true, next_x, next_y);
            store_block(row, length, 0.0f, 1.0f / sum, 0.0f, y_row, y_stride);
        }
    }
}

// pairs: a maximum and a sum for every block of every row. share: blocks a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_rows_partial(const __global data_t *x_base, long x_offset, __global acc_t *pairs_base,
                               long pairs_offset, STRIDED_PARAMS, int length, long x_stride, int row_blocks,
                               long block_count, long share)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global acc_t *pairs = pairs_base + pairs_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, block_count);
    vf vectors[BLOCK / VW + 1]; // aligned
    acc_t *block = (acc_t *)vectors;
    STRIDED_ROWS(rows);

    for (long i = first; i < last; ++i) {
        const int start = (int)(i % row_blocks) * BLOCK;
        const int size = min(BLOCK, length - start);
        strided_seek(&rows, i / row_blocks);
        const __global data_t *x_block = x + rows.x + start * x_stride;
        const acc_t maximum = load_block(x_block, x_stride, size, block);
        // A block of -infinity adds nothing to its row; subtracting its maximum would make it NaN.
        const acc_t shift = maximum == -INFINITY ? 0.0f : maximum;
        pairs[2 * i] = maximum;
        const bool ahead = x_stride == 1 && length - start >= 2 * BLOCK; // the next block is full too
        pairs[2 * i + 1] = sum_block(block, size, shift, false, ahead ? x_block + BLOCK : 0, 0);
    }
}

// y may be x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_rows_apply(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                             long y_offset, const __global acc_t *pairs_base, long pairs_offset,
                             STRIDED_PARAMS, int length, long x_stride, long y_stride, int row_blocks,
                             long block_count, long share, int log_form)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const __global acc_t *pairs = pairs_base + pairs_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, block_count);
    vf vectors[BLOCK / VW + 1]; // aligned
    acc_t *block = (acc_t *)vectors;
    acc_t maximum = 0.0f;
    acc_t sum = 0.0f;
    STRIDED_ROWS(rows);

    for (long i = first; i < last; ++i) {
        const long row = i / row_blocks;
        const int start = (int)(i - row * row_blocks) * BLOCK;
        const int size = min(BLOCK, length - start);
        if (i == first || start == 0) {
            strided_seek(&rows, row);
            combine_pairs(pairs + 2 * row * row_blocks, row_blocks, &maximum, &sum);
        }
        const __global data_t *x_block = x + rows.x + start * x_stride;
        __global data_t *y_block = y + rows.y + start * y_stride;
        load_block(x_block, x_stride, size, block);
        if (log_form) {
            store_block(block, size, maximum, 1.0f, log(sum), y_block, y_stride);
        } else {
            const bool ahead = length - start >= 2 * BLOCK;
            sum_block(block, size, maximum, true, ahead && x_stride == 1 ? x_block + BLOCK : 0,
                      ahead && y_stride == 1 ? y_block + BLOCK : 0);
            store_block(block, size, 0.0f, 1.0f / sum, 0.0f, y_block, y_stride);
        }
    }
}
