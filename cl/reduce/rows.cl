// SPDX-License-Identifier: MIT
// Reductions for CPU devices of what lies together in memory (the fastest dimension is reduced), one work-item per
// work-group, explicit vectors.
//
// A row is everything reduced to one element: runs of the innermost reduced dimension, numbered over the outer ones.
// Long runs at stride 1 are read in blocks straight from memory; short or strided ones are first gathered in a private
// block. Every block is reduced in four vectors and its result combined with those before it.
//
//   husk_reduce_rows           whole rows, or, where rows are few and long, segments of them: the host cuts by the
//                              shape alone, so that the result does not depend on the number of threads
//   husk_reduce_rows_combine   ... and a row's segments in order
//
// Bound by memory: one load an element, 2 to 8 operations a vector; LOG_SUM_EXP reads a block again, from the
// first-level cache, and forms an exponential an element.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/reduce.clh"
#include "lib/reduction.clh"
#include "lib/vector_math.clh"
#include "lib/walk.clh"

#define BLOCK  1024 // elements
#define DIRECT 256  // runs of so many are not gathered

// The larger of two; a NaN is larger than all.
ALWAYS_INLINE vf largest_vf(vf v, vf best)
{
    return ((v > best) | (v != v)) ? v : best;
}

ALWAYS_INLINE vf turned_vf(vf v, ACC_UINT sign)
{
    return as_vf(as_vi(v) ^ (vi)((ACC_INT)sign));
}

ALWAYS_INLINE vf term_sum(int kind, vf v)
{
    return kind == REDUCE_SUM_ABS ? fabs(v) : v;
}

ALWAYS_INLINE vf term_factor(int kind, vf v)
{
    return kind == REDUCE_PRODUCT_ZEROS ? (v == (vf)(0.0f) ? (vf)(1.0f) : v) : v;
}

// Of a vector's lanes the largest.
ALWAYS_INLINE acc_t largest_lane(vf v)
{
    const vi is_nan = v != v;
    return any(is_nan) ? NAN : reduce_max(v);
}

// A private block may be read past its length, up to a whole vector; a row in memory may not.
#define LOAD_PRIVATE_PART(p, n) load_private(p)

// A block of n elements in four vectors. Lanes past the end hold `fill`.
#define BLOCK_LOOP(load, load_part, fill, STEP) \
    int i = 0; \
    for (; i + 4 * VW <= n; i += 4 * VW) { \
        STEP(0, load(x + i), i); \
        STEP(1, load(x + i + VW), i + VW); \
        STEP(2, load(x + i + 2 * VW), i + 2 * VW); \
        STEP(3, load(x + i + 3 * VW), i + 3 * VW); \
    } \
    for (; i < n; i += VW) { \
        const vf v_ = LANES < (vi)(n - i) ? load_part(x + i, n - i) : (vf)(fill); \
        STEP(0, v_, i); \
    }

#define STEP_SUM(k, v, i)     s##k += term_sum(kind, v)
#define STEP_SQUARES(k, v, i) \
    do { \
        const vf w_ = v; \
        s##k = MAD(w_, w_, s##k); \
    } while (0)
