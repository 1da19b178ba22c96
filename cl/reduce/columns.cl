// SPDX-License-Identifier: MIT
// Reductions for CPU devices where neighbours in memory belong to different results (the fastest dimension is kept),
// one work-item per work-group, vectors across the results.
//
// The innermost kept dimension is cut into strips. A strip walks down everything that is reduced in blocks of LINES
// lines; a block's lines are reduced in private memory, four at a time, and the results combined with those of the
// blocks before. Memory is read in runs as wide as a strip. Elements at another stride than 1 are gathered, which
// still beats rows of a few elements each.
//
//   husk_reduce_columns           whole columns, or segments of them where columns are few and long: the host cuts by
//                                 the shape alone
//   husk_reduce_columns_combine   ... and a column's segments in order
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/reduce.clh"
#include "lib/reduction.clh"
#include "lib/vector_math.clh"
#include "lib/walk.clh"

#define WIDTH   1024 // columns of a strip at most
#define VECTORS (WIDTH / VW)
#define LINES   64 // lines of a block

typedef struct {
    vf best[VECTORS]; // of the block: sums, products, maxima
    vf more[VECTORS]; // of the block: counts, sums of exponentials
    vi line[VECTORS]; // of the block: where the maximum was
    vf value[VECTORS];
    vf rest[VECTORS];
    long index[WIDTH];
    long offset[LINES];
    long position[LINES];
} columns;

ALWAYS_INLINE vf turned_vf(vf v, ACC_UINT sign)
{
    return as_vf(as_vi(v) ^ (vi)((ACC_INT)sign));
}

ALWAYS_INLINE vf gather_vf(const __global data_t *x, long stride, int n)
{
    acc_t lanes[VW];
    if (n >= VW) {
#pragma unroll
        for (int i = 0; i < VW; ++i)
            lanes[i] = load_one(x, i * stride);
    } else {
        for (int i = 0; i < VW; ++i)
            lanes[i] = i < n ? load_one(x, i * stride) : 0.0f;
    }
    return load_private(lanes);
}

// The larger of two; a NaN is larger than all.
ALWAYS_INLINE vf larger_vf(vf v, vf best)
{
    return ((v > best) | (v != v)) ? v : best;
}

// Lanes past the strip's end hold zeros, and nobody looks at what becomes of them.
ALWAYS_INLINE vf load_columns(const __global data_t *x, long stride, int n)
{
    return stride == 1 ? load_vf_part(x, n) : gather_vf(x, stride, n);
}

ALWAYS_INLINE vf term(int code, vf v)
{
    switch (code) {
    case REDUCE_SUM_ABS:
        return fabs(v);
    case REDUCE_NORM:
        return v * v;
    default:
        return v;
    }
}

// Four lines of one vector of columns, or one line, into what the block has found so far. line: the first one's number.
ALWAYS_INLINE void add_lines(int code, columns *own, int j, const __global data_t *x, const long *offset, long stride,
                             int n, int line, int count, ACC_UINT sign)
{
    const int class = reduction_class(code);
    const bool is_four = count == 4;
    const vf v0 = load_columns(x + offset[0], stride, n);
    const vf v1 = is_four ? load_columns(x + offset[1], stride, n) : v0;
    const vf v2 = is_four ? load_columns(x + offset[2], stride, n) : v0;
    const vf v3 = is_four ? load_columns(x + offset[3], stride, n) : v0;
    const vf best = own->best[j];
    if (class == REDUCE_SUM) {
        const vf t0 = term(code, v0);
        own->best[j] = best + (is_four ? (t0 + term(code, v1)) + (term(code, v2) + term(code, v3)) : t0);
    } else if (code == REDUCE_PRODUCT) {
        own->best[j] = best * (is_four ? (v0 * v1) * (v2 * v3) : v0);
    } else if (code == REDUCE_PRODUCT_ZEROS) {
        vf product = best, zeros = own->more[j];
#define FACTOR(v) \
    do { \
        const vi is_zero_ = (v) == (vf)(0.0f); \
        product *= is_zero_ ? (vf)(1.0f) : (v); \
        zeros += is_zero_ ? (vf)(1.0f) : (vf)(0.0f); \
    } while (0)
        FACTOR(v0);
        if (is_four) {
            FACTOR(v1);
            FACTOR(v2);
            FACTOR(v3);
        }
        own->best[j] = product;
        own->more[j] = zeros;
    } else if (class == REDUCE_ARGMAX) {
        vf largest = best;
        vi where = own->line[j];
#define PLACE(v, number) \
    do { \
        const vf w_ = turned_vf(v, sign); \
        const vi better_ = (w_ > largest) | ((w_ != w_) & (largest == largest)); \
        where = better_ ? (vi)(number) : where; \
        largest = better_ ? w_ : largest; \
    } while (0)
        PLACE(v0, line);
        if (is_four) {
            PLACE(v1, line + 1);
            PLACE(v2, line + 2);
            PLACE(v3, line + 3);
        }
        own->best[j] = largest;
        own->line[j] = where;
    } else {
        vf largest = larger_vf(turned_vf(v0, sign), best);
        if (is_four) {
            const vf one = larger_vf(turned_vf(v1, sign), largest);
            const vf other = larger_vf(turned_vf(v2, sign), turned_vf(v3, sign));
            largest = larger_vf(one, other);
        }
        own->best[j] = largest;
    }
}

