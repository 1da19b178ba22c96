// SPDX-License-Identifier: MIT
// Gradients of padding for CPU devices, one work-item per work-group: blocks of dx's rows gather all rows of dy that
// were made of them, each in its runs: x's own, what lies before it, what lies behind. Bound by memory.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/vector.clh"
#include "lib/long_sum.clh"
#include "lib/pad.clh"

#define BLOCK 256                // elements of dx at a time
#define ROWS (LONG_SUM_RUN / 2) // of dy in a run of sums: an edge has two terms of each

// sums[i - from] += dy[i * step + offset] for i from first to last.
inline void add_run(acc_t *sums, long from, const __global data_t *dy, long y_stride, long offset, int step, long first,
                    long last)
{
    long i = first;
    if (y_stride == 1 && step == 1)
        for (; i + VW <= last + 1; i += VW)
            store_private(load_private(sums + i - from) + load_vf(dy + i + offset), sums + i - from);
    for (; i <= last; ++i)
        sums[i - from] += load_one(dy, (i * step + offset) * y_stride);
}

// The sum of dy's elements from first to last-1: what an edge was repeated as.
inline acc_t sum_edge(const __global data_t *dy, long y_stride, long first, long last)
{
    LONG_SUM(all);
    for (long j = first, stop; j < last;) {
        acc_t run = 0.0f;
        for (stop = min(j + LONG_SUM_RUN, last); j < stop; ++j)
            run += load_one(dy, j * y_stride);
        LONG_SUM_ADD(all, run);
    }
    return LONG_SUM_TOTAL(all);
}

// One row of dy, of `total` elements, to the elements from .. to-1 of dx's row, of n.
inline void add_row(acc_t *sums, const __global data_t *dy, long y_stride, long from, long to, long n, long before,
                    long total, int mode)
{
    add_run(sums, from, dy, y_stride, before, 1, max(from, -before), min(to, total - before) - 1);
    if (mode == PAD_REFLECT) {
        const long behind = before + 2 * (n - 1);
        add_run(sums, from, dy, y_stride, before, -1, max(from, 1L), min(to - 1, before));
        add_run(sums, from, dy, y_stride, behind, -1, max(from, behind - total + 1), min(min(to - 1, n - 2), behind));
    } else if (mode == PAD_CIRCULAR) {
        add_run(sums, from, dy, y_stride, before - n, 1, max(from, n - before), to - 1);
        add_run(sums, from, dy, y_stride, before + n, 1, max(from, -before - n), min(to, total - before - n) - 1);
    } else if (mode == PAD_REPLICATE) {
        if (from == 0 && before > 0)
            sums[0] += sum_edge(dy, y_stride, 0, min(before, total));
        if (to == n && before + n < total)
            sums[n - 1 - from] += sum_edge(dy, y_stride, max(before + n, 0L), total);
    }
}

inline void store_sums(const acc_t *sums, __global data_t *dx, long x_stride, int count, int adds)
{
    for (int j = 0; j < count; j += x_stride == 1 ? VW : 1) {
        if (x_stride == 1) {
            vf sum = load_private(sums + j);
            if (adds)
                sum += load_vf_part(dx + j, count - j);
            store_vf_part(sum, dx + j, count - j);
        } else {
            store_one(dx, j * x_stride, adds ? sums[j] + load_one(dx, j * x_stride) : sums[j]);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_pad_backward_rows(const __global data_t *y_base, long y_offset, __global data_t *x_base, long x_offset,
                            PAD_PARAMS, int adds, long elements, long share)
{
    ONE_ITEM();
    PAD_SHAPE(shape);
    const long n = shape.extent[PAD_ROW];
    long first = get_group_id(0) * share;
    const long last = min(first + share, elements);
    long number = first / n, column = first - number * n;
    for (int d = PAD_ROW - 1; d >= 0; --d) {
        shape.index[d] = number % shape.extent[d];
        number /= shape.extent[d];
    }
    while (first < last) {
        const int count = (int)min(min(n - column, last - first), (long)BLOCK);
        acc_t sums[BLOCK + VW], whole[BLOCK + VW], rests[BLOCK + VW];
        long x = x_offset, rows = 1;
        long uses[PAD_ROW];
        for (int d = 0; d < PAD_ROW; ++d) {
            uses[d] = pad_uses(mode, shape.index[d], shape.extent[d], shape.before[d], shape.total[d]);
            rows *= uses[d];
            x += shape.index[d] * shape.x_stride[d];
        }
        if (rows > ROWS)
            long_sums_begin(sums, whole, rests, count);
        else
            for (int j = 0; j < count; j += VW)
                store_private((vf)(0.0f), sums + j);
        for (long r = 0; r < rows; ++r) {
            long rest = r, y = y_offset;
            for (int d = PAD_ROW - 1; d >= 0; --d) {
                const long k = uses[d] > 1 ? rest % uses[d] : 0;
                rest = uses[d] > 1 ? rest / uses[d] : rest;
                y += shape.y_stride[d] *
                     pad_use(mode, shape.index[d], shape.extent[d], shape.before[d], shape.total[d], k);
            }
            add_row(sums, y_base + y, shape.y_stride[PAD_ROW], column, column + count, n, shape.before[PAD_ROW],
                    shape.total[PAD_ROW], mode);
            if (rows > ROWS && r % ROWS == ROWS - 1)
                long_sums_run(sums, whole, rests, count);
        }
        if (rows > ROWS)
            long_sums_end(sums, whole, rests, count);
        store_sums(sums, x_base + x + column * shape.x_stride[PAD_ROW], shape.x_stride[PAD_ROW], count, adds);
        first += count;
        column += count;
        if (column < n)
            continue;
        column = 0;
        for (int d = PAD_ROW - 1; d >= 0 && ++shape.index[d] == shape.extent[d]; --d)
            shape.index[d] = 0;
    }
}
