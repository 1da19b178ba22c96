// SPDX-License-Identifier: MIT
// Norms of lists of tensors for GPUs: a work-group a unit, whose work-items take every WG-th element; then by halves.
//
//   -DWG=64|256   work-items a work-group
#include "lib/grad_norm.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

inline acc_t combined(int kind, acc_t a, acc_t b)
{
    return kind == GRAD_NORM_EUCLIDEAN ? a + b : as_acc(max(as_acc_int(a), as_acc_int(b)));
}

// registers husk_grad_norm_grid: nvidia 40, amd 16
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_grad_norm_grid(LIST_PARAMS, __global acc_t *parts_base, long parts_offset, int kind)
{
    __local acc_t parts[WG];
    const int item = (int)get_local_id(0);
    const long number = (long)get_group_id(0);
    LIST_FIND(own, number);
    acc_t sum = 0.0f;
    for (int i = item; i < own.count; i += WG) {
        const acc_t x = load_one(own.p, i);
        sum = combined(kind, sum, kind == GRAD_NORM_EUCLIDEAN ? x * x : as_acc(as_acc_int(x) & MAGNITUDE_BITS));
    }
    parts[item] = sum;
    for (int half_ = WG / 2; half_ > 0; half_ /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < half_)
            parts[item] = combined(kind, parts[item], parts[item + half_]);
    }
    if (item == 0)
        parts_base[parts_offset + first + number] = parts[0];
}

// registers husk_grad_norm_grid_finish DTYPE_F64: nvidia 64, amd 16
// registers husk_grad_norm_grid_finish: nvidia 32, amd 8
GRAD_NORM_FINISH(husk_grad_norm_grid_finish)