// The second walk over a block, with the largest known: how many are equal to it, or the sum of e^(x - largest).
ALWAYS_INLINE void add_second(int code, columns *own, int j, const __global data_t *x, long stride, int n,
                              ACC_UINT sign)
{
    const vf v = turned_vf(load_columns(x, stride, n), sign), largest = own->best[j];
    const vf one = (vf)(1.0f);
    // Equal to the largest, be it infinite: 1.
    own->more[j] += code == REDUCE_LOG_SUM_EXP ? (v == largest ? one : exp_vf(v - largest))
                                               : (v == largest ? one : (vf)(0.0f));
}

// The block's results into those of the blocks before it. is_first: there are none.
ALWAYS_INLINE void combine_block(int code, columns *own, int j, bool is_first)
{
    const int class = reduction_class(code);
    const vf value = own->value[j], from = own->best[j];
    const vi from_is_nan = from != from;
    if (class == REDUCE_SUM) {
        const vf sum = value + from, part = sum - value;
        own->rest[j] += (value - (sum - part)) + (from - part);
        own->value[j] = sum;
    } else if (class == REDUCE_PRODUCT) {
        own->value[j] = value * from;
        own->rest[j] += own->more[j];
    } else if (class == REDUCE_ARGMAX) {
        // Lines come in the order of positions, so that equal ones change nothing.
        const vi better = is_first ? (vi)(-1) : (from > value) | (from_is_nan & (value == value));
        if (!any(better))
            return;
        const ACC_INT *lines = (const ACC_INT *)(own->line + j);
        ACC_INT takes[VW];
        STORE_PRIVATE(vi, better, takes);
        for (int k = 0; k < VW; ++k)
            own->index[j * VW + k] = takes[k] ? own->position[lines[k]] : own->index[j * VW + k];
        own->value[j] = better ? from : value;
    } else if (class == REDUCE_LOG_SUM_EXP) {
        const vf one = (vf)(1.0f);
        const vf largest = larger_vf(from, value);
        // Of -infinity alone nothing is left, of +infinity one.
        const vf more = from == (vf)(-INFINITY) ? (vf)(0.0f) : from == (vf)(INFINITY) ? one : own->more[j];
        own->rest[j] = own->rest[j] * (value == largest ? one : exp_vf(value - largest)) +
                       more * (from == largest ? one : exp_vf(from - largest));
        own->value[j] = largest;
    } else {
        const vi better = (from > value) | from_is_nan;
        own->rest[j] = value == from ? own->rest[j] + own->more[j] : better ? own->more[j] : own->rest[j];
        own->value[j] = better ? from : value;
    }
}

// A block of lines of one strip. All literals but code, which is one in every call.
ALWAYS_INLINE void reduce_block(int code, columns *own, const __global data_t *x, long stride, int width, int lines,
                                ACC_UINT sign, bool is_first)
{
    const int class = reduction_class(code);
    const vf none = (vf)(reduction_begin(class).value);
    const int vectors = (width + VW - 1) / VW;
    const int whole = stride == 1 ? width / VW : 0;
    for (int j = 0; j < vectors; ++j) {
        own->best[j] = none;
        own->more[j] = (vf)(0.0f);
        own->line[j] = (vi)(0);
    }
    int i = 0;
    for (; i + 4 <= lines; i += 4) {
        int j = 0;
        for (; j < whole; ++j)
            add_lines(code, own, j, x + j * VW, own->offset + i, 1, VW, i, 4, sign);
        for (; j < vectors; ++j)
            add_lines(code, own, j, x + j * VW * stride, own->offset + i, stride, width - j * VW, i, 4, sign);
    }
    for (; i < lines; ++i)
        for (int j = 0; j < vectors; ++j)
            add_lines(code, own, j, x + j * VW * stride, own->offset + i, stride, width - j * VW, i, 1, sign);
    if (class == REDUCE_MAX_COUNT || class == REDUCE_LOG_SUM_EXP) {
        for (i = 0; i < lines; ++i) {
            int j = 0;
            for (; j < whole; ++j)
                add_second(code, own, j, x + own->offset[i] + j * VW, 1, VW, sign);
            for (; j < vectors; ++j)
                add_second(code, own, j, x + own->offset[i] + j * VW * stride, stride, width - j * VW, sign);
        }
    }
    for (int j = 0; j < vectors; ++j)
        combine_block(code, own, j, is_first);
}

