// SPDX-License-Identifier: MIT
// Steps of optimizers for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... Bound by memory.
//
//   -DWG=64|256   work-items a work-group
#define OPTIMIZER_T acc_t
#include "lib/optimizer.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_optimizer_grid(OPTIMIZER_KERNEL_PARAMS)
{
    for (long i = get_global_id(0); i < total; i += get_global_size(0)) {
        optimizer_state s = {load_one(w_base, w_offset + i), 0.0f, 0.0f, 0.0f};
        if (flags & OPTIMIZER_FIRST)
            s.first = load_one(first_base, first_offset + i);
        if (flags & OPTIMIZER_SECOND)
            s.second = load_one(second_base, second_offset + i);
        if (flags & OPTIMIZER_THIRD)
            s.third = load_one(third_base, third_offset + i);
        s = optimizer_step(load_one(g_base, g_offset + i), s, OPTIMIZER_ARGS);
        store_one(w_base, w_offset + i, s.w);
        if (flags & OPTIMIZER_FIRST)
            store_one(first_base, first_offset + i, s.first);
        if (flags & OPTIMIZER_SECOND)
            store_one(second_base, second_offset + i, s.second);
        if (flags & OPTIMIZER_THIRD)
            store_one(third_base, third_offset + i, s.third);
    }
}
