// SPDX-License-Identifier: MIT
// Steps of optimizers for CPU devices, one work-item per work-group, explicit vectors. Bound by memory: everything is
// read once and written once.
//
//   -DVW=4|8|16        floats a vector holds
//   -DGRADIENT_F32     gradients are f32, though a copy of w is not
#include "lib/vector.clh"
#define OPTIMIZER_T vf
#include "lib/optimizer.clh"

#ifdef GRADIENT_F32
#define LOAD_GRADIENT load_acc_part
#else
#define LOAD_GRADIENT load_vf_part
#endif

typedef struct {
    const __global gradient_t *g;
    __global acc_t *w, *first, *second, *third;
    __global data_t *copy;
} operands;

// Elements i .. i + n - 1, at most a vector.
__attribute__((always_inline)) inline void step_vector(const operands *o, acc_t factor, long i, int n,
                                                       OPTIMIZER_PARAMS)
{
    optimizer_state s = {load_acc_part(o->w + i, n), (vf)(0.0f), (vf)(0.0f), (vf)(0.0f)};
    if (flags & OPTIMIZER_FIRST)
        s.first = load_acc_part(o->first + i, n);
    if (flags & OPTIMIZER_SECOND)
        s.second = load_acc_part(o->second + i, n);
    if (flags & OPTIMIZER_THIRD)
        s.third = load_acc_part(o->third + i, n);
    s = optimizer_step(LOAD_GRADIENT(o->g + i, n) * factor, s, OPTIMIZER_ARGS);
    store_acc_part(s.w, o->w + i, n);
    if (o->copy)
        store_vf_part(s.w, o->copy + i, n);
    if (flags & OPTIMIZER_FIRST)
        store_acc_part(s.first, o->first + i, n);
    if (flags & OPTIMIZER_SECOND)
        store_acc_part(s.second, o->second + i, n);
    if (flags & OPTIMIZER_THIRD)
        store_acc_part(s.third, o->third + i, n);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_optimizer_vector(OPTIMIZER_KERNEL_PARAMS)
{
    ONE_ITEM();
    const operands o = {g_base + g_offset, w_base + w_offset, first_base + first_offset, second_base + second_offset,
                        third_base + third_offset, copy_base ? copy_base + copy_offset : 0};
    const acc_t factor = OPTIMIZER_FACTOR;
    const long begin = get_group_id(0) * share;
    const long end = min(begin + share, total);
    long i = begin;
    if (OPTIMIZER_SKIPS)
        return;
    OPTIMIZER_COUNT_STEPS
    for (; i + VW <= end; i += VW)
        step_vector(&o, factor, i, VW, OPTIMIZER_ARGS);
    if (i < end)
        step_vector(&o, factor, i, (int)(end - i), OPTIMIZER_ARGS);
}
