// SPDX-License-Identifier: MIT
// Gradients of padding for GPUs: work-item i gathers for elements i, i + grid, i + 2 grid ... of dx.
//
//   -DWG=64|256   work-items a work-group
#include "lib/long_sum.clh"
#include "lib/pad.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_pad_backward_grid: nvidia 256, amd 216
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pad_backward_grid(const __global data_t *y_base, long y_offset, __global data_t *x_base, long x_offset,
                            PAD_PARAMS, int adds, long elements, long share)
{
    PAD_SHAPE(shape);
    for (long i = get_global_id(0); i < elements; i += get_global_size(0)) {
        long number = i, x = x_offset, terms = 1;
#pragma unroll
        for (int d = PAD_ROW; d >= 0; --d) {
            const long quotient = number / shape.extent[d];
            shape.index[d] = number - quotient * shape.extent[d];
            x += shape.index[d] * shape.x_stride[d];
            terms *= pad_uses(mode, shape.index[d], shape.extent[d], shape.before[d], shape.total[d]);
            number = quotient;
        }
        LONG_SUM(all);
        for (long t = 0, stop; t < terms;) {
            acc_t run = 0.0f;
            for (stop = min(t + LONG_SUM_RUN, terms); t < stop; ++t) {
                long rest = t, y = y_offset;
#pragma unroll
                for (int d = PAD_ROW; d >= 0; --d) {
                    const long uses =
                        pad_uses(mode, shape.index[d], shape.extent[d], shape.before[d], shape.total[d]);
                    const long quotient = rest / uses;
                    y += shape.y_stride[d] * pad_use(mode, shape.index[d], shape.extent[d], shape.before[d],
                                                     shape.total[d], rest - quotient * uses);
                    rest = quotient;
                }
                run += load_one(y_base, y);
            }
            LONG_SUM_ADD(all, run);
        }
        const acc_t sum = LONG_SUM_TOTAL(all);
        store_one(x_base, x, adds ? sum + load_one(x_base, x) : sum);
    }
}
