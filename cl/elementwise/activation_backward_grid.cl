// SPDX-License-Identifier: MIT
// Gradients of activations for GPUs: lib/map_grid.clh.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DACT_SMOOTH       the transcendental kinds; without it the piecewise linear ones alone
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/dtype.clh"
#include "lib/activation_gradient.clh"
#include "lib/map.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = dy, v = x or y.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return activate_backward(u, v, kind, n0, n1, n2);
}

#include "lib/map_grid.clh"

// y may be u.
// registers husk_activation_backward_grid ACT_SMOOTH DTYPE_F64: nvidia 136, amd 256
// registers husk_activation_backward_grid ACT_SMOOTH: nvidia 96, amd 128
// registers husk_activation_backward_grid DTYPE_F64: nvidia 104, amd 96
// registers husk_activation_backward_grid: nvidia 80, amd 72
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_activation_backward_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}
