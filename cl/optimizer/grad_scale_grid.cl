// SPDX-License-Identifier: MIT
// Lists of tensors multiplied in place for GPUs: a work-group a unit.
//
//   -DWG=64|256   work-items a work-group
#include "lib/grad_scale.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_grad_scale_grid: nvidia 40, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_grad_scale_grid(LIST_PARAMS, GRAD_SCALE_PARAMS)
{
    __local int flags[WG];
    const int item = (int)get_local_id(0);
    const long number = (long)get_group_id(0);
    const acc_t factor = GRAD_SCALE_FACTOR;
    const bool writes = factor != 1.0f || limit != INFINITY;
    LIST_FIND(own, number);
    int bad = 0;
    for (int i = item; i < own.count; i += WG) {
        const acc_t x = load_one(own.p, i);
        acc_t y = x * factor;
        bad |= (as_acc_int(x) & EXPONENT_BITS) == EXPONENT_BITS;
        y = y > limit ? limit : y;
        y = y < -limit ? -limit : y;
        if (writes)
            store_one(own.p, i, y);
    }
    flags[item] = bad;
    for (int half_ = WG / 2; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_)
            flags[item] |= flags[item + half_];
    }
    if (item == 0 && parts_base)
        parts_base[parts_offset + first + number] = flags[0] ? 1.0f : 0.0f;
}

// registers husk_grad_scale_grid_finish: nvidia 32, amd 8
GRAD_SCALE_FINISH(husk_grad_scale_grid_finish)
