// SPDX-License-Identifier: MIT
// Softmax and log-softmax for CPU devices where neighbours in memory belong to different rows (an axis
// before the last one): one work-item per work-group, vectors across the rows.
//
// The inner dimension, at stride 1, is cut into strips. A strip of `length` by `width` elements is copied to
// private memory while the maxima are found; there exponentials are formed and summed, and only results are
// written. Strips are as wide as the private memory allows, so that memory is read in long runs. The host
// takes this variant while at least VW columns fit.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/reduce.clh"
#include "lib/long_sum.clh"
#include "lib/strided.clh"
#include "lib/vector_math.clh"

#define STRIP 65536 // elements of a strip: 256 KiB, what a second-level cache holds
#define WIDTH 1024  // columns of a strip at most

// y may be x. width: columns of a strip, a multiple of VW, at most WIDTH, width * length <= STRIP.
// share: strips a work-group takes; strips are numbered row-major over the outer dimensions and the strips
// of the inner one.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_softmax_columns(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                          long y_offset, STRIDED_PARAMS, int length, long x_stride, long y_stride, long inner,
                          int width, long strip_count, long share, int log_form)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, strip_count);
    const long inner_strips = (inner + width - 1) / width;
    acc_t strip[STRIP];
    acc_t maxima[WIDTH];
    acc_t sums[WIDTH], whole[WIDTH], rests[WIDTH];
    STRIDED_ROWS(rows);

    for (long i = first; i < last; ++i) {
        const long start = (i % inner_strips) * width;
        const int columns = (int)min((long)width, inner - start);
        strided_seek(&rows, i / inner_strips);
        const __global data_t *x_strip = x + rows.x + start;
        __global data_t *y_strip = y + rows.y + start;

        for (int j = 0; j < columns; j += VW)
            store_private((vf)(-INFINITY), maxima + j);
        for (int a = 0; a < length; ++a) {
            for (int j = 0; j < columns; j += VW) {
                const vf v = load_vf_part(x_strip + a * x_stride + j, columns - j);
                store_private(v, strip + a * width + j);
                store_private(max_vf(v, load_private(maxima + j)), maxima + j);
            }
        }

        long_sums_begin(sums, whole, rests, columns);
        for (int a = 0; a < length; ++a) {
            if (a % LONG_SUM_RUN == 0 && a > 0)
                long_sums_run(sums, whole, rests, columns);
            for (int j = 0; j < columns; j += VW) {
                const vf e = exp_vf(load_private(strip + a * width + j) - load_private(maxima + j));
                if (!log_form)
                    store_private(e, strip + a * width + j);
                store_private(load_private(sums + j) + e, sums + j);
            }
        }

        long_sums_end(sums, whole, rests, columns);

        // y = (strip - below) * factor - minus, of which the logarithm's form has a maximum, 1 and a logarithm, and the
        // plain one 0, 1 / sum and 0: what a large maximum has in common with its column cancels first. Nothing is
        // asked within the loops: compilers would make two of them, under a condition.
        for (int j = 0; j < columns; j += VW) {
            const vf sum = load_private(sums + j);
            store_private(log_form ? load_private(maxima + j) : (vf)(0.0f), maxima + j);
            store_private(log_form ? (vf)(1.0f) : (vf)(1.0f) / sum, sums + j);
            store_private(log_form ? log(sum) : (vf)(0.0f), whole + j);
        }
        for (int a = 0; a < length; ++a) {
            for (int j = 0; j < columns; j += VW) {
                const vf v = load_private(strip + a * width + j) - load_private(maxima + j);
                store_vf_part(v * load_private(sums + j) - load_private(whole + j), y_strip + a * y_stride + j,
                              columns - j);
            }
        }
    }
}
