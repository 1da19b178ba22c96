// SPDX-License-Identifier: MIT
// A product of matrices, C = A B, row-major, in tiles of local memory.
//   -DT   rows and columns of a tile, and of a work-group
__kernel __attribute__((reqd_work_group_size(T, T, 1)))
void tiled_gemm(int m, int n, int k, __global const float *a, __global const float *b, __global float *c)
{
    __local float tile_a[T][T], tile_b[T][T];
    const int x = get_local_id(0), y = get_local_id(1), column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int first = 0; first < k; first += T) {
        tile_a[y][x] = row < m && first + x < k ? a[row * k + first + x] : 0;
        tile_b[y][x] = first + y < k && column < n ? b[(first + y) * n + column] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int l = 0; l < T; l++)
            sum += tile_a[y][l] * tile_b[l][x];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < m && column < n)
        c[row * n + column] = sum;
}
