// SPDX-License-Identifier: MIT
// One of two tensors element by element, with broadcasting, for GPUs: lib/map_grid.clh.
//
//   -DWG=64|256          work-items a work-group (256 unless the device allows fewer)
//   -DCONDITION_BYTES    the condition is u8; without it it is what the others are
//   -DINDEX_64           some element lies 2^31 or further from its tensor's first, or there are that many
#ifdef CONDITION_BYTES
#define MAP_U_BYTES
#endif
#include "lib/map.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = the condition, v = a, w = b.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return u != (acc_t)(0.0f) ? v : w;
}

#include "lib/map_grid.clh"

// y may be an input.
// registers husk_where_grid DTYPE_F64: nvidia 112, amd 104
// registers husk_where_grid: nvidia 88, amd 80
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_where_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}
