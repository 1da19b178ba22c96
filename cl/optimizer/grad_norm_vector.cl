// SPDX-License-Identifier: MIT
// Norms of lists of tensors for CPU devices, one work-item per work-group: a unit's sum of squares or largest
// magnitude, and of those the norm. Bound by reading the tensors.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/reduce.clh"
#include "lib/grad_norm.clh"

inline acc_t squares(const __global data_t *p, int count)
{
    vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
    int i = 0;
    for (; i + 4 * VW <= count; i += 4 * VW) {
        const vf a = load_vf(p + i), b = load_vf(p + i + VW), c = load_vf(p + i + 2 * VW), d = load_vf(p + i + 3 * VW);
        s0 = MAD(a, a, s0);
        s1 = MAD(b, b, s1);
        s2 = MAD(c, c, s2);
        s3 = MAD(d, d, s3);
    }
    for (; i < count; i += VW) {
        const vf a = load_vf_part(p + i, count - i);
        s0 = MAD(a, a, s0);
    }
    return reduce_sum((s0 + s1) + (s2 + s3));
}

inline acc_t largest(const __global data_t *p, int count)
{
    vi m0 = (vi)(0), m1 = m0;
    int i = 0;
    for (; i + 2 * VW <= count; i += 2 * VW) {
        m0 = max(m0, as_vi(load_vf(p + i)) & MAGNITUDE_BITS);
        m1 = max(m1, as_vi(load_vf(p + i + VW)) & MAGNITUDE_BITS);
    }
    for (; i < count; i += VW)
        m0 = max(m0, as_vi(load_vf_part(p + i, count - i)) & MAGNITUDE_BITS);
    ACC_INT lanes[VW] __attribute__((aligned(64))), most = 0;
    STORE_PRIVATE(vi, max(m0, m1), lanes);
    for (int j = 0; j < VW; ++j)
        most = max(most, lanes[j]);
    return as_acc(most);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_grad_norm_vector(LIST_PARAMS, __global acc_t *parts_base, long parts_offset, int kind)
{
    ONE_ITEM();
    const long begin = get_group_id(0) * share, end = min(begin + share, units);
    for (long number = begin; number < end; ++number) {
        LIST_FIND(own, number);
        parts_base[parts_offset + first + number] =
            kind == GRAD_NORM_EUCLIDEAN ? squares(own.p, own.count) : largest(own.p, own.count);
    }
}

GRAD_NORM_FINISH(husk_grad_norm_vector_finish)
