// SPDX-License-Identifier: MIT
// The gradients of convolution by its weights and bias, for GPUs: an implicit matrix product (arXiv 1410.0759) whose
// depth are the positions of dy.
//
//   dw[filter][column] = sum over p of dy[filter][p] * patch[column][p]
//   column = (channel, depth, row, column of the filter), p = (image, depth, row, column of dy)
//
// A work-group computes BLOCK_M filters x BLOCK_N columns of a slice of the positions, BLOCK_K at a time, by the loop
// of lib/fragment_loop.clh. Where a position lies is decoded once a block, into a small local table; neighbouring
// work-items fill neighbouring positions, four each. The slices, whose number the shape alone decides, are added in
// their order by the second kernel; one alone goes to dw.
//
//   -DBLOCK_M ...  see lib/fragment.clh: plain multiply-adds (variant tiled), or a matrix engine (variant matrix); the
//                  menus are lib/conv_tiled.clh's
#include "lib/fragment_loop.clh"
#include "lib/convolution.clh"
#include "lib/long_sum.clh"

#if GROUP_ITEMS < BLOCK_K
#error "there are at least BLOCK_K work-items"
#endif

// What `accumulate` says: to add to what is there, and that dw or dbias is f32 beside a narrower dy.
#define ADDS 1
#define WIDE 2

struct position {
    index_t x_offset, y_offset; // of the image in x, of the position in dy
    int depth, row, column;     // of x, at the filter's first element
};

// What one column stands for: channel and element of the filter.
struct element {
    index_t offset; // of the channel in x
    int depth, row, column;
};

// An element of dy, zero beyond the last; and the one of x that it meets, zero outside the image.
inline carried_t gradient(const __global data_t *dy, index_t filter_offset, const __local struct position *at)
{
    return filter_offset >= 0 && at->y_offset >= 0 ? carried_one(dy + (filter_offset + at->y_offset), 1) : 0;
}

inline carried_t pixel(const __global data_t *x, struct element e, const __local struct position *at, int in_d,
                       int in_h, int in_w, long x_stride_d, long x_stride_h, long x_stride_w)
{
    const int d = at->depth + e.depth, h = at->row + e.row, w = at->column + e.column;
    if ((uint)d < (uint)in_d && (uint)h < (uint)in_h && (uint)w < (uint)in_w)
        return carried_one(x + (at->x_offset + e.offset + (index_t)(d * x_stride_d + h * x_stride_h + w * x_stride_w)),
                           1);
    return 0;
}

