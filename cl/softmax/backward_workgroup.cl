// SPDX-License-Identifier: MIT
// The gradient of softmax and log-softmax for GPUs: a work-group takes WG_INNER neighbouring rows, WG_AXIS work-items
// each, as softmax/workgroup.cl does; softmax/backward_rows.cl has the formulae. y and dy are read twice: for the sum
// and for dx.
//
//   husk_softmax_backward_workgroup           a work-group walks whole rows
//   husk_softmax_backward_workgroup_partial   few and long rows, cut into blocks: every block's sum
//   husk_softmax_backward_workgroup_apply     ... and every block's gradients from all of its row's sums
//
//   -DWG_INNER=1..32, -DWG_AXIS=4..256   work-items across and along rows, powers of two; the menu is 1x256,
//                                        1x64, 32x8, 16x4
//   -DINDEX_64                           some element lies 2^31 or further from its row's first
#include "lib/long_sum.clh"
#include "lib/read_local.clh"
#include "lib/strided.clh"

#if !defined(WG_INNER) || !defined(WG_AXIS)
#error "the work-group's shape is not set: the host passes -DWG_INNER=1..32 and -DWG_AXIS=4..256"
#endif

#define WORK_GROUP __attribute__((reqd_work_group_size(WG_INNER, WG_AXIS, 1)))

// Adds value over the work-items of one row, by halves; every work-item of the group takes part.
#define REDUCE_SUM(value, scratch) \
    do { \
        const int lane_ = (int)get_local_id(0); \
        const int item_ = (int)get_local_id(1); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        scratch[item_ * WG_INNER + lane_] = (value); \
        barrier(CLK_LOCAL_MEM_FENCE); \
        for (int half_ = WG_AXIS / 2; half_ > 0; half_ /= 2) { \
            if (item_ < half_) \
                scratch[item_ * WG_INNER + lane_] += scratch[(item_ + half_) * WG_INNER + lane_]; \
            barrier(CLK_LOCAL_MEM_FENCE); \
        } \
        (value) = READ_LOCAL(scratch + lane_); \
    } while (0)

// A work-item's share of `length` elements: one in WG_AXIS.
inline acc_t share_sum(const __global data_t *y, index_t y_stride, const __global data_t *dy, index_t dy_stride,
                       int length, int log_form)
{
    LONG_SUM(all);
    for (int a = (int)get_local_id(1), count = 0; a < length; count = 0) {
        acc_t run = 0.0f;
        for (; a < length && count < LONG_SUM_RUN; a += WG_AXIS, ++count) {
            const acc_t d = load_one(dy, a * dy_stride);
            run = log_form ? run + d : MAD(load_one(y, a * y_stride), d, run);
        }
        LONG_SUM_ADD(all, run);
    }
    return LONG_SUM_TOTAL(all);
}

inline void share_store(const __global data_t *y, index_t y_stride, const __global data_t *dy, index_t dy_stride,
                        __global data_t *dx, index_t dx_stride, int length, acc_t sum, int log_form, int accumulate)
{
    for (int a = (int)get_local_id(1); a < length; a += WG_AXIS) {
        const acc_t out = load_one(y, a * y_stride);
        const acc_t d = load_one(dy, a * dy_stride);
        const acc_t g = log_form ? MAD(-exp(out), sum, d) : out * (d - sum);
        store_one(dx, a * dx_stride, accumulate ? load_one(dx, a * dx_stride) + g : g);
    }
}

// y is x of STRIDED_PARAMS, dx its y, dy its z. Strips of WG_INNER rows are numbered row-major over the outer
// dimensions and the inner one. dx may be y or dy.
// registers husk_softmax_backward_workgroup DTYPE_F64: nvidia 72, amd 72
// registers husk_softmax_backward_workgroup: nvidia 96, amd 64
__kernel WORK_GROUP
void husk_softmax_backward_workgroup(const __global data_t *y_base, long y_offset, const __global data_t *dy_base,
                                     long dy_offset, __global data_t *dx_base, long dx_offset, STRIDED_PARAMS,
                                     STRIDED_Z_PARAMS, int length, long y_stride, long dy_stride, long dx_stride,
                                     long inner, long inner_y_stride, long inner_dy_stride, long inner_dx_stride,
                                     long strip_count, int log_form, int accumulate)
{
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);

    for (long i = get_group_id(0); i < strip_count; i += get_num_groups(0)) {
        const long column = (i % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? length : 0; // idle work-items still meet the barriers
        strided_seek(&rows, i / inner_strips);
        const __global data_t *y = y_base + y_offset + rows.x + column * inner_y_stride;
        const __global data_t *dy = dy_base + dy_offset + strided_third(&rows, z_stride) + column * inner_dy_stride;
        __global data_t *dx = dx_base + dx_offset + rows.y + column * inner_dx_stride;
        acc_t sum = share_sum(y, (index_t)y_stride, dy, (index_t)dy_stride, count, log_form);
        REDUCE_SUM(sum, scratch);
        share_store(y, (index_t)y_stride, dy, (index_t)dy_stride, dx, (index_t)dx_stride, count, sum, log_form,
                    accumulate);
    }
}

