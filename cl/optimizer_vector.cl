// SPDX-License-Identifier: MIT
// Steps of optimizers for CPU devices, one work-item per work-group, explicit vectors. Bound by memory: everything is
// read once and written once.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/vector.clh"
#define OPTIMIZER_T vf
#include "lib/optimizer.clh"

// Elements i .. i + n - 1, at most a vector.
__attribute__((always_inline)) inline void step_vector(const __global data_t *g, __global data_t *w,
                                                       __global data_t *first, __global data_t *second,
                                                       __global data_t *third, long i, int n, OPTIMIZER_PARAMS)
{
    optimizer_state s = {load_vf_part(w + i, n), (vf)(0.0f), (vf)(0.0f), (vf)(0.0f)};
    if (flags & OPTIMIZER_FIRST)
        s.first = load_vf_part(first + i, n);
    if (flags & OPTIMIZER_SECOND)
        s.second = load_vf_part(second + i, n);
    if (flags & OPTIMIZER_THIRD)
        s.third = load_vf_part(third + i, n);
    s = optimizer_step(load_vf_part(g + i, n), s, OPTIMIZER_ARGS);
    store_vf_part(s.w, w + i, n);
    if (flags & OPTIMIZER_FIRST)
        store_vf_part(s.first, first + i, n);
    if (flags & OPTIMIZER_SECOND)
        store_vf_part(s.second, second + i, n);
    if (flags & OPTIMIZER_THIRD)
        store_vf_part(s.third, third + i, n);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_optimizer_vector(OPTIMIZER_KERNEL_PARAMS)
{
    const long begin = get_group_id(0) * share;
    const long end = min(begin + share, total);
    long i = begin;
    for (; i + VW <= end; i += VW)
        step_vector(g_base + g_offset, w_base + w_offset, first_base + first_offset, second_base + second_offset,
                    third_base + third_offset, i, VW, OPTIMIZER_ARGS);
    if (i < end)
        step_vector(g_base + g_offset, w_base + w_offset, first_base + first_offset, second_base + second_offset,
                    third_base + third_offset, i, (int)(end - i), OPTIMIZER_ARGS);
}