#define STEP_PRODUCT(k, v, i) s##k *= term_factor(kind, v)
#define STEP_ZEROS(k, v, i)   zeros -= (v) == (vf)(0.0f)
#define STEP_MAX(k, v, i)     s##k = largest_vf(turned_vf(v, sign), s##k)
#define STEP_COUNT(k, v, i)   equal -= turned_vf(v, sign) == (vf)(all.value)
#define STEP_EXP(k, v, i)     s##k += exp_vf((v) - (vf)(all.value))
// Every lane keeps its first largest element and where it was. NaN replaces all but a NaN.
#define STEP_ARG(k, v, i) \
    do { \
        const vf w_ = turned_vf(v, sign); \
        const vi better_ = (w_ > s##k) | ((w_ != w_) & (s##k == s##k)); \
        s##k = better_ ? w_ : s##k; \
        at##k = better_ ? (vi)(i) + LANES : at##k; \
    } while (0)

#define MERGE_ARG(k) \
    do { \
        const vi better_ = (s##k > s0) | ((s##k != s##k) & (s0 == s0)) | \
                           (((s##k == s0) | ((s##k != s##k) & (s0 != s0))) & (at##k < at0)); \
        s0 = better_ ? s##k : s0; \
        at0 = better_ ? at##k : at0; \
    } while (0)

ALWAYS_INLINE int sum_lanes(vi counts)
{
    ACC_INT lanes[VW];
    STORE_PRIVATE(vi, counts, lanes);
    int sum = 0;
    for (int i = 0; i < VW; ++i)
        sum += (int)lanes[i];
    return sum;
}

ALWAYS_INLINE reduction best_lane(vf values, vi places, long position, long step)
{
    acc_t value[VW];
    ACC_INT place[VW];
    store_private(values, value);
    STORE_PRIVATE(vi, places, place);
    reduction best = reduction_begin(REDUCE_ARGMAX);
    for (int i = 0; i < VW; ++i) {
        // A lane that never found anything holds -infinity, of which the block's first is as good as any.
        reduction lane = best;
        lane.value = value[i];
        lane.index = place[i] == INT_MAX ? 0 : place[i];
        reduction_combine(REDUCE_ARGMAX, &best, lane);
    }
    best.index = position + best.index * step;
    return best;
}

// The functions that reduce a block which lies in `space`. kind is a literal in every call.
#define DEFINE_BLOCK(name, space, load, load_part) \
    ALWAYS_INLINE reduction name(int kind, const space *x, int n, ACC_UINT sign, long position, long step) \
    { \
        const int class = reduction_class(kind); \
        reduction all = reduction_begin(class); \
        vf s0 = (vf)(all.value), s1 = s0, s2 = s0, s3 = s0; \
        if (kind == REDUCE_NORM) { \
            BLOCK_LOOP(load, load_part, 0.0f, STEP_SQUARES) \
            all.value = reduce_sum((s0 + s1) + (s2 + s3)); \
        } else if (class == REDUCE_SUM) { \
            BLOCK_LOOP(load, load_part, 0.0f, STEP_SUM) \
            all.value = reduce_sum((s0 + s1) + (s2 + s3)); \
        } else if (class == REDUCE_PRODUCT) { \
            BLOCK_LOOP(load, load_part, 1.0f, STEP_PRODUCT) \
            acc_t lanes[VW]; \
            store_private((s0 * s1) * (s2 * s3), lanes); \
            for (int j = 0; j < VW; ++j) \
                all.value *= lanes[j]; \
            if (kind == REDUCE_PRODUCT_ZEROS) { \
                vi zeros = (vi)(0); \
                BLOCK_LOOP(load, load_part, 1.0f, STEP_ZEROS) \
                all.rest = (acc_t)sum_lanes(zeros); \
            } \
        } else if (class == REDUCE_ARGMAX) { \
            vi at0 = (vi)(INT_MAX), at1 = at0, at2 = at0, at3 = at0; \
            BLOCK_LOOP(load, load_part, as_acc(as_acc_uint((acc_t)-INFINITY) ^ sign), STEP_ARG) \
            MERGE_ARG(1); \
            MERGE_ARG(2); \
            MERGE_ARG(3); \
            all = best_lane(s0, at0, position, step); \
        } else { \
            BLOCK_LOOP(load, load_part, as_acc(as_acc_uint((acc_t)-INFINITY) ^ sign), STEP_MAX) \
            all.value = largest_lane(largest_vf(largest_vf(s0, s1), largest_vf(s2, s3))); \
            if (class == REDUCE_MAX_COUNT) { \
                vi equal = (vi)(0); \
                BLOCK_LOOP(load, load_part, NAN, STEP_COUNT) \
                all.rest = (acc_t)sum_lanes(equal); \
            } else if (class == REDUCE_LOG_SUM_EXP) { \
                all.rest = 1.0f; /* of infinity, and NaN stays as it is */ \
                if (all.value == -INFINITY) { \
                    all.rest = 0.0f; \
                } else if (isfinite(all.value)) { \
                    s0 = s1 = s2 = s3 = (vf)(0.0f); \
                    BLOCK_LOOP(load, load_part, -INFINITY, STEP_EXP) \
                    all.rest = reduce_sum((s0 + s1) + (s2 + s3)); \
                } \
            } \
        } \
        return all; \
    }

DEFINE_BLOCK(block_global, __global data_t, load_vf, load_vf_part)
DEFINE_BLOCK(block_private, acc_t, load_private, LOAD_PRIVATE_PART)

#define CALL_BLOCK(name, kind_, x) \
    case kind_: \
        return name(kind_, x, n, sign, position, step)
#define DEFINE_CHOICE(name, block, space) \
    ALWAYS_INLINE reduction name(int kind, const space *x, int n, ACC_UINT sign, long position, long step) \
    { \
        switch (kind) { \
            CALL_BLOCK(block, REDUCE_PRODUCT, x); \
            CALL_BLOCK(block, REDUCE_PRODUCT_ZEROS, x); \
            CALL_BLOCK(block, REDUCE_MAX, x); \
            CALL_BLOCK(block, REDUCE_MAX_COUNT, x); \
            CALL_BLOCK(block, REDUCE_ARGMAX, x); \
            CALL_BLOCK(block, REDUCE_SUM_ABS, x); \
            CALL_BLOCK(block, REDUCE_NORM, x); \
            CALL_BLOCK(block, REDUCE_LOG_SUM_EXP, x); \
        default: \
            return block(REDUCE_SUM, x, n, sign, position, step); \
        } \
    }

DEFINE_CHOICE(reduce_global, block_global, __global data_t)
DEFINE_CHOICE(reduce_private, block_private, acc_t)

// The dimensions that are reduced: runs of `run` elements, the outer dimensions in the walk (x, position).
typedef struct {
    long run;
    long stride;
    long step; // of the position
    walk outer;
} runs;

// A run at stride 1, block by block.
ALWAYS_INLINE reduction reduce_run(int kind, ACC_UINT sign, const __global data_t *x, long length, long position,
                                   long step)
{
    if (length <= BLOCK)
        return reduce_global(kind, x, (int)length, sign, position, step);
    const int class = reduction_class(kind);
    reduction all = reduction_begin(class);
    for (long i = 0; i < length; i += BLOCK)
        reduction_combine(class, &all, reduce_global(kind, x + i, (int)min((long)BLOCK, length - i), sign,
                                                     position + i * step, step));
    return all;
}

// Elements first .. last-1 of a row whose first element is at x.
ALWAYS_INLINE reduction reduce_segment(int kind, ACC_UINT sign, const __global data_t *x, runs *over, long first,
                                       long last, acc_t *block)
{
    const int class = reduction_class(kind);
    const long run = over->run;
    reduction all = reduction_begin(class);
    long column = first % run;
    // Positions are those of one run, so blocks of ARGMAX do not go over its end.
    const bool is_one_run = column + last - first <= run;
    const bool is_direct = over->stride == 1 && (run >= DIRECT || class == REDUCE_ARGMAX || is_one_run);
    int gathered = 0;
    if (first < last)
        walk_seek(&over->outer, first / run);
    while (first < last) {
        const long length = min(run - column, last - first);
        const __global data_t *from = x + over->outer.at[0] + column * over->stride;
        const long position = over->outer.at[1] + column * over->step;
        first += length;
        column = 0;
        if (first < last)
            walk_next(&over->outer);
        if (is_direct) {
            reduction_combine(class, &all, reduce_run(kind, sign, from, length, position, over->step));
            continue;
        }
        for (long i = 0; i < length;) {
            const int more = (int)min((long)(BLOCK - gathered), length - i);
            if (over->stride == 1) {
                for (int j = 0; j < more; j += VW)
                    store_private(load_vf_part(from + i + j, more - j), block + gathered + j);
            } else {
                for (int j = 0; j < more; ++j)
                    block[gathered + j] = load_one(from, (i + j) * over->stride);
            }
            gathered += more;
            i += more;
            if (gathered == BLOCK || class == REDUCE_ARGMAX || (i == length && first == last)) {
                for (int j = gathered; j % VW != 0; ++j) // up to a whole vector
                    block[j] = 0.0f;
                reduction_combine(class, &all, reduce_private(kind, block, gathered, sign,
                                                              position + (i - gathered) * over->step, over->step));
                gathered = 0;
            }
        }
    }
    return all;
}

// Units are numbered row by row, a row's segments one after the other; share: units a work-group takes. kept: x and y
// over the rows; outer: x and the position over a row's runs. y is written where a row is one segment.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_reduce_rows(const __global data_t *x_base, long x_offset, __global uchar *y_base, long y_offset,
                      __global ACC_UINT *states_base, long states_offset, WALK_PARAMS_2(kept), WALK_PARAMS_2(outer),
                      long run, long stride, long step, long count, long segments, long segment, long units,
                      long share, int kind, int result)
{
    ONE_ITEM();
    const __global data_t *x = x_base + x_offset;
    __global ACC_UINT *states = states_base + states_offset;
    const long begin = get_group_id(0) * share;
    const long end = min(begin + share, units);
    const int code = reduction_code(kind);
    const ACC_UINT sign = reduction_sign(kind);
    vf vectors[BLOCK / VW + 1]; // aligned, and a vector more for the tails of runs
    acc_t *block = (acc_t *)vectors;
    WALK_2(kept);
    WALK_2(outer);
    runs over = {run, stride, step, outer};

    if (segments == 1 && outer_rank == 0 && stride == 1) { // rows of one run each, most often many
        if (begin < end)
            walk_seek(&kept, begin);
        for (long unit = begin; unit < end; ++unit) {
            const reduction all = reduce_run(code, sign, x + kept.at[0], count, 0, step);
            reduction_store(kind, result, all, count, y_base, y_offset + kept.at[1]);
            walk_next(&kept);
        }
        return;
    }
    if (begin < end)
        walk_seek(&kept, begin / segments);
    for (long unit = begin; unit < end; ++unit) {
        const long number = unit % segments;
        const reduction all = reduce_segment(code, sign, x + kept.at[0], &over, number * segment,
                                             min(count, (number + 1) * segment), block);
        if (segments == 1)
            reduction_store(kind, result, all, count, y_base, y_offset + kept.at[1]);
        else
            reduction_keep(all, states, unit);
        if (number == segments - 1)
            walk_next(&kept);
    }
}

REDUCTION_COMBINE_KERNEL(husk_reduce_rows_combine)
