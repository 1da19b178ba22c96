// SPDX-License-Identifier: MIT
// Gradients of one of two tensors element by element, for GPUs: lib/map_grid.clh for an input that was not broadcast,
// lib/sum_grid.clh for one that was.
//
//   -DWG=64|256          work-items a work-group (256 unless the device allows fewer)
//   -DCONDITION_BYTES    the condition is u8; without it it is what the others are
//   -DINDEX_64           some element lies 2^31 or further from its tensor's first, or there are that many
#ifdef CONDITION_BYTES
#define MAP_V_BYTES
#endif
#include "lib/map.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = dy, v = the condition: 0 gives the gradient of what is taken where it is not 0, 1 of the other.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return kind == 0 ? (v != (acc_t)(0.0f) ? u : (acc_t)(0.0f)) : (v != (acc_t)(0.0f) ? (acc_t)(0.0f) : u);
}

#include "lib/sum_grid.clh"

// registers husk_where_backward_grid DTYPE_F64: nvidia 96, amd 88
// registers husk_where_backward_grid: nvidia 80, amd 72
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_where_backward_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}

// registers husk_where_backward_grid_finish DTYPE_F64: nvidia 64, amd 40
// registers husk_where_backward_grid_finish: nvidia 48, amd 32
// registers husk_where_backward_grid_sum: nvidia 72, amd 64
SUM_GRID_KERNELS(husk_where_backward_grid)
