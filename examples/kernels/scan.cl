// SPDX-License-Identifier: MIT
// An inclusive scan of up to WG numbers a row, one work-group a row (Hillis and Steele: Data Parallel Algorithms,
// 1986).
//   -DWG   work-items of a group, and the most numbers of a row
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void scan_rows(int columns, __global const int *x, __global int *y)
{
    __local int sums[2][WG];
    const int item = get_local_id(0), row = get_group_id(0);
    int from = 0;
    sums[0][item] = item < columns ? x[row * columns + item] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int distance = 1; distance < WG; distance *= 2) {
        const int before = item >= distance ? sums[from][item - distance] : 0;
        sums[1 - from][item] = sums[from][item] + before;
        from = 1 - from;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item < columns)
        y[row * columns + item] = sums[from][item];
}