// registers husk_conv_backward_weights_tiled BLOCK_M=32: nvidia 96, amd 144
// registers husk_conv_backward_weights_tiled BLOCK_M=64 ENGINE_AMD_MFMA: amd 72
// registers husk_conv_backward_weights_tiled ITEM_M=4: nvidia 96, amd 144
// registers husk_conv_backward_weights_tiled ENGINE_AMD_WMMA=12: amd 168
// registers husk_conv_backward_weights_tiled ENGINE_AMD_MFMA: amd 152
// registers husk_conv_backward_weights_tiled BLOCK_M=128: nvidia 192, amd 216
// registers husk_conv_backward_weights_tiled: nvidia 168, amd 200
FRAGMENT_ATTRIBUTE __kernel __attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1)))
void husk_conv_backward_weights_tiled(const __global data_t *restrict x_base, long x_offset,
                                      const __global data_t *restrict dy_base, long dy_offset,
                                      __global acc_t *restrict parts_base, long parts_offset,
                                      __global data_t *restrict dw_base, long dw_offset, CONV_PARAMS, int slices,
                                      long w_stride_k, long w_stride_c, long w_stride_d, long w_stride_h,
                                      long w_stride_w, int accumulate)
{
    const int w_units = UNITS(accumulate & WIDE);
    __local struct position table[2][BLOCK_K];
    FRAGMENT_TILES

    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    CONV_PLACE(part, first_filter, filters, groups * slices);
    const int group = part / slices, slice = part % slices, first_column = get_group_id(0) * BLOCK_N;
    const int columns = is_there ? channels * kernel_d * kernel_h * kernel_w : 0;
    const long total = (long)batch * out_d * out_h * out_w;
    const long all_blocks = (total + BLOCK_K - 1) / BLOCK_K;
    const long begin = all_blocks * slice / slices * BLOCK_K;
    const long end = min(total, all_blocks * (slice + 1) / slices * BLOCK_K);
    const int tiles = (int)((end - begin + BLOCK_K - 1) / BLOCK_K);

    const __global data_t *x = x_base + x_offset + (index_t)group * channels * x_stride_c;
    const __global data_t *dy = dy_base + dy_offset + (index_t)group * filters * y_stride_c;

    // The lines this work-item fills: filters of A, channels and elements of the filter of B.
    const share a_share = share_of(1, item, BLOCK_M), b_share = share_of(1, item, BLOCK_N);
    index_t lines_of_a[A_FOURS]; // where they lie in dy
    struct element lines_of_b[B_FOURS];
    UNROLL
    for (int s = 0; s < A_FOURS; ++s) {
        const int filter = first_filter + a_share.line + s * a_share.line_add;
        lines_of_a[s] = filter < filters ? (index_t)filter * y_stride_c : -1;
    }
    UNROLL
    for (int s = 0; s < B_FOURS; ++s) {
        const int column = first_column + b_share.line + s * b_share.line_add;
        lines_of_b[s].depth = column / kernel_w / kernel_h % kernel_d * dilation_d;
        lines_of_b[s].row = column / kernel_w % kernel_h * dilation_h;
        lines_of_b[s].column = column % kernel_w * dilation_w;
        lines_of_b[s].offset = (index_t)(column / kernel_w / kernel_h / kernel_d) * x_stride_c;
        if (column >= columns)
            lines_of_b[s].depth = INT_MAX / 2; // never inside
    }

#define DECODE(block) \
    if (item < BLOCK_K) { \
        const long at = begin + (long)(block) * BLOCK_K + item; \
        const long positions = (long)out_d * out_h * out_w; \
        const int n = (int)(at / positions), p = (int)(at % positions); \
        const int od = p / out_w / out_h, oh = p / out_w % out_h, ow = p % out_w; \
        struct position place; \
        place.depth = od * stride_d - pad_d; \
        place.row = oh * stride_h - pad_h; \
        place.column = ow * stride_w - pad_w; \
        place.x_offset = (index_t)n * x_stride_n; \
        place.y_offset = (index_t)n * y_stride_n + od * y_stride_d + oh * y_stride_h + ow * y_stride_w; \
        if (at >= end) { \
            place.depth = INT_MIN / 2; /* before every image */ \
            place.y_offset = -1; \
        } \
        table[(block) & 1][item] = place; \
    }

    // The next tiles, on their way from global to local memory.
    carried_t a_next[A_FOURS][4], b_next[B_FOURS][4];
#define PIXEL(line, four) pixel(x, line, four, in_d, in_h, in_w, x_stride_d, x_stride_h, x_stride_w)
#define FETCH(t, next) \
    _Pragma("unroll") for (int s = 0; s < A_FOURS; ++s) \
    { \
        const __local struct position *four = table[(t) & 1] + a_share.step + s * a_share.step_add; \
        const index_t line = lines_of_a[s]; \
        a_next[s][0] = gradient(dy, line, four); \
        a_next[s][1] = gradient(dy, line, four + 1); \
        a_next[s][2] = gradient(dy, line, four + 2); \
        a_next[s][3] = gradient(dy, line, four + 3); \
    } \
    _Pragma("unroll") for (int s = 0; s < B_FOURS; ++s) \
    { \
        const __local struct position *four = table[(t) & 1] + b_share.step + s * b_share.step_add; \
        b_next[s][0] = PIXEL(lines_of_b[s], four); \
        b_next[s][1] = PIXEL(lines_of_b[s], four + 1); \
        b_next[s][2] = PIXEL(lines_of_b[s], four + 2); \
        b_next[s][3] = PIXEL(lines_of_b[s], four + 3); \
    }
    // The table of the tile after the next replaces that of the present one, which was read before the last barrier.
#define KEEP(t, next) \
    _Pragma("unroll") for (int s = 0; s < A_FOURS; ++s) \
        fragment_keep_four(a_tiles[next], BLOCK_M, a_share.line + s * a_share.line_add, \
                           a_share.step + s * a_share.step_add, FOUR_OF(a_next[s]), 1); \
    _Pragma("unroll") for (int s = 0; s < B_FOURS; ++s) \
        fragment_keep_four(b_tiles[next], BLOCK_N, b_share.line + s * b_share.line_add, \
                           b_share.step + s * b_share.step_add, FOUR_OF(b_next[s]), 1); \
    DECODE((t) + 1)

    DECODE(0)
    barrier(CLK_LOCAL_MEM_FENCE);
    FRAGMENT_LOOP(tiles, FETCH, KEEP)

    const index_t all_filters = (index_t)groups * filters;
    __global acc_t *parts = parts_base + parts_offset + (slice * all_filters + (index_t)group * filters) * columns;
    __global data_t *dw = dw_base + (dw_offset + (index_t)group * filters * w_stride_k) * w_units;
    // Unrolled, so that the sums are indexed by constants and stay in registers.
    UNROLL
    for (int j = 0; j < ITEM_N; ++j) {
        const int column = first_column + fragment_column(item, j);
        const index_t at = column / kernel_w / kernel_h / kernel_d * w_stride_c +
                           column / kernel_w / kernel_h % kernel_d * w_stride_d +
                           column / kernel_w % kernel_h * w_stride_h + column % kernel_w * w_stride_w;
        UNROLL
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
// registers husk_conv_backward_weights_tiled_reduce: nvidia 56, amd 24
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
// registers husk_conv_backward_weights_tiled_bias DTYPE_F64: nvidia 56, amd 40
// registers husk_conv_backward_weights_tiled_bias: nvidia 56, amd 32
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
    LONG_SUM(all);
    for (long i = item, stop; i < batch * positions;) {
        acc_t run = 0.0f;
        for (stop = min(i + 64 * LONG_SUM_RUN, batch * positions); i < stop; i += 64) {
            const long n = i / positions, p = i % positions;
            run += load_one(dy, n * y_stride_n + p / out_w / out_h * y_stride_d + p / out_w % out_h * y_stride_h +
                                    p % out_w * y_stride_w);
        }
        LONG_SUM_ADD(all, run);
    }
    sums[item] = LONG_SUM_TOTAL(all);
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
