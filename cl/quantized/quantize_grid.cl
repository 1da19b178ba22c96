// SPDX-License-Identifier: MIT
// y = saturate(round(x / scale) + zero) for GPUs: work-item i takes elements i, i + grid, i + 2 grid ...
//
//   -DWG=64|256   work-items a work-group (256 unless the device allows fewer)
#include "lib/quantize.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_quantize_grid: nvidia 40, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_quantize_grid(QUANTIZE_PARAMS(data_t, uchar), WALK_PARAMS_4(all), long total)
{
    WALK_4(all);
    for (long i = get_global_id(0); i < total; i += get_global_size(0)) {
        walk_seek(&all, i);
        const float zero = zero_at(zero_base, has_zero, zero_offset + all.at[3], sign);
        const float quotient = load_one(x_base, x_offset + all.at[1]) / scale_base[scale_offset + all.at[2]];
        const float moved = quotient != quotient ? zero : rint(quotient) + zero;
        const float low = (float)-sign;
        y_base[y_offset + all.at[0]] = (uchar)((int)clamp(moved, low, low + 255.0f) & 255);
    }
}
