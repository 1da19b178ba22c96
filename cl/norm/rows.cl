// SPDX-License-Identifier: MIT
// Normalisation for CPU devices where the elements of a set lie together in runs: one work-item per work-group,
// explicit vectors.
//
// A set is a number of runs at equal distances, elements at stride 1 in each: one run for a layer, a group of channels
// or a channel of an image (NCHW), a run an image for batch normalisation. Its moments are taken a chunk at a time, of
// CHUNK elements, fewer where runs are short, that stay in the first-level cache between the sum and the squared
// differences, and joined in order; so memory is read once for the moments, and once more for the result where a set is
// larger than the caches. Chunks depend on the shape alone: the result does not depend on the number of work-groups.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/norm.clh"
#include "lib/reduce.clh"

// Of a chunk. A lane adds up an element of every run, or more: one chain of more runs would err by too much.
#define MOST_RUNS 512
#define CHUNK     4096

// The sum of `runs` runs of `length` elements, less `shift` each.
ALWAYS_INLINE acc_t sum_runs(const __global data_t *x, long run_stride, long runs, int length)
{
    vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
    for (long r = 0; r < runs; ++r, x += run_stride) {
        int i = 0;
        for (; i + 4 * VW <= length; i += 4 * VW) {
            s0 += load_vf(x + i);
            s1 += load_vf(x + i + VW);
            s2 += load_vf(x + i + 2 * VW);
            s3 += load_vf(x + i + 3 * VW);
        }
        for (; i + VW <= length; i += VW)
            s0 += load_vf(x + i);
        if (i < length)
            s1 += load_vf_part(x + i, length - i);
    }
    return reduce_sum((s0 + s1) + (s2 + s3));
}

// The sums of the differences to `mean`, and of their squares.
ALWAYS_INLINE void sum_differences(const __global data_t *x, long run_stride, long runs, int length, acc_t mean,
                                   acc_t *sum, acc_t *squares)
{
    const vf m = (vf)(mean);
    vf s0 = (vf)(0.0f), s1 = s0, s2 = s0, s3 = s0;
    vf q0 = s0, q1 = s0, q2 = s0, q3 = s0;
    for (long r = 0; r < runs; ++r, x += run_stride) {
        int i = 0;
        for (; i + 4 * VW <= length; i += 4 * VW) {
            const vf d0 = load_vf(x + i) - m;
            const vf d1 = load_vf(x + i + VW) - m;
            const vf d2 = load_vf(x + i + 2 * VW) - m;
            const vf d3 = load_vf(x + i + 3 * VW) - m;
            s0 += d0;
            s1 += d1;
            s2 += d2;
            s3 += d3;
            q0 = MAD(d0, d0, q0);
            q1 = MAD(d1, d1, q1);
            q2 = MAD(d2, d2, q2);
            q3 = MAD(d3, d3, q3);
        }
        for (; i + VW <= length; i += VW) {
            const vf d = load_vf(x + i) - m;
            s0 += d;
            q0 = MAD(d, d, q0);
        }
        if (i < length) {
            const vf d = LANES < (vi)(length - i) ? load_vf_part(x + i, length - i) - m : (vf)(0.0f);
            s1 += d;
            q1 = MAD(d, d, q1);
        }
    }
    *sum = reduce_sum((s0 + s1) + (s2 + s3));
    *squares = reduce_sum((q0 + q1) + (q2 + q3));
}

ALWAYS_INLINE void join_chunk(norm_moments *moments, const __global data_t *x, long run_stride, long runs, int length,
                              int centred)
{
    const acc_t count = (acc_t)(runs * length);
    acc_t mean = 0.0f;
    acc_t sum, squares;
    if (centred)
        mean = sum_runs(x, run_stride, runs, length) / count;
    sum_differences(x, run_stride, runs, length, mean, &sum, &squares);
    const acc_t more = centred ? sum / count : 0.0f;
    const acc_t centred_squares = centred ? squares - sum * more : squares;
    norm_join(moments, mean, more, centred_squares, count);
}

// One part of a run: y = (x - high - low) * rstd * scale + bias. step: 1 where every element has its own scale and
// bias, 0 where they share them.
ALWAYS_INLINE vf normal(vf x, norm_statistics found)
{
    return ((x - (vf)(found.high)) - (vf)(found.low)) * (vf)(found.rstd);
}

