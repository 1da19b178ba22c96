// SPDX-License-Identifier: MIT
// Copies for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of y, in the order of y's memory.
//
//   -DWG=64|256                        work-items a work-group (256 unless the device allows fewer)
//   -DCOPY_FROM=0..7, -DCOPY_TO=0..7   the dtypes, see lib/convert.clh
#include "lib/convert.clh"
#include "lib/walk.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_copy_grid: nvidia 32, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_copy_grid(const __global from_t *x_base, long x_offset, __global to_t *y_base, long y_offset,
                    WALK_PARAMS_2(all), long total)
{
    WALK_2(all);
    for (long i = get_global_id(0); i < total; i += get_global_size(0)) {
        walk_seek(&all, i);
        y_base[y_offset + all.at[1]] = convert(x_base[x_offset + all.at[0]]);
    }
}
