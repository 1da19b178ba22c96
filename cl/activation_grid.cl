// SPDX-License-Identifier: MIT
// Activations for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of both tensors.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DACT_SMOOTH       the transcendental kinds; without it the piecewise linear ones alone
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/dtype.clh"
#include "lib/activation.clh"
#include "lib/strided.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// y may be x.
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_activation_grid(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                          long y_offset, STRIDED_PARAMS, long count, long x_stride, long y_stride,
                          long total, ACT_PARAMS)
{
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const index_t end = (index_t)total;
    const index_t grid = (index_t)get_global_size(0);

    if (outer_rank == 0) {
        for (index_t i = (index_t)get_global_id(0); i < end; i += grid)
            store_one(y, i * (index_t)y_stride, activate(load_one(x, i * (index_t)x_stride), ACT_ARGS));
        return;
    }
    STRIDED_ROWS(rows);
    for (index_t i = (index_t)get_global_id(0); i < end; i += grid) {
        const index_t row = i / (index_t)count;
        const index_t column = i - row * (index_t)count;
        strided_seek(&rows, row);
        const acc_t value = load_one(x, rows.x + column * x_stride);
        store_one(y, rows.y + column * y_stride, activate(value, ACT_ARGS));
    }
}
