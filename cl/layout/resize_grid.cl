// SPDX-License-Identifier: MIT
// Resizing and its gradient for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of what is written, and
// gathers what each of them is a sum of. No work-item adds to another's sum, so no atomics are needed.
//
//   -DWG=64|256                work-items a work-group
//   -DELEMENT_BYTES=1|2|4|8    the nearest elements, as bits of this size; else a dtype, and sums
//   -DGRADIENT                 see lib/resize.clh
#ifdef ELEMENT_BYTES
#include "lib/element.clh"
#else
#include "lib/long_sum.clh"
#endif
#include "lib/resize.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

#ifdef ELEMENT_BYTES
// registers husk_resize_copy_grid: nvidia 64, amd 56
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_resize_copy_grid(const __global element_t *x_base, long x_offset, __global element_t *y_base, long y_offset,
                           RESIZE_PARAMS, long elements, long share)
{
    RESIZE_SHAPE(shape);
    for (long i = get_global_id(0); i < elements; i += get_global_size(0)) {
        long number = i, x = x_offset, y = y_offset;
#pragma unroll
        for (int d = RESIZE_ROW; d >= 0; --d) {
            const long quotient = number / shape[d].outputs, j = number - quotient * shape[d].outputs;
            y += j * shape[d].y_stride;
            x += resize_within(shape[d], resize_base(shape[d], j)) * shape[d].x_stride;
            number = quotient;
        }
        y_base[y] = x_base[x];
    }
}
#else
#define EACH(d) \
    for (long k##d = 0; k##d < reach[d].count; ++k##d)
#define FACTOR(d) resize_factor(shape[d], reach[d], index[d], k##d, coefficient)
#define PLACE(d) resize_place(shape[d], reach[d], k##d)

// registers husk_resize_grid DTYPE_F64: nvidia 120, amd 128
// registers husk_resize_grid: nvidia 104, amd 104
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_resize_grid(const __global data_t *from_base, long from_offset, __global data_t *to_base, long to_offset,
                      RESIZE_PARAMS, acc_t coefficient, int adds, long elements, long share)
{
    RESIZE_SHAPE(shape);
    for (long i = get_global_id(0); i < elements; i += get_global_size(0)) {
        long number = i, to = to_offset, index[RESIZE_DIMENSIONS];
        resize_reach reach[RESIZE_DIMENSIONS];
#pragma unroll
        for (int d = RESIZE_ROW; d >= 0; --d) {
            const long quotient = number / RESIZE_EXTENT(shape[d]);
            index[d] = number - quotient * RESIZE_EXTENT(shape[d]);
            to += index[d] * RESIZE_STRIDE(shape[d]);
            reach[d] = resize_reach_of(shape[d], index[d]);
            number = quotient;
        }
        LONG_SUM(all);
        acc_t run = 0.0f;
        int terms = 0;
        EACH(0) {
            const acc_t factor0 = FACTOR(0);
            const long from0 = from_offset + PLACE(0);
            EACH(1) {
                const acc_t factor1 = factor0 * FACTOR(1);
                const long from1 = from0 + PLACE(1);
                EACH(2) {
                    const acc_t factor2 = factor1 * FACTOR(2);
                    const long from2 = from1 + PLACE(2);
                    EACH(3) {
                        const acc_t factor3 = factor2 * FACTOR(3);
                        const long from3 = from2 + PLACE(3);
                        EACH(4) {
                            run += factor3 * FACTOR(4) * load_one(from_base, from3 + PLACE(4));
                            if (++terms == LONG_SUM_RUN) {
                                LONG_SUM_ADD(all, run);
                                run = 0.0f;
                                terms = 0;
                            }
                        }
                    }
                }
            }
        }
        LONG_SUM_ADD(all, run);
        const acc_t sum = LONG_SUM_TOTAL(all);
        store_one(to_base, to, adds ? sum + load_one(to_base, to) : sum);
    }
}
#endif
