// SPDX-License-Identifier: MIT
// Padding for CPU devices, one work-item per work-group: y row by row; what lies between a row's edges is one run of x,
// of which the compiler makes vectors. Bound by memory.
//
//   -DELEMENT_BYTES=1|2|4|8    elements are bits of this size
#include "lib/element.clh"
#include "lib/inline.clh"
#include "lib/pad.clh"

// Elements from .. to-1 of a row of y; x NULL: the row is outside of x.
inline void pad_row(const __global element_t *x, long x_stride, __global element_t *y, long y_stride, long from,
                    long to, long n, long before, int mode, element_t fill)
{
    const long first = x ? min(max(before, from), to) : to, last = x ? max(min(before + n, to), first) : to;
    long j = from;
    for (; j < first; ++j) {
        const long source = x ? pad_source(mode, j - before, n) : -1;
        y[j * y_stride] = source < 0 ? fill : x[source * x_stride];
    }
    if (x_stride == 1 && y_stride == 1) {
        const __global element_t *run = x - before;
        for (; j < last; ++j)
            y[j] = run[j];
    } else {
        for (; j < last; ++j)
            y[j * y_stride] = x[(j - before) * x_stride];
    }
    for (; j < to; ++j) {
        const long source = pad_source(mode, j - before, n);
        y[j * y_stride] = source < 0 ? fill : x[source * x_stride];
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_pad_rows(const __global element_t *x_base, long x_offset, __global element_t *y_base, long y_offset,
                   PAD_PARAMS, long fill, long elements, long share)
{
    ONE_ITEM();
    PAD_SHAPE(shape);
    const long count = shape.total[PAD_ROW];
    long first = get_group_id(0) * share;
    const long last = min(first + share, elements);
    long number = first / count, column = first - number * count;
    for (int d = PAD_ROW - 1; d >= 0; --d) {
        shape.index[d] = number % shape.total[d];
        number /= shape.total[d];
    }
    while (first < last) {
        const long end = min(count, column + last - first);
        long x = x_offset, y = y_offset;
        bool is_inside = true;
        for (int d = 0; d < PAD_ROW; ++d) {
            const long source = pad_source(mode, shape.index[d] - shape.before[d], shape.extent[d]);
            is_inside = is_inside && source >= 0;
            x += source * shape.x_stride[d];
            y += shape.index[d] * shape.y_stride[d];
        }
        pad_row(is_inside ? x_base + x : 0, shape.x_stride[PAD_ROW], y_base + y, shape.y_stride[PAD_ROW], column, end,
                shape.extent[PAD_ROW], shape.before[PAD_ROW], mode, (element_t)fill);
        first += end - column;
        column = 0;
        for (int d = PAD_ROW - 1; d >= 0 && ++shape.index[d] == shape.total[d]; --d)
            shape.index[d] = 0;
    }
}
