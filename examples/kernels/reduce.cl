// SPDX-License-Identifier: MIT
// A reduction: each work-group adds up what its work-items find with a stride of all of them, as a tree in local
// memory; a second launch adds up the groups' sums.
//   -DWG   work-items of a group, a power of 2
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void partial_sums(__global const float *x, __global float *partial, int n, __local float *sums)
{
    const int item = get_local_id(0), stride = get_global_size(0);
    float sum = 0;
    for (int i = get_global_id(0); i < n; i += stride)
        sum += x[i];
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = WG / 2; width > 0; width /= 2) {
        if (item < width)
            sums[item] += sums[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0)
        partial[get_group_id(0)] = sums[0];
}

__kernel void final_sum(__global const float *partial, __global float *y, int count)
{
    float sum = 0;
    for (int i = 0; i < count; i++)
        sum += partial[i];
    y[0] = sum;
}
