// SPDX-License-Identifier: MIT
// Rotary position embedding for GPUs: lib/rotary_grid.clh.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64         there are 2^31 work-items or more
#include "lib/rotary_grid.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// y may be x.
// registers husk_rotary_grid DTYPE_F64: nvidia 64, amd 72
// registers husk_rotary_grid: nvidia 64, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_rotary_grid(ROTARY_KERNEL_PARAMS)
{
    rotary_items(ROTARY_ARGS);
}
