// SPDX-License-Identifier: MIT
// Padding for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of y.
//
//   -DWG=64|256                work-items a work-group
//   -DELEMENT_BYTES=1|2|4|8    elements are bits of this size
#include "lib/element.clh"
#include "lib/pad.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_pad_grid: nvidia 56, amd 24
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_pad_grid(const __global element_t *x_base, long x_offset, __global element_t *y_base, long y_offset,
                   PAD_PARAMS, long fill, long elements, long share)
{
    PAD_SHAPE(shape);
    for (long i = get_global_id(0); i < elements; i += get_global_size(0)) {
        long number = i, x = x_offset, y = y_offset;
        bool is_inside = true;
#pragma unroll
        for (int d = PAD_ROW; d >= 0; --d) {
            if (shape.total[d] == 1 && shape.extent[d] == 1 && shape.before[d] == 0)
                continue;
            const long quotient = number / shape.total[d], index = number - quotient * shape.total[d];
            const long source = pad_source(mode, index - shape.before[d], shape.extent[d]);
            is_inside = is_inside && source >= 0;
            x += source * shape.x_stride[d];
            y += index * shape.y_stride[d];
            number = quotient;
        }
        y_base[y] = is_inside ? x_base[x] : (element_t)fill;
    }
}
