// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax for CPU devices where neighbours in memory belong to different rows (an axis
// before the last one): one work-item per work-group, vectors across the rows.
// softmax/backward_rows.cl has the formulae.
//
// The inner dimension, at stride 1, is cut into strips. The sums of a strip's columns are formed along the axis, one
// element after the other; then dx, from what the cache holds of the strip by then. Strips are as wide as a cache
// allows, so that memory is read in long runs.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/strided.clh"
#include "lib/vector_math.clh"
#include "lib/long_sum.clh"

#define WIDTH 1024 // columns of a strip at most

// One strip of `columns` columns; dx may be y or dy.
ALWAYS_INLINE void one_strip(bool log_form, const __global data_t *y, long y_stride, const __global data_t *dy,
                             long dy_stride, __global data_t *dx, long dx_stride, int length, int columns,
                             int accumulate, acc_t *sums, acc_t *whole, acc_t *rests)
{
    const int run = long_sum_run(length);
    long_sums_begin(sums, whole, rests, columns);
    for (int a = 0, stop; a < length;) {
        for (stop = min(a + run, length); a < stop; ++a) {
            for (int j = 0; j < columns; j += VW) {
                const vf d = load_vf_part(dy + a * dy_stride + j, columns - j);
                const vf sum = load_private(sums + j);
                store_private(log_form ? sum + d : MAD(load_vf_part(y + a * y_stride + j, columns - j), d, sum),
                              sums + j);
            }
        }
        if (a < length)
            long_sums_run(sums, whole, rests, columns);
    }
    long_sums_end(sums, whole, rests, columns);
    for (int a = 0; a < length; ++a) {
        for (int j = 0; j < columns; j += VW) {
            const int n = columns - j;
            const vf out = load_vf_part(y + a * y_stride + j, n);
            const vf d = load_vf_part(dy + a * dy_stride + j, n);
            const vf sum = load_private(sums + j);
            __global data_t *to = dx + a * dx_stride + j;
            vf g = log_form ? MAD(-exp_vf(out), sum, d) : out * (d - sum);
            if (accumulate)
                g += load_vf_part(to, n);
            store_vf_part(g, to, n);
        }
    }
}

// y is x of STRIDED_PARAMS, dx its y, dy its z. width: columns of a strip, a multiple of VW, at most WIDTH. share:
// strips a work-group takes; they are numbered row-major over the outer dimensions and the strips of the inner one.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_backward_columns(const __global data_t *y_base, long y_offset, const __global data_t *dy_base,
                                   long dy_offset, __global data_t *dx_base, long dx_offset, STRIDED_PARAMS,
                                   STRIDED_Z_PARAMS, int length, long y_stride, long dy_stride, long dx_stride,
                                   long inner, int width, long strip_count, long share, int log_form, int accumulate)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, strip_count);
    const long inner_strips = (inner + width - 1) / width;
    acc_t sums[WIDTH], whole[WIDTH], rests[WIDTH];
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);
    for (long i = first; i < last; ++i) {
        const long start = (i % inner_strips) * width;
        const int columns = (int)min((long)width, inner - start);
        strided_seek(&rows, i / inner_strips);
        const __global data_t *y = y_base + y_offset + rows.x + start;
        const __global data_t *dy = dy_base + dy_offset + strided_third(&rows, z_stride) + start;
        __global data_t *dx = dx_base + dx_offset + rows.y + start;
        if (log_form)
            one_strip(true, y, y_stride, dy, dy_stride, dx, dx_stride, length, columns, accumulate, sums, whole,
                      rests);
        else
            one_strip(false, y, y_stride, dy, dy_stride, dx, dx_stride, length, columns, accumulate, sums, whole,
                      rests);
    }
}