ALWAYS_INLINE void apply_shared(const __global data_t *x, __global data_t *y, long length, norm_statistics found,
                                acc_t scale, acc_t bias, int mode)
{
    const vf s = (vf)(scale);
    const vf b = (vf)(bias);
    long i = 0;
    if (NORM_STREAMS_TO(y)) {
        for (; i + VW <= length; i += VW)
            STREAM_VF(MAD(normal(load_vf(x + i), found), s, b), y + i);
        END_STREAM();
    }
    for (; i + VW <= length; i += VW)
        store_vf(MAD(normal(load_vf(x + i), found), s, b), y + i);
    if (i < length) {
        const int lanes = (int)(length - i);
        store_vf_part(MAD(normal(load_vf_part(x + i, lanes), found), s, b), y + i, lanes);
    }
}

ALWAYS_INLINE vf load_or(const __global data_t *p, long i, int lanes, acc_t otherwise)
{
    return p ? load_vf_part(p + i, lanes) : (vf)(otherwise);
}

ALWAYS_INLINE void apply_own(const __global data_t *x, __global data_t *y, long length, norm_statistics found,
                             const __global data_t *scale, const __global data_t *bias, int mode)
{
    long i = 0;
    if (NORM_STREAMS_TO(y)) {
        for (; i + VW <= length; i += VW)
            STREAM_VF(MAD(normal(load_vf(x + i), found), load_or(scale, i, VW, 1.0f), load_or(bias, i, VW, 0.0f)),
                      y + i);
        END_STREAM();
    }
    for (; i + VW <= length; i += VW)
        store_vf(MAD(normal(load_vf(x + i), found), load_or(scale, i, VW, 1.0f), load_or(bias, i, VW, 0.0f)), y + i);
    if (i < length) {
        const int lanes = (int)(length - i);
        store_vf_part(MAD(normal(load_vf_part(x + i, lanes), found), load_or(scale, i, lanes, 1.0f),
                          load_or(bias, i, lanes, 0.0f)), y + i, lanes);
    }
}

// y may be x. Sets are numbered over outer_count by inner_count. A set's moments are of `runs` runs of `length`
// elements, its results of `parts` runs of `part_length`, each of which has its own scale and bias (part_step 0) or
// whose elements have (1). share: sets a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_rows(const __global data_t *x_base, long x_offset, const __global data_t *scale_base, long scale_offset,
                    const __global data_t *bias_base, long bias_offset, __global data_t *y_base, long y_offset,
                    NORM_STATISTICS_PARAMS,
                    long outer_x, long outer_y, long outer_parameter, long outer_statistic,
                    long inner_count, long inner_x, long inner_y, long inner_parameter, long inner_statistic,
                    long runs, long run_x, long length,
                    long parts, long part_x, long part_y, long part_parameter, long part_length, int part_step,
                    long set_count, long share, int mode)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, set_count);
    const __global data_t *scale_first = scale_base ? scale_base + scale_offset : 0;
    const __global data_t *bias_first = bias_base ? bias_base + bias_offset : 0;

    for (long set = first; set < last; ++set) {
        const long outer = set / inner_count;
        const long inner = set - outer * inner_count;
        const __global data_t *x = x_base + x_offset + outer * outer_x + inner * inner_x;
        __global data_t *y = y_base + y_offset + outer * outer_y + inner * inner_y;
        const long parameter = outer * outer_parameter + inner * inner_parameter;
        const long statistic = outer * outer_statistic + inner * inner_statistic;

        norm_statistics found;
        if (mode & NORM_RUNNING) {
            found = NORM_GIVEN(statistic);
        } else {
            norm_moments moments = {0.0f, 0.0f, 0.0f, 0.0f};
            if (length < CHUNK) {
                const long together = min((long)CHUNK / length, (long)MOST_RUNS);
                for (long r = 0; r < runs; r += together)
                    join_chunk(&moments, x + r * run_x, run_x, min(together, runs - r), (int)length,
                               mode & NORM_CENTRED);
            } else {
                for (long r = 0; r < runs; ++r)
                    for (long i = 0; i < length; i += CHUNK)
                        join_chunk(&moments, x + r * run_x + i, 0, 1, (int)min((long)CHUNK, length - i),
                                   mode & NORM_CENTRED);
            }
            found = norm_finish(&moments, epsilon);
        }
        NORM_SAVE(statistic, found);

        for (long p = 0; p < parts; ++p) {
            const long at = parameter + p * part_parameter;
            const __global data_t *x_part = x + p * part_x;
            __global data_t *y_part = y + p * part_y;
            if (part_step)
                apply_own(x_part, y_part, part_length, found, scale_first ? scale_first + at : 0,
                          bias_first ? bias_first + at : 0, mode);
            else
                apply_shared(x_part, y_part, part_length, found, scale_first ? load_one(scale_first, at) : 1.0f,
                             bias_first ? load_one(bias_first, at) : 0.0f, mode);
        }
    }
}
