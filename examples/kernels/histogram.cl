// SPDX-License-Identifier: MIT
// A histogram: each work-group counts in local memory by atomics, and adds its counts to the result's.
//   -DWG     work-items of a group
//   -DBINS   bins; numbers are in [0, BINS)
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void histogram(int n, __global const int *x, __global int *bins)
{
    __local int counts[BINS];
    const int item = get_local_id(0);
    for (int i = item; i < BINS; i += WG)
        counts[i] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < n; i += get_global_size(0))
        atomic_inc(&counts[x[i]]);
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = item; i < BINS; i += WG)
        atomic_add(&bins[i], counts[i]);
}
