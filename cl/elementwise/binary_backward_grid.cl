// SPDX-License-Identifier: MIT
// Gradients of two tensors element by element, for GPUs: lib/map_grid.clh for an input that was not broadcast,
// lib/sum_grid.clh for one that was.
//
//   -DWG=64|256      work-items a work-group (256 unless the device allows fewer)
//   -DBINARY_POWER   POWER alone; without it the others
//   -DINDEX_64       some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/map.clh"
#define BINARY_T acc_t
#define BINARY_POW pow
#include "lib/binary_gradient.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = dy; v and w are the kind's.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return binary_gradient(kind, u, v, w, n0);
}

#include "lib/sum_grid.clh"

// registers husk_binary_backward_grid DTYPE_F64: nvidia 144, amd 176
// registers husk_binary_backward_grid BINARY_POWER: nvidia 120, amd 128
// registers husk_binary_backward_grid: nvidia 96, amd 80
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_binary_backward_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}

// registers husk_binary_backward_grid_finish DTYPE_F64: nvidia 64, amd 40
// registers husk_binary_backward_grid_finish: nvidia 48, amd 32
// registers husk_binary_backward_grid_sum DTYPE_F64: nvidia 104, amd 136
// registers husk_binary_backward_grid_sum BINARY_POWER: nvidia 80, amd 88
// registers husk_binary_backward_grid_sum: nvidia 80, amd 64
SUM_GRID_KERNELS(husk_binary_backward_grid)
