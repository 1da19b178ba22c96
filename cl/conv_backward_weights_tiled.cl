// SPDX-License-Identifier: MIT
// The gradients of convolution by its weights and bias, for GPUs: an implicit matrix product (arXiv 1410.0759) whose
// depth are the positions of dy.
//
//   dw[filter][column] = sum over p of dy[filter][p] * patch[column][p]
//   column = (channel, depth, row, column of the filter), p = (image, depth, row, column of dy)
//
// A work-group computes BLOCK_M filters x BLOCK_N columns of a slice of the positions, BLOCK_K at a time; both local
// tiles exist twice, as in conv_tiled.cl. Where a position lies is decoded once a block, into a small local table. The
// slices, whose number the shape alone decides, are added in their order by the second kernel; one alone goes to dw.
//
//   BLOCK_M, BLOCK_N, BLOCK_K   the work-group's tile
//   ITEM_M, ITEM_N              a work-item's share of it, multiples of 4; the work-group has
//                               (BLOCK_N/ITEM_N) x (BLOCK_M/ITEM_M) work-items, at least BLOCK_K
#include "lib/fragment.clh"
#include "lib/convolution.clh"

// Elements of each local tile that one work-item fills; neighbours fill neighbouring positions.
#define FILL_Y ((BLOCK_K * BLOCK_M + GROUP_ITEMS - 1) / GROUP_ITEMS)
#define FILL_X ((BLOCK_K * BLOCK_N + GROUP_ITEMS - 1) / GROUP_ITEMS)

// What `accumulate` says: to add to what is there, and that dw or dbias is f32 beside a narrower dy.
#define ADDS 1
#define WIDE 2

struct position {
    index_t x_offset, y_offset; // of the image in x, of the position in dy
    int depth, row, column;     // of x, at the filter's first element
};

