// SPDX-License-Identifier: MIT
// Reductions for GPUs: a work-group takes WG_INNER neighbouring results, WG_AXIS work-items each.
//
// With WG_INNER = 1 the work-items walk along one row, for rows that are packed in memory; with WG_INNER > 1
// neighbouring work-items take neighbouring results. Either way neighbouring work-items read neighbouring elements. A
// work-item takes every WG_AXIS-th element and combines it with what it has, sums with their rounding errors; the
// work-items' states are combined by halves in local memory. The order does not depend on the device.
//
//   husk_reduce_workgroup           whole rows, or segments of them where rows are few and long
//   husk_reduce_workgroup_combine   ... and a row's segments in order
//
//   -DWG_INNER=1..32, -DWG_AXIS=4..256   work-items across and along rows, powers of two; the menu is 1x256, 1x64,
//                                        32x8, 16x4
#include "lib/reduction.clh"
#include "lib/walk.clh"

#if !defined(WG_INNER) || !defined(WG_AXIS)
#error "the work-group's shape is not set: the host passes -DWG_INNER=1..32 and -DWG_AXIS=4..256"
#endif

// One element as a state.
inline reduction element_of(int kind, int class, ACC_UINT sign, acc_t v, long position)
{
    reduction one;
    one.value = v;
    one.rest = 0.0f;
    one.index = position;
    if (kind == REDUCE_SUM_ABS)
        one.value = fabs(v);
    else if (kind == REDUCE_NORM)
        one.value = v * v;
    else if (kind == REDUCE_LOG_SUM_EXP)
        one.rest = v == -INFINITY ? 0.0f : 1.0f;
    else if (kind == REDUCE_PRODUCT_ZEROS && v == 0.0f) {
        one.value = 1.0f;
        one.rest = 1.0f;
    } else if (class == REDUCE_MAX || class == REDUCE_ARGMAX || class == REDUCE_MAX_COUNT) {
        one.value = as_acc(as_acc_uint(v) ^ sign);
        one.rest = v == v ? 1.0f : 0.0f;
    }
    return one;
}

// Units are numbered over the outer kept dimensions, strips of WG_INNER results, and segments. kept: x and y over the
// outer kept dimensions; outer: x and the position over a row's runs of `run` elements.
// registers husk_reduce_workgroup DTYPE_F64: nvidia 72, amd 88
// registers husk_reduce_workgroup: nvidia 64, amd 64
__kernel __attribute__((reqd_work_group_size(WG_INNER, WG_AXIS, 1)))
void husk_reduce_workgroup(const __global data_t *x_base, long x_offset, __global uchar *y_base, long y_offset,
                           __global ACC_UINT *states_base, long states_offset, WALK_PARAMS_2(kept),
                           WALK_PARAMS_2(outer), long run, long stride, long step, long inner, long x_stride,
                           long y_stride, long count, long segments, long segment, long units, int kind, int result)
{
    const __global data_t *x = x_base + x_offset;
    __global ACC_UINT *states = states_base + states_offset;
    const long strips = (inner + WG_INNER - 1) / WG_INNER;
    const int lane = (int)get_local_id(0);
    const int item = (int)get_local_id(1);
    const int class = reduction_class(kind);
    const ACC_UINT sign = reduction_sign(kind);
    __local reduction scratch[WG_INNER * WG_AXIS];
    WALK_2(kept);
    WALK_2(outer);

    for (long unit = get_group_id(0); unit < units; unit += get_num_groups(0)) {
        const long number = unit % segments;
        const long strip = unit / segments % strips;
        const long row = unit / segments / strips;
        const long column = strip * WG_INNER + lane;
        const long first = number * segment;
        const long last = column < inner ? min(count, first + segment) : first; // idle ones still meet the barriers
        walk_seek(&kept, row);
        const __global data_t *x_row = x + kept.at[0] + column * x_stride;

        reduction mine = reduction_begin(class);
        for (long i = first + item; i < last; i += WG_AXIS) {
            const long which = outer_rank > 0 ? i / run : 0;
            const long place = i - which * run;
            if (outer_rank > 0)
                walk_seek(&outer, which);
            else
                outer.at[0] = outer.at[1] = 0;
            const acc_t v = load_one(x_row, outer.at[0] + place * stride);
            reduction_combine(class, &mine, element_of(kind, class, sign, v, outer.at[1] + place * step));
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        scratch[item * WG_INNER + lane] = mine;
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int reach = WG_AXIS / 2; reach > 0; reach /= 2) {
            if (item < reach) {
                mine = scratch[item * WG_INNER + lane];
                reduction_combine(class, &mine, scratch[(item + reach) * WG_INNER + lane]);
                scratch[item * WG_INNER + lane] = mine;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        if (item == 0 && column < inner) {
            mine = scratch[lane];
            if (segments == 1)
                reduction_store(kind, result, mine, count, y_base, y_offset + kept.at[1] + column * y_stride);
            else
                reduction_keep(mine, states, (row * inner + column) * segments + number);
        }
    }
}

// registers husk_reduce_workgroup_combine DTYPE_F64: nvidia 56, amd 56
// registers husk_reduce_workgroup_combine: nvidia 48, amd 32
REDUCTION_COMBINE_KERNEL(husk_reduce_workgroup_combine)
