// SPDX-License-Identifier: MIT
// Softmax and log-softmax for GPUs: a work-group takes WG_INNER neighbouring rows, WG_AXIS work-items each.
//
// With WG_INNER = 1 the work-items walk along one row, for rows that are packed in memory; with WG_INNER > 1
// neighbouring work-items take neighbouring rows, for an axis before the last one. Either way neighbouring
// work-items read neighbouring elements. Rows are read three times: maximum, sum, result.
//
//   husk_softmax_workgroup           a work-group walks whole rows
//   husk_softmax_workgroup_partial   few and long rows, cut into blocks: every block's maximum and sum
//   husk_softmax_workgroup_apply     ... and every block's results from all of its row's pairs
//
//   -DWG_INNER=1..32, -DWG_AXIS=4..256   work-items across and along rows, powers of two; the menu is 1x256,
//                                        1x64, 32x8, 16x4
//   -DINDEX_64                           some element lies 2^31 or further from its row's first
#include "lib/dtype.clh"
#include "lib/long_sum.clh"
#include "lib/read_local.clh"
#include "lib/strided.clh"

#if !defined(WG_INNER) || !defined(WG_AXIS)
#error "the work-group's shape is not set: the host passes -DWG_INNER=1..32 and -DWG_AXIS=4..256"
#endif

#define WORK_GROUP __attribute__((reqd_work_group_size(WG_INNER, WG_AXIS, 1)))

#define COMBINE_MAX(a, b) ((a) > (b) ? (a) : (b))
#define COMBINE_SUM(a, b) ((a) + (b))

// Combines value over the work-items of one row, by halves; every work-item of the group takes part.
#define REDUCE(value, combine, scratch) \
    do { \
        const int lane_ = (int)get_local_id(0); \
        const int item_ = (int)get_local_id(1); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        scratch[item_ * WG_INNER + lane_] = (value); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (int half_ = WG_AXIS / 2; half_ > 0; half_ /= 2) { \
            if (item_ < half_) \
                scratch[item_ * WG_INNER + lane_] = combine(scratch[item_ * WG_INNER + lane_], \
                                                            scratch[(item_ + half_) * WG_INNER + lane_]); \
            barrier(CLK_LOCAL_MEM_FENCE); \
        } \
        (value) = READ_LOCAL(scratch + lane_); \
    } while (0)

// A work-item's share of `length` elements: one in WG_AXIS. NaN is skipped here; the sum meets it.
inline acc_t share_max(const __global data_t *x, index_t stride, int length)
{
    acc_t maximum = -INFINITY;
    for (int a = (int)get_local_id(1); a < length; a += WG_AXIS) {
        const acc_t v = load_one(x, a * stride);
        maximum = v > maximum ? v : maximum;
    }
    return maximum;
}

inline acc_t share_sum(const __global data_t *x, index_t stride, int length, acc_t shift)
{
    LONG_SUM(all);
    for (int a = (int)get_local_id(1), stop; a < length;) {
        acc_t run = 0.0f;
        for (stop = (int)min((long)a + LONG_SUM_RUN * WG_AXIS, (long)length); a < stop; a += WG_AXIS)
            run += exp(load_one(x, a * stride) - shift);
        LONG_SUM_ADD(all, run);
    }
    return LONG_SUM_TOTAL(all);
}

inline void share_store(const __global data_t *x, index_t x_stride, __global data_t *y, index_t y_stride,
                        int length, acc_t maximum, acc_t sum, int log_form)
{
    const acc_t scale = 1.0f / sum;
    const acc_t shift = log(sum);
    for (int a = (int)get_local_id(1); a < length; a += WG_AXIS) {
        const acc_t v = load_one(x, a * x_stride) - maximum;
        store_one(y, a * y_stride, log_form ? v - shift : exp(v) * scale);
    }
}

