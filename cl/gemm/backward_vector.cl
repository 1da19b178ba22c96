// SPDX-License-Identifier: MIT
// What the gradients of a multiplication need beside two multiplications, for CPU devices, in one pass over dy:
// Scratch memory is f32, whatever dy is, but for f64, which is all f64.
//   z = dy * activation'(x or y)   into scratch memory, for the multiplications
//   dc = beta * z
//   dbias                          sums of z along columns or rows, first of shares, then of these
// It is bound by memory: dy and x or y are read once. A work-group has a share of the rows and a block of columns;
// where shares end, the shape alone says, so a device's sums have the same bits however many threads it has.
//
//   -DVW=4|8|16     floats a vector holds
//   -DACT_SMOOTH    the transcendental kinds; without it the piecewise linear ones alone
#include "lib/inline.clh"
#include "lib/vector.clh"
#include "lib/long_sum.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation_gradient.clh"

#define STORES_Z 1     // for the multiplications
#define STORES_C 2     // dc is wanted
#define ADDS_C 4       // it is added to
#define SUMS_COLUMNS 8 // dbias has a number a column
#define SUMS_ROWS 16   // dbias has a number a row
#define BLOCK 1024     // columns a block has at most: the host's BLOCK

// `lanes` elements from p on; zeros beyond.
ALWAYS_INLINE vf fetch(const __global data_t *p, long stride, int lanes)
{
    if (stride == 1)
        return load_vf_part(p, lanes);
    acc_t all[VW];
    for (int i = 0; i < VW; ++i)
        all[i] = i < lanes ? load_one(p, i * stride) : (acc_t)(0.0f);
    return load_private(all);
}

ALWAYS_INLINE void keep(vf value, __global data_t *p, long stride, int lanes, int adds, int units)
{
    if (stride == units) {
        store_vf_either(adds ? value + load_vf_either(p, lanes, units) : value, p, lanes, units);
        return;
    }
    acc_t all[VW];
    store_private(value, all);
    for (int i = 0; i < lanes; ++i)
        store_either(p + i * stride, adds ? all[i] + load_either(p + i * stride, units) : all[i], units);
}

// One row of a block; its sum. Inlined with a literal kind.
ALWAYS_INLINE vf take_row(const __global data_t *dy, long dy_column, const __global data_t *from, long from_column,
                          __global acc_t *z, __global data_t *dc, long dc_column, acc_t *sums, int count, int flags,
                          float beta, ACT_PARAMS)
{
    vf sum = (vf)(0.0f);
    for (int j = 0; j < count; j += VW) {
        const int lanes = count - j;
        const vf u = fetch(dy + j * dy_column, dy_column, lanes);
        const vf v = fetch(from + j * from_column, from_column, lanes);
        const vf value = activate_backward(u, v, ACT_ARGS);
        if (flags & STORES_Z)
            store_acc_part(value, z + j, lanes);
        if (flags & STORES_C)
            keep(beta == 0.0f ? (vf)(0.0f) : beta * value, dc + j * dc_column, dc_column, min(lanes, VW),
                 flags & ADDS_C, 1);
        if (flags & SUMS_COLUMNS)
            store_private(load_private(sums + j) + value, sums + j);
        if (flags & SUMS_ROWS) // what lies past the end counts for nothing, whatever its derivative is
            sum += lanes >= VW ? value : BLEND((vf)(0.0f), value, LANES < (vi)(lanes));
    }
    return sum;
}

ALWAYS_INLINE acc_t add_lanes(vf v)
{
    acc_t lanes[VW];
    store_private(v, lanes);
    for (int width = VW / 2; width > 0; width /= 2)
        for (int i = 0; i < width; ++i)
            lanes[i] += lanes[i + width];
    return lanes[0];
}

// Rows are those of all matrices; group 0 has a share of them, group 1 a block of columns. parts: a row of `columns`
// numbers a share, or a row of `rows` numbers a matrix and block.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_gemm_backward_vector(const __global data_t *dy_base, long dy_offset, long dy_batch, long dy_row,
                               long dy_column, const __global data_t *from_base, long from_offset, long from_batch,
                               long from_row, long from_column, __global acc_t *z_base, long z_offset,
                               __global data_t *dc_base, long dc_offset, long dc_batch, long dc_row, long dc_column,
                               __global acc_t *parts_base, long parts_offset, long batch, long rows, long columns,
                               long share, int block, int flags, float beta, ACT_PARAMS)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share, last = min(first + share, batch * rows);
    const long start = get_group_id(1) * block;
    const int count = (int)min((long)block, columns - start);
    __global acc_t *parts = parts_base + parts_offset;
    const int run = long_sum_run(batch * rows);
    acc_t sums[BLOCK], whole[BLOCK], rests[BLOCK];
    if (flags & SUMS_COLUMNS)
        long_sums_begin(sums, whole, rests, count);
#define ROWS(literal) \
    case literal: \
        for (long r = first; r < last; ++r) { \
            const long matrix = r / rows, row = r - matrix * rows; \
            const vf sum = take_row( \
                dy_base + dy_offset + matrix * dy_batch + row * dy_row + start * dy_column, dy_column, \
                from_base + from_offset + matrix * from_batch + row * from_row + start * from_column, from_column, \
                z_base + z_offset + r * columns + start, \
                dc_base + dc_offset + matrix * dc_batch + row * dc_row + start * dc_column, dc_column, sums, count, \
                flags, beta, literal, act_low, act_slope, act_high); \
            if (flags & SUMS_ROWS) \
                parts[(matrix * get_num_groups(1) + get_group_id(1)) * rows + row] = add_lanes(sum); \
            if ((flags & SUMS_COLUMNS) && ((int)(r - first) & (run - 1)) == run - 1) \
                long_sums_run(sums, whole, rests, count); \
        } \
        break;
    switch (act_kind) {
        ROWS(ACT_NONE)
#ifdef ACT_SMOOTH
        ROWS(ACT_GELU)
        ROWS(ACT_GELU_TANH)
        ROWS(ACT_SILU)
        ROWS(ACT_SIGMOID)
        ROWS(ACT_TANH)
        ROWS(ACT_SIGMOID_Y)
        ROWS(ACT_TANH_Y)
#endif
    default:
        break;
    }
    if (flags & SUMS_COLUMNS) {
        long_sums_end(sums, whole, rests, count);
        for (int j = 0; j < count; j += VW)
            store_acc_part(load_private(sums + j), parts + get_group_id(0) * columns + start + j, count - j);
    }
}

// dbias = sum of `splits` rows of parts, in their order.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_gemm_backward_bias(const __global acc_t *parts_base, long parts_offset, long splits, long size,
                             __global data_t *bias_base, long bias_offset, long bias_stride, long strip, int adds,
                             int wide)
{
    ONE_ITEM();
    const int units = UNITS(wide);
    const __global acc_t *parts = parts_base + parts_offset;
    const long first = get_group_id(0) * strip, last = min(first + strip, size);
    for (long j = first; j < last; j += VW) {
        const int lanes = (int)min((long)VW, last - j);
        LONG_SUM_VF(sum);
        for (long s = 0; s < splits; ++s)
            LONG_SUM_ADD_VF(sum, load_acc_part(parts + s * size + j, lanes));
        keep(LONG_SUM_TOTAL_VF(sum), bias_base + (bias_offset + j * bias_stride) * units, bias_stride * units, lanes,
             adds, units);
    }
}
