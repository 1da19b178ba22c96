// SPDX-License-Identifier: MIT
// Lists of tensors multiplied in place for CPU devices, one work-item per work-group. Bound by memory: once read, once
// written.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/grad_scale.clh"
#include "lib/vector.clh"

// A NaN stays what it is: comparisons with it are false.
inline vf within(vf x, acc_t limit)
{
    x = x > (vf)(limit) ? (vf)(limit) : x;
    return x < (vf)(-limit) ? (vf)(-limit) : x;
}

// Lanes whose exponent is all ones are not 0.
inline vi not_finite(vf x)
{
    return (as_vi(x) & EXPONENT_BITS) == EXPONENT_BITS;
}

inline int any_lane(vi v)
{
    ACC_INT lanes[VW] __attribute__((aligned(64)));
    int all = 0;
    STORE_PRIVATE(vi, v, lanes);
    for (int j = 0; j < VW; ++j)
        all |= lanes[j] != 0;
    return all;
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_grad_scale_vector(LIST_PARAMS, GRAD_SCALE_PARAMS)
{
    ONE_ITEM();
    const long begin = get_group_id(0) * share, end = min(begin + share, units);
    const acc_t factor = GRAD_SCALE_FACTOR;
    const bool writes = factor != 1.0f || limit != INFINITY;
    if (!writes && !parts_base)
        return;
    for (long number = begin; number < end; ++number) {
        LIST_FIND(own, number);
        vi bad = (vi)(0);
        int i = 0;
        for (; i + VW <= own.count; i += VW) {
            const vf x = load_vf(own.p + i);
            bad |= not_finite(x);
            if (writes)
                store_vf(within(x * factor, limit), own.p + i);
        }
        if (i < own.count) {
            const vf x = load_vf_part(own.p + i, own.count - i);
            bad |= not_finite(x);
            if (writes)
                store_vf_part(within(x * factor, limit), own.p + i, own.count - i);
        }
        if (parts_base)
            parts_base[parts_offset + first + number] = any_lane(bad) ? 1.0f : 0.0f;
    }
}

GRAD_SCALE_FINISH(husk_grad_scale_vector_finish)