// y may be x. Strips of WG_INNER rows are numbered row-major over the outer dimensions and the inner one.
// registers husk_softmax_workgroup DTYPE_F64: nvidia 56, amd 80
// registers husk_softmax_workgroup: nvidia 48, amd 56
__kernel WORK_GROUP
void husk_softmax_workgroup(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                            long y_offset, STRIDED_PARAMS, int length, long x_stride, long y_stride,
                            long inner, long inner_x_stride, long inner_y_stride, long strip_count,
                            int log_form)
{
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);

    for (long i = get_group_id(0); i < strip_count; i += get_num_groups(0)) {
        const long column = (i % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? length : 0; // idle work-items still meet the barriers
        strided_seek(&rows, i / inner_strips);
        const __global data_t *x_row = x + rows.x + column * inner_x_stride;
        __global data_t *y_row = y + rows.y + column * inner_y_stride;
        acc_t maximum = share_max(x_row, (index_t)x_stride, count);
        REDUCE(maximum, COMBINE_MAX, scratch);
        acc_t sum = share_sum(x_row, (index_t)x_stride, count, maximum);
        REDUCE(sum, COMBINE_SUM, scratch);
        share_store(x_row, (index_t)x_stride, y_row, (index_t)y_stride, count, maximum, sum, log_form);
    }
}

// pairs: a maximum and a sum for every block of every row, [strip][block][WG_INNER][2].
// registers husk_softmax_workgroup_partial DTYPE_F64: nvidia 48, amd 64
// registers husk_softmax_workgroup_partial: nvidia 48, amd 40
__kernel WORK_GROUP
void husk_softmax_workgroup_partial(const __global data_t *x_base, long x_offset, __global acc_t *pairs_base,
                                    long pairs_offset, STRIDED_PARAMS, int length, long x_stride, long inner,
                                    long inner_x_stride, int block, int row_blocks, long block_count)
{
    const __global data_t *x = x_base + x_offset;
    __global acc_t *pairs = pairs_base + pairs_offset;
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);

    for (long i = get_group_id(0); i < block_count; i += get_num_groups(0)) {
        const long strip = i / row_blocks;
        const long start = (i - strip * row_blocks) * block;
        const long column = (strip % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? (int)min((long)block, length - start) : 0;
        strided_seek(&rows, strip / inner_strips);
        const __global data_t *x_block = x + rows.x + column * inner_x_stride + start * x_stride;
        acc_t maximum = share_max(x_block, (index_t)x_stride, count);
        REDUCE(maximum, COMBINE_MAX, scratch);
        // A block of -infinity adds nothing to its row; subtracting its maximum would make it NaN.
        acc_t sum = share_sum(x_block, (index_t)x_stride, count, maximum == -INFINITY ? 0.0f : maximum);
        REDUCE(sum, COMBINE_SUM, scratch);
        if (get_local_id(1) == 0) {
            __global acc_t *pair = pairs + 2 * (i * WG_INNER + get_local_id(0));
            pair[0] = maximum;
            pair[1] = sum;
        }
    }
}

// y may be x.
// registers husk_softmax_workgroup_apply DTYPE_F64: nvidia 64, amd 80
// registers husk_softmax_workgroup_apply: nvidia 56, amd 64
__kernel WORK_GROUP
void husk_softmax_workgroup_apply(const __global data_t *x_base, long x_offset, __global data_t *y_base,
                                  long y_offset, const __global acc_t *pairs_base, long pairs_offset,
                                  STRIDED_PARAMS, int length, long x_stride, long y_stride, long inner,
                                  long inner_x_stride, long inner_y_stride, int block, int row_blocks,
                                  long block_count, int log_form)
{
    const __global data_t *x = x_base + x_offset;
    __global data_t *y = y_base + y_offset;
    const __global acc_t *pairs = pairs_base + pairs_offset;
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);

    for (long i = get_group_id(0); i < block_count; i += get_num_groups(0)) {
        const long strip = i / row_blocks;
        const long start = (i - strip * row_blocks) * block;
        const long column = (strip % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? (int)min((long)block, length - start) : 0;
        strided_seek(&rows, strip / inner_strips);

        const __global acc_t *pair = pairs + 2 * (strip * row_blocks * WG_INNER + get_local_id(0));
        acc_t maximum = -INFINITY;
        for (int b = (int)get_local_id(1); b < row_blocks; b += WG_AXIS)
            maximum = COMBINE_MAX(pair[2 * b * WG_INNER], maximum);
        REDUCE(maximum, COMBINE_MAX, scratch);
        acc_t sum = 0.0f;
        for (int b = (int)get_local_id(1); b < row_blocks; b += WG_AXIS)
            sum += pair[2 * b * WG_INNER + 1] * exp(pair[2 * b * WG_INNER] - maximum);
        REDUCE(sum, COMBINE_SUM, scratch);

        share_store(x + rows.x + column * inner_x_stride + start * x_stride, (index_t)x_stride,
                    y + rows.y + column * inner_y_stride + start * y_stride, (index_t)y_stride, count,
                    maximum, sum, log_form);
    }
}
