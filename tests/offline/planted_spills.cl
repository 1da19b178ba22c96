// SPDX-License-Identifier: MIT
// More live floats than any target has registers for each of so many work-items: they have to be spilled.
__kernel __attribute__((reqd_work_group_size(1024, 1, 1))) void planted_spills(__global float16 *y)
{
    float16 x[16];
    y += 17 * get_global_id(0);
#pragma unroll
    for (int i = 0; i < 16; ++i)
        x[i] = y[i];
    barrier(CLK_GLOBAL_MEM_FENCE);
#pragma unroll
    for (int i = 0; i < 16; ++i)
        y[i + 1] = x[i] - 2.0f * x[15 - i];
}
