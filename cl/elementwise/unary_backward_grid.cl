// SPDX-License-Identifier: MIT
// Gradients of functions of one number for GPUs: lib/map_grid.clh.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DUNARY_SMOOTH     the transcendental kinds; without it the others alone
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/map.clh"
#define UNARY_T acc_t
#define UNARY_EXP exp
#define UNARY_EXPM1 expm1
#define UNARY_POW pow
#define UNARY_USE_SIN sin
#define UNARY_USE_COS cos
#include "lib/unary.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = dy, v = x or y.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return unary_backward(kind, u, v, n0, n1);
}

#include "lib/map_grid.clh"

// y may be an input.
// registers husk_unary_backward_grid DTYPE_F64: nvidia 152, amd 176
// registers husk_unary_backward_grid UNARY_SMOOTH: nvidia 112, amd 120
// registers husk_unary_backward_grid: nvidia 88, amd 72
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_unary_backward_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}
