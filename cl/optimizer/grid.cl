// SPDX-License-Identifier: MIT
// Steps of optimizers for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... Bound by memory.
//
//   -DWG=64|256        work-items a work-group
//   -DGRADIENT_F32     gradients are f32, though a copy of w is not
#define OPTIMIZER_T acc_t
#include "lib/optimizer.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

inline acc_t load_gradient(const __global gradient_t *p, long i)
{
#ifdef GRADIENT_F32
    return p[i];
#else
    return load_one(p, i);
#endif
}

// registers husk_optimizer_grid DTYPE_F64: nvidia 64, amd 56
// registers husk_optimizer_grid: nvidia 48, amd 40
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_optimizer_grid(OPTIMIZER_KERNEL_PARAMS)
{
    const acc_t factor = OPTIMIZER_FACTOR;
    if (OPTIMIZER_SKIPS)
        return;
    OPTIMIZER_COUNT_STEPS
    for (long i = get_global_id(0); i < total; i += get_global_size(0)) {
        optimizer_state s = {w_base[w_offset + i], 0.0f, 0.0f, 0.0f};
        if (flags & OPTIMIZER_FIRST)
            s.first = first_base[first_offset + i];
        if (flags & OPTIMIZER_SECOND)
            s.second = second_base[second_offset + i];
        if (flags & OPTIMIZER_THIRD)
            s.third = third_base[third_offset + i];
        s = optimizer_step(factor * load_gradient(g_base, g_offset + i), s, OPTIMIZER_ARGS);
        w_base[w_offset + i] = s.w;
        if (copy_base)
            store_one(copy_base, copy_offset + i, s.w);
        if (flags & OPTIMIZER_FIRST)
            first_base[first_offset + i] = s.first;
        if (flags & OPTIMIZER_SECOND)
            second_base[second_offset + i] = s.second;
        if (flags & OPTIMIZER_THIRD)
            third_base[third_offset + i] = s.third;
    }
}
