// SPDX-License-Identifier: MIT
// Dropout for GPUs: lib/dropout_grid.clh.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/dropout_grid.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// y may be x.
// registers husk_dropout_grid: nvidia 64, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_dropout_grid(DROPOUT_KERNEL_PARAMS)
{
    WALK_4(rows);
    dropout_items(x_base + x_offset, y_base + y_offset, &rows, outer, total, flags, DROPOUT_ARGS);
}