#define CALL(code_) \
    case code_: \
        reduce_block(code_, own, x, stride, width, lines, sign, is_first); \
        break
ALWAYS_INLINE void reduce_any_block(int code, columns *own, const __global data_t *x, long stride, int width,
                                    int lines, ACC_UINT sign, bool is_first)
{
    switch (code) {
        CALL(REDUCE_SUM);
        CALL(REDUCE_SUM_ABS);
        CALL(REDUCE_NORM);
        CALL(REDUCE_PRODUCT);
        CALL(REDUCE_PRODUCT_ZEROS);
        CALL(REDUCE_MAX);
        CALL(REDUCE_MAX_COUNT);
        CALL(REDUCE_ARGMAX);
        CALL(REDUCE_LOG_SUM_EXP);
    default:
        break;
    }
}

// reduction_value of a vector of results.
ALWAYS_INLINE vf results_vf(int kind, vf value, vf rest, acc_t count)
{
    const vf sum = isfinite(value) ? value + rest : value;
    switch (kind) {
    case REDUCE_SUM:
    case REDUCE_SUM_ABS:
        return sum;
    case REDUCE_MEAN:
        return sum / (vf)(count);
    case REDUCE_NORM:
        return sqrt(sum);
    case REDUCE_LOG_SUM_EXP:
        return value + log(rest);
    default:
        return turned_vf(value, reduction_sign(kind));
    }
}

// Units are numbered over the outer kept dimensions, the strips, and a strip's segments; share: units a work-group
// takes. kept: x and y over the outer kept dimensions; reduced: x and the position over all that is reduced. inner:
// extent of the innermost kept dimension. y is written where a column is one segment.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_reduce_columns(const __global data_t *x_base, long x_offset, __global uchar *y_base, long y_offset,
                         __global ACC_UINT *states_base, long states_offset, WALK_PARAMS_2(kept),
                         WALK_PARAMS_2(reduced), long inner, long x_stride, long y_stride, long count, long segments,
                         long segment, int width, long units, long share, int kind, int result)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global ACC_UINT *states = states_base + states_offset;
    const long begin = get_group_id(0) * share;
    const long end = min(begin + share, units);
    const long strips = (inner + width - 1) / width;
    const int code = reduction_code(kind);
    const int class = reduction_class(kind);
    const ACC_UINT sign = reduction_sign(kind);
    const reduction none = reduction_begin(class);
    columns own;
    WALK_2(kept);
    WALK_2(reduced);

    for (long unit = begin; unit < end; ++unit) {
        const long number = unit % segments;
        const long strip = unit / segments % strips;
        const long outer = unit / segments / strips;
        const long first = number * segment;
        const long last = min(count, first + segment);
        const int columns_here = (int)min((long)width, inner - strip * width);
        walk_seek(&kept, outer);
        const __global data_t *x_strip = x + kept.at[0] + strip * width * x_stride;

        for (int j = 0; j * VW < columns_here; ++j) {
            own.value[j] = (vf)(none.value);
            own.rest[j] = (vf)(0.0f);
        }
        if (first < last)
            walk_seek(&reduced, first);
        for (long i = first; i < last; i += LINES) {
            const int lines = (int)min((long)LINES, last - i);
            for (int k = 0; k < lines && reduced_rank <= 1; ++k) {
                own.offset[k] = (i + k) * reduced.stride[0][WALK_DIMENSIONS - 1];
                own.position[k] = (i + k) * reduced.stride[1][WALK_DIMENSIONS - 1];
            }
            for (int k = 0; k < lines && reduced_rank > 1; ++k) {
                own.offset[k] = reduced.at[0];
                own.position[k] = reduced.at[1];
                walk_next(&reduced);
            }
            reduce_any_block(code, &own, x_strip, x_stride, columns_here, lines, sign, i == first);
        }

        const acc_t *values = (const acc_t *)own.value;
        const acc_t *rests = (const acc_t *)own.rest;
        const long row = outer * inner + strip * width;
        if (segments == 1 && result == RESULT_DATA && y_stride == 1) {
            __global data_t *y = (__global data_t *)y_base + y_offset + kept.at[1] + strip * width;
            for (int j = 0; j * VW < columns_here; ++j)
                store_vf_part(results_vf(kind, own.value[j], own.rest[j], (acc_t)count), y + j * VW,
                              columns_here - j * VW);
            continue;
        }
        for (int j = 0; j < columns_here; ++j) {
            reduction all;
            all.value = values[j];
            all.rest = rests[j];
            all.index = class == REDUCE_ARGMAX ? own.index[j] : 0;
            if (segments == 1)
                reduction_store(kind, result, all, count, y_base,
                                y_offset + kept.at[1] + (strip * width + j) * y_stride);
            else
                reduction_keep(all, states, (row + j) * segments + number);
        }
    }
}

REDUCTION_COMBINE_KERNEL(husk_reduce_columns_combine)