// sums: of every block of every row, [strip][block][WG_INNER].
// registers husk_softmax_backward_workgroup_partial: nvidia 56, amd 48
__kernel WORK_GROUP
void husk_softmax_backward_workgroup_partial(const __global data_t *y_base, long y_offset,
                                             const __global data_t *dy_base, long dy_offset,
                                             __global acc_t *sums_base, long sums_offset, STRIDED_PARAMS,
                                             STRIDED_Z_PARAMS, int length, long y_stride, long dy_stride, long inner,
                                             long inner_y_stride, long inner_dy_stride, int block, int row_blocks,
                                             long block_count, int log_form)
{
    __global acc_t *sums = sums_base + sums_offset;
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);

    for (long i = get_group_id(0); i < block_count; i += get_num_groups(0)) {
        const long strip = i / row_blocks;
        const long start = (i - strip * row_blocks) * block;
        const long column = (strip % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? (int)min((long)block, length - start) : 0;
        strided_seek(&rows, strip / inner_strips);
        const __global data_t *y = y_base + y_offset + rows.x + column * inner_y_stride + start * y_stride;
        const __global data_t *dy = dy_base + dy_offset + strided_third(&rows, z_stride) + column * inner_dy_stride +
                                    start * dy_stride;
        acc_t sum = share_sum(y, (index_t)y_stride, dy, (index_t)dy_stride, count, log_form);
        REDUCE_SUM(sum, scratch);
        if (get_local_id(1) == 0)
            sums[i * WG_INNER + get_local_id(0)] = sum;
    }
}

// registers husk_softmax_backward_workgroup_apply DTYPE_F64: nvidia 64, amd 80
// registers husk_softmax_backward_workgroup_apply: nvidia 64, amd 64
__kernel WORK_GROUP
void husk_softmax_backward_workgroup_apply(const __global data_t *y_base, long y_offset,
                                           const __global data_t *dy_base, long dy_offset, __global data_t *dx_base,
                                           long dx_offset, const __global acc_t *sums_base, long sums_offset,
                                           STRIDED_PARAMS, STRIDED_Z_PARAMS, int length, long y_stride,
                                           long dy_stride, long dx_stride, long inner, long inner_y_stride,
                                           long inner_dy_stride, long inner_dx_stride, int block, int row_blocks,
                                           long block_count, int log_form, int accumulate)
{
    const __global acc_t *sums = sums_base + sums_offset;
    const long inner_strips = (inner + WG_INNER - 1) / WG_INNER;
    __local acc_t scratch[WG_INNER * WG_AXIS];
    STRIDED_ROWS(rows);
    STRIDED_Z(z_stride);

    for (long i = get_group_id(0); i < block_count; i += get_num_groups(0)) {
        const long strip = i / row_blocks;
        const long start = (i - strip * row_blocks) * block;
        const long column = (strip % inner_strips) * WG_INNER + get_local_id(0);
        const int count = column < inner ? (int)min((long)block, length - start) : 0;
        strided_seek(&rows, strip / inner_strips);

        LONG_SUM(all);
        for (int b = (int)get_local_id(1); b < row_blocks; b += WG_AXIS)
            LONG_SUM_ADD(all, sums[(strip * row_blocks + b) * WG_INNER + get_local_id(0)]);
        acc_t sum = LONG_SUM_TOTAL(all);
        REDUCE_SUM(sum, scratch);

        share_store(y_base + y_offset + rows.x + column * inner_y_stride + start * y_stride, (index_t)y_stride,
                    dy_base + dy_offset + strided_third(&rows, z_stride) + column * inner_dy_stride +
                        start * dy_stride,
                    (index_t)dy_stride, dx_base + dx_offset + rows.y + column * inner_dx_stride + start * dx_stride,
                    (index_t)dx_stride, count, sum, log_form, accumulate);
    }
}