__kernel __attribute__((reqd_work_group_size(ITEMS_N, ITEMS_M, 1)))
void husk_conv_backward_weights_tiled(const __global data_t *restrict x_base, long x_offset,
                                      const __global data_t *restrict dy_base, long dy_offset,
                                      __global acc_t *restrict parts_base, long parts_offset,
                                      __global data_t *restrict dw_base, long dw_offset, CONV_PARAMS, int slices,
                                      long w_stride_k, long w_stride_c, long w_stride_d, long w_stride_h,
                                      long w_stride_w, int accumulate)
{
    const int w_units = UNITS(accumulate & WIDE);
    __local acc_t y_tile[2][BLOCK_K * A_PITCH];
    __local acc_t x_tile[2][BLOCK_K * B_PITCH];
    __local struct position table[2][BLOCK_K];

    const int group = get_group_id(2) / slices, slice = get_group_id(2) % slices;
    const int item_n = get_local_id(0), item_m = get_local_id(1);
    const int item = item_m * ITEMS_N + item_n;
    const int first_filter = get_group_id(1) * BLOCK_M, first_column = get_group_id(0) * BLOCK_N;
    const int columns = channels * kernel_d * kernel_h * kernel_w;
    const long total = (long)batch * out_d * out_h * out_w;
    const long all_blocks = (total + BLOCK_K - 1) / BLOCK_K;
    const long begin = all_blocks * slice / slices * BLOCK_K;
    const long end = min(total, all_blocks * (slice + 1) / slices * BLOCK_K);
    const int blocks = (int)((end - begin + BLOCK_K - 1) / BLOCK_K);

    const __global data_t *x = x_base + x_offset + (index_t)group * channels * x_stride_c;
    const __global data_t *dy = dy_base + dy_offset + (index_t)group * filters * y_stride_c;

    // The columns this work-item fills: channel and element of the filter.
    index_t fill_offset[FILL_X];
    int fill_depth[FILL_X], fill_row[FILL_X], fill_column[FILL_X];
    for (int i = 0; i < FILL_X; ++i) {
        const int column = first_column + (item + i * GROUP_ITEMS) / BLOCK_K;
        fill_depth[i] = column / kernel_w / kernel_h % kernel_d * dilation_d;
        fill_row[i] = column / kernel_w % kernel_h * dilation_h;
        fill_column[i] = column % kernel_w * dilation_w;
        fill_offset[i] = (index_t)(column / kernel_w / kernel_h / kernel_d) * x_stride_c;
        if (column >= columns)
            fill_depth[i] = INT_MAX / 2; // never inside
    }

    fragment_acc acc;
    fragment_zero(&acc);

#define DECODE(block) \
    if (item < BLOCK_K) { \
        const long at = begin + (long)(block) * BLOCK_K + item; \
        const long positions = (long)out_d * out_h * out_w; \
        const int n = (int)(at / positions), p = (int)(at % positions); \
        const int od = p / out_w / out_h, oh = p / out_w % out_h, ow = p % out_w; \
        struct position t; \
        t.depth = od * stride_d - pad_d; \
        t.row = oh * stride_h - pad_h; \
        t.column = ow * stride_w - pad_w; \
        t.x_offset = (index_t)n * x_stride_n; \
        t.y_offset = (index_t)n * y_stride_n + od * y_stride_d + oh * y_stride_h + ow * y_stride_w; \
        if (at >= end) { \
            t.depth = INT_MIN / 2; /* before every image */ \
            t.y_offset = -1; \
        } \
        table[(block) & 1][item] = t; \
    }

    // The next tiles, on their way from global to local memory.
    acc_t next_y[FILL_Y], next_x[FILL_X];
#define FETCH(block) \
    for (int i = 0; i < FILL_Y; ++i) { \
        const int at = item + i * GROUP_ITEMS, filter = first_filter + at / BLOCK_K; \
        const index_t from = table[(block) & 1][at % BLOCK_K].y_offset; \
        next_y[i] = at < BLOCK_K * BLOCK_M && filter < filters && from >= 0 \
                        ? load_one(dy, from + (index_t)filter * y_stride_c) : 0.0f; \
    } \
    for (int i = 0; i < FILL_X; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        next_x[i] = 0.0f; \
        if (at < BLOCK_K * BLOCK_N) { \
            const struct position t = table[(block) & 1][at % BLOCK_K]; \
            const int id = t.depth + fill_depth[i], ih = t.row + fill_row[i], iw = t.column + fill_column[i]; \
            if ((uint)id < (uint)in_d && (uint)ih < (uint)in_h && (uint)iw < (uint)in_w) \
                next_x[i] = load_one(x, t.x_offset + fill_offset[i] + id * x_stride_d + ih * x_stride_h + \
                                            iw * x_stride_w); \
        } \
    }
#define KEEP(block) \
    for (int i = 0; i < FILL_Y; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_M) \
            y_tile[(block) & 1][at % BLOCK_K * A_PITCH + at / BLOCK_K] = next_y[i]; \
    } \
    for (int i = 0; i < FILL_X; ++i) { \
        const int at = item + i * GROUP_ITEMS; \
        if (at < BLOCK_K * BLOCK_N) \
            x_tile[(block) & 1][at % BLOCK_K * B_PITCH + at / BLOCK_K] = next_x[i]; \
    }

    DECODE(0)
    DECODE(1)
    barrier(CLK_LOCAL_MEM_FENCE);
    FETCH(0)
    KEEP(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int block = 0; block < blocks; ++block) {
        if (block + 1 < blocks) {
            FETCH(block + 1)
        }
        fragment_multiply(&acc, y_tile[block & 1], x_tile[block & 1], item);
        if (block + 1 < blocks) {
            KEEP(block + 1)
        }
        // The table of block + 2 replaces that of block, which was last read before the last barrier.
        DECODE(block + 2)
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const index_t all_filters = (index_t)get_num_groups(2) / slices * filters;
    __global acc_t *parts = parts_base + parts_offset + (slice * all_filters + (index_t)group * filters) * columns;
    __global data_t *dw = dw_base + (dw_offset + (index_t)group * filters * w_stride_k) * w_units;
    // Unrolled, so that the sums are indexed by constants and stay in registers.
#pragma unroll
    for (int j = 0; j < ITEM_N; ++j) {
        const int column = first_column + fragment_column(item, j);
        const index_t at = column / kernel_w / kernel_h / kernel_d * w_stride_c +
                           column / kernel_w / kernel_h % kernel_d * w_stride_d +
                           column / kernel_w % kernel_h * w_stride_h + column % kernel_w * w_stride_w;
#pragma unroll
        for (int i = 0; i < ITEM_M; ++i) {
            const int filter = first_filter + fragment_row(item, i);
            acc_t value = fragment_value(&acc, i, j);
            if (column < columns && filter < filters) {
                if (slices > 1) {
                    parts[(index_t)filter * columns + column] = value;
                } else {
                    __global data_t *to = dw + (filter * w_stride_k + at) * w_units;
                    if (accumulate & ADDS)
                        value += load_either(to, w_units);
                    store_either(to, value, w_units);
                }
            }
        }
    }
}

