// SPDX-License-Identifier: MIT
// Two tensors element by element, with broadcasting, for GPUs: lib/map_grid.clh.
//
//   -DWG=64|256      work-items a work-group (256 unless the device allows fewer)
//   -DBINARY_POWER   POWER alone; without it the others
//   -DINDEX_64       some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/map.clh"
#define BINARY_T acc_t
#define BINARY_POW pow
#include "lib/binary.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// u = a, v = b.
ALWAYS_INLINE acc_t element(int kind, acc_t u, acc_t v, acc_t w, MAP_PARAMS)
{
    return binary(kind, u, v, MAP_ARGS);
}

#include "lib/map_grid.clh"

// y may be an input.
// registers husk_binary_grid BINARY_POWER: nvidia 152, amd 152
// registers husk_binary_grid DTYPE_F64: nvidia 128, amd 104
// registers husk_binary_grid: nvidia 88, amd 72
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_binary_grid(MAP_KERNEL_PARAMS)
{
    WALK_4(rows);
    map_items(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, total, flags,
              kind, MAP_ARGS);
}
