// SPDX-License-Identifier: MIT
// What the gradients of a multiplication need beside two multiplications, for GPUs, in one pass over dy: see
// cl/gemm/backward_vector.cl. A work-group has a share of the rows and a block of columns: where it sums along columns,
// an item has a column and walks down the rows; else all items walk along each row and add up in local memory.
//
//   -DWG=64|256     work-items a work-group (256 unless the device allows fewer)
//   -DACT_SMOOTH    the transcendental kinds; without it the piecewise linear ones alone
#include "lib/long_sum.clh"
#include "lib/read_local.clh"
#include "lib/activation_gradient.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

#define STORES_Z 1     // for the multiplications
#define STORES_C 2     // dc is wanted
#define ADDS_C 4       // it is added to
#define SUMS_COLUMNS 8 // dbias has a number a column
#define SUMS_ROWS 16   // dbias has a number a row

// Sum over the items of the group, in a fixed order; every item gets it.
inline acc_t add_items(acc_t value, __local acc_t *all)
{
    const int item = (int)get_local_id(0);
    all[item] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int width = WG / 2; width > 0; width /= 2) {
        if (item < width)
            all[item] += all[item + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    const acc_t sum = READ_LOCAL(all);
    barrier(CLK_LOCAL_MEM_FENCE);
    return sum;
}

// Rows are those of all matrices; a work-group has a share of them and a block of columns: all shares of one block,
// then of the next, in dimension 0, as NVIDIA's others end at 65,535. parts: a row of `columns` numbers a share, or a
// row of `rows` numbers a matrix and block.
// registers husk_gemm_backward_grid ACT_SMOOTH DTYPE_F64: nvidia 80, amd 176
// registers husk_gemm_backward_grid ACT_SMOOTH: nvidia 64, amd 80
// registers husk_gemm_backward_grid: nvidia 64, amd 48
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_gemm_backward_grid(const __global data_t *dy_base, long dy_offset, long dy_batch, long dy_row,
                             long dy_column, const __global data_t *from_base, long from_offset, long from_batch,
                             long from_row, long from_column, __global acc_t *z_base, long z_offset,
                             __global data_t *dc_base, long dc_offset, long dc_batch, long dc_row, long dc_column,
                             __global acc_t *parts_base, long parts_offset, long batch, long rows, long columns,
                             long share, int block, int flags, float beta, ACT_PARAMS)
{
    __local acc_t all[WG];
    const long blocks = (columns + block - 1) / block, shares = (long)get_num_groups(0) / blocks;
    const long strip = (long)get_group_id(0) / shares, part = (long)get_group_id(0) - strip * shares;
    const long first = part * share, last = min(first + share, batch * rows);
    const long start = strip * block, end = min(start + block, columns);
    __global acc_t *parts = parts_base + parts_offset;
    LONG_SUM(column_sum); // blocks of as many columns as items where columns are summed up
    acc_t run = 0.0f;
    for (long r = first; r < last; ++r) {
        const long matrix = r / rows, row = r - matrix * rows;
        const __global data_t *dy = dy_base + dy_offset + matrix * dy_batch + row * dy_row;
        const __global data_t *from = from_base + from_offset + matrix * from_batch + row * from_row;
        __global data_t *dc = dc_base + dc_offset + matrix * dc_batch + row * dc_row;
        acc_t sum = 0.0f;
        for (long j = start + (long)get_local_id(0); j < end; j += WG) {
            const acc_t u = load_one(dy, j * dy_column), v = load_one(from, j * from_column);
            const acc_t value = activate_backward(u, v, ACT_ARGS);
            sum += value;
            if (flags & STORES_Z)
                z_base[z_offset + r * columns + j] = value;
            if (flags & STORES_C) {
                const acc_t scaled = beta == 0.0f ? (acc_t)(0.0f) : beta * value;
                store_one(dc, j * dc_column, flags & ADDS_C ? scaled + load_one(dc, j * dc_column) : scaled);
            }
        }
        run += sum;
        if ((r - first) % LONG_SUM_RUN == LONG_SUM_RUN - 1 || r == last - 1) {
            LONG_SUM_ADD(column_sum, run);
            run = 0.0f;
        }
        if (flags & SUMS_ROWS) {
            const acc_t whole = add_items(sum, all);
            if (get_local_id(0) == 0)
                parts[(matrix * blocks + strip) * rows + row] = whole;
        }
    }
    const long column = start + (long)get_local_id(0);
    if ((flags & SUMS_COLUMNS) && column < end)
        parts[part * columns + column] = LONG_SUM_TOTAL(column_sum);
}

// dbias = sum of `splits` rows of parts, in their order; an item has a number.
// registers husk_gemm_backward_bias DTYPE_F64: nvidia 48, amd 24
// registers husk_gemm_backward_bias: nvidia 40, amd 16
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_gemm_backward_bias(const __global acc_t *parts_base, long parts_offset, long splits, long size,
                             __global data_t *bias_base, long bias_offset, long bias_stride, long strip, int adds,
                             int wide)
{
    const __global acc_t *parts = parts_base + parts_offset;
    const long j = (long)get_global_id(0);
    if (j >= size)
        return;
    const int units = UNITS(wide);
    __global data_t *bias = bias_base + (bias_offset + j * bias_stride) * units;
    LONG_SUM(all);
    for (long s = 0; s < splits; ++s)
        LONG_SUM_ADD(all, parts[s * size + j]);
    const acc_t sum = LONG_SUM_TOTAL(all);
    store_either(bias, adds ? sum + load_either(bias, units) : sum, units);
}