// An element of dw each: the sum of all slices, in their order.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void husk_conv_backward_weights_tiled_reduce(const __global acc_t *restrict parts_base, long parts_offset,
                                             __global data_t *restrict dw_base, long dw_offset, int slices,
                                             int all_filters, int columns, int kernel_d, int kernel_h, int kernel_w,
                                             long w_stride_k, long w_stride_c, long w_stride_d, long w_stride_h,
                                             long w_stride_w, int accumulate)
{
    const index_t column = get_global_id(0), filter = get_global_id(1);
    if (column >= columns)
        return;
    const __global acc_t *parts = parts_base + parts_offset + filter * columns + column;
    const index_t at = filter * w_stride_k + column / kernel_w / kernel_h / kernel_d * w_stride_c +
                       column / kernel_w / kernel_h % kernel_d * w_stride_d +
                       column / kernel_w % kernel_h * w_stride_h + column % kernel_w * w_stride_w;
    acc_t sum = 0.0f;
    for (int slice = 0; slice < slices; ++slice)
        sum += parts[(index_t)slice * all_filters * columns];
    const int units = UNITS(accumulate & WIDE);
    __global data_t *to = dw_base + (dw_offset + at) * units;
    if (accumulate & ADDS)
        sum += load_either(to, units);
    store_either(to, sum, units);
}

// A filter a work-group: its items take every 64th position, and add up in a tree.
__kernel __attribute__((reqd_work_group_size(64, 1, 1)))
void husk_conv_backward_weights_tiled_bias(const __global data_t *restrict dy_base, long dy_offset,
                                           __global data_t *restrict dbias_base, long dbias_offset, int batch,
                                           int filters, int out_d, int out_h, int out_w, long y_stride_n,
                                           long y_stride_c, long y_stride_d, long y_stride_h, long y_stride_w,
                                           long dbias_stride, int accumulate)
{
    __local acc_t sums[64];
    const int filter = get_group_id(0), item = get_local_id(0);
    const __global data_t *dy = dy_base + dy_offset + filter * y_stride_c;
    const long positions = (long)out_d * out_h * out_w;
    acc_t sum = 0.0f;
    for (long i = item; i < batch * positions; i += 64) {
        const long n = i / positions, p = i % positions;
        sum += load_one(dy, n * y_stride_n + p / out_w / out_h * y_stride_d + p / out_w % out_h * y_stride_h +
                                p % out_w * y_stride_w);
    }
    sums[item] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_count = 32; half_count > 0; half_count /= 2) {
        if (item < half_count)
            sums[item] += sums[item + half_count];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (item == 0) {
        const int units = UNITS(accumulate & WIDE);
        __global data_t *to = dbias_base + (dbias_offset + filter * dbias_stride) * units;
        store_either(to, accumulate & ADDS ? sums[0] + load_either(to, units) : sums[0], units);
    }
}
