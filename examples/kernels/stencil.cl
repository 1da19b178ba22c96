// SPDX-License-Identifier: MIT
// A stencil: a step of the heat equation on a grid whose border stays as it is. Lines of a tile are staged in local
// memory, with the neighbours around them.
//   -DTX, -DTY   columns and rows of a work-group's tile
__kernel __attribute__((reqd_work_group_size(TX, TY, 1)))
void heat_step(int width, int height, float rate, __global const float *u, __global float *v)
{
    __local float tile[TY + 2][TX + 2];
    const int x = get_global_id(0), y = get_global_id(1), tx = get_local_id(0) + 1, ty = get_local_id(1) + 1;
    const int cx = min(x, width - 1), cy = min(y, height - 1);
    tile[ty][tx] = u[cy * width + cx];
    if (tx == 1)
        tile[ty][0] = u[cy * width + max(cx - 1, 0)];
    if (tx == TX)
        tile[ty][TX + 1] = u[cy * width + min(cx + 1, width - 1)];
    if (ty == 1)
        tile[0][tx] = u[max(cy - 1, 0) * width + cx];
    if (ty == TY)
        tile[TY + 1][tx] = u[min(cy + 1, height - 1) * width + cx];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;
    const float here = tile[ty][tx];
    const bool is_border = x == 0 || y == 0 || x == width - 1 || y == height - 1;
    const float around = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
    v[y * width + x] = is_border ? here : here + rate * (around - 4 * here);
}
