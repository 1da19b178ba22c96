// SPDX-License-Identifier: MIT
// The gradient of reductions for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of dx.
//
//   -DWG=64|256   work-items a work-group (256 unless the device allows fewer)
#include "lib/dtype.clh"
#include "lib/walk.clh"
#define GRADIENT_T   acc_t
#define GRADIENT_EXP exp
#include "lib/reduction_gradient.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// dx may be x. at: dx, x, dy, and y or the pairs, over the dimensions above the row of `count` elements.
// registers husk_reduce_backward_grid: nvidia 48, amd 40
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_reduce_backward_grid(const __global data_t *x_base, long x_offset, const __global data_t *y_base,
                               long y_offset, const __global acc_t *pairs_base, long pairs_offset,
                               const __global data_t *dy_base, long dy_offset, __global data_t *dx_base,
                               long dx_offset, WALK_PARAMS_4(at), long count, long dx_stride, long x_stride,
                               long dy_stride, long other_stride, long total, int form, acc_t scale,
                               int accumulates)
{
    WALK_4(at);
    for (long i = get_global_id(0); i < total; i += get_global_size(0)) {
        const long row = i / count;
        const long column = i - row * count;
        walk_seek(&at, row);
        const long other = at.at[3] + column * other_stride;
        const acc_t dy = load_one(dy_base + dy_offset, at.at[2] + column * dy_stride);
        acc_t x = 0.0f, first = 1.0f, second = 1.0f;
        if (form != FORM_BROADCAST)
            x = load_one(x_base + x_offset, at.at[1] + column * x_stride);
        if (form == FORM_NORM || form == FORM_EXP)
            first = load_one(y_base + y_offset, other);
        if (form == FORM_EXTREME || form == FORM_PRODUCT) {
            first = pairs_base[pairs_offset + other];
            second = pairs_base[pairs_offset + other + 1];
        }
        const acc_t g = gradient_of(form, x, gradient_a(form, dy, first, second, scale),
                                    gradient_b(form, dy, first, second));
        __global data_t *dx = dx_base + dx_offset;
        const long place = at.at[0] + column * dx_stride;
        store_one(dx, place, accumulates ? load_one(dx, place) + g : g);
    }
}
