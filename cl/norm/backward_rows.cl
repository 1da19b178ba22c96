// SPDX-License-Identifier: MIT
// Gradients of normalisation for CPU devices where the elements of a set lie together in runs: one work-item per
// work-group, explicit vectors.
//
//   husk_norm_backward_rows         layers: a set is one run, every element has its own scale. Rows go in blocks; dx is
//                                   made while a row is in the caches, and what it adds to dscale and dbias is summed
//                                   up in scratch memory, a pair of rows a block
//   husk_norm_backward_planes       channels: all elements of a run share a scale. A run's two sums give what its
//                                   set's dx and its channel's dscale and dbias need
//   husk_norm_backward_parameters   adds up over blocks or images
//
// x and dy are read once from memory where two runs (planes: two sets) fit into the caches, twice otherwise. Blocks
// depend on the shape alone: the result does not depend on the number of work-groups.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/norm.clh"
#include "lib/norm_parameters.clh"
#include "lib/reduce.clh"
#include "lib/long_sum.clh"

ALWAYS_INLINE vf load_or_one(const __global data_t *p, long i, int lanes)
{
    return p ? load_vf_part(p + i, lanes) : (vf)(1.0f);
}

// What dx is made with: dx = by_g * g + (by_x * (x - mean) + rest), for g = dy * scale.
typedef struct {
    acc_t mean;
    acc_t by_g;
    acc_t by_x;
    acc_t rest;
} norm_gradient;

// plain: the sum of g; by_x: of g * (x - mean).
inline norm_gradient gradient_of(acc_t mean, acc_t rstd, acc_t plain, acc_t by_x, acc_t count, int mode)
{
    norm_gradient made = {mean, rstd, 0.0f, 0.0f};
    if (!(mode & NORM_RUNNING)) {
        made.by_x = -rstd * (rstd * rstd * (by_x / count));
        made.rest = (mode & NORM_CENTRED) ? -rstd * (plain / count) : 0.0f;
    }
    return made;
}

ALWAYS_INLINE vf gradient(norm_gradient with, vf g, vf x, int mode)
{
    const vf v = (vf)(with.by_g) * g;
    if (mode & NORM_RUNNING)
        return v;
    return v + MAD((vf)(with.by_x), x - (vf)(with.mean), (vf)(with.rest));
}

// streams: past the caches; whole vectors alone.
ALWAYS_INLINE void store_gradient(vf v, __global data_t *dx, int lanes, bool streams, int mode)
{
    if (streams && lanes == VW) {
        STREAM_VF(v, dx);
        return;
    }
    if (mode & NORM_ADD_INPUTS)
        v += load_vf_part(dx, lanes);
    store_vf_part(v, dx, lanes);
}

// A part of a row: dx, and what it adds to a block's dscale and dbias (NULL: not wanted).
ALWAYS_INLINE void row_part(const __global data_t *x, const __global data_t *dy, __global data_t *dx,
                            const __global data_t *scale, __global acc_t *sums, long pitch, long i, int lanes,
                            norm_gradient with, acc_t rstd, bool is_first, bool streams, int mode)
{
    const vf v = load_vf_part(x + i, lanes);
    const vf d = load_vf_part(dy + i, lanes);
    if (sums) {
        vf by_scale = d * ((v - (vf)(with.mean)) * (vf)(rstd));
        vf by_bias = d;
        if (!is_first) {
            by_scale += load_sums(sums + i);
            by_bias += load_sums(sums + pitch + i);
        }
        store_sums(by_scale, sums + i);
        store_sums(by_bias, sums + pitch + i);
    }
    if (dx)
        store_gradient(gradient(with, d * load_or_one(scale, i, lanes), v, mode), dx + i, lanes, streams, mode);
}

#define PIECE (2 * VW * 1024L) // elements that four chains of vectors add up, of 1,024 terms each

// The sums of g = dy * scale and of g * (x - mean) over elements of one run. scale: NULL for ones.
ALWAYS_INLINE void sum_piece(const __global data_t *x, const __global data_t *dy, const __global data_t *scale,
                             long length, acc_t mean, acc_t *plain, acc_t *by_x)
{
    const vf m = (vf)(mean);
    vf p0 = (vf)(0.0f), p1 = p0, q0 = p0, q1 = p0;
    long i = 0;
    for (; i + 2 * VW <= length; i += 2 * VW) {
        const vf g0 = load_vf(dy + i) * load_or_one(scale, i, VW);
        const vf g1 = load_vf(dy + i + VW) * load_or_one(scale, i + VW, VW);
        p0 += g0;
        p1 += g1;
        q0 = MAD(g0, load_vf(x + i) - m, q0);
        q1 = MAD(g1, load_vf(x + i + VW) - m, q1);
    }
    for (; i < length; i += VW) {
        const int lanes = (int)min((long)VW, length - i);
        const vf g = load_vf_part(dy + i, lanes) * load_or_one(scale, i, lanes);
        const vf d = LANES < (vi)(lanes) ? load_vf_part(x + i, lanes) - m : (vf)(0.0f);
        p0 += LANES < (vi)(lanes) ? g : (vf)(0.0f);
        q0 = MAD(LANES < (vi)(lanes) ? g : (vf)(0.0f), d, q0);
    }
    *plain = reduce_sum(p0 + p1);
    *by_x = reduce_sum(q0 + q1);
}

// The same over all of it, of which most are one piece.
ALWAYS_INLINE void sum_run(const __global data_t *x, const __global data_t *dy, const __global data_t *scale,
                           long length, acc_t mean, acc_t *plain, acc_t *by_x)
{
    if (length <= PIECE) {
        sum_piece(x, dy, scale, length, mean, plain, by_x);
        return;
    }
    LONG_SUM(p);
    LONG_SUM(q);
    for (long i = 0; i < length; i += PIECE) {
        acc_t more_p, more_q;
        sum_piece(x + i, dy + i, scale ? scale + i : 0, min(length - i, PIECE), mean, &more_p, &more_q);
        LONG_SUM_ADD(p, more_p);
        LONG_SUM_ADD(q, more_q);
    }
    *plain = LONG_SUM_TOTAL(p);
    *by_x = LONG_SUM_TOTAL(q);
}

#define BACKWARD_PARAMS \
    const __global data_t *x_base, long x_offset, const __global data_t *dy_base, long dy_offset, \
    const __global acc_t *mean_base, long mean_offset, const __global acc_t *rstd_base, long rstd_offset, \
    const __global data_t *scale_base, long scale_offset, __global data_t *dx_base, long dx_offset, \
    __global acc_t *sums_base, long sums_offset, \
    long outer_x, long outer_dy, long outer_dx, long outer_parameter, long outer_statistic, \
    long inner_count, long inner_x, long inner_dy, long inner_dx, long inner_parameter, long inner_statistic

#define BACKWARD_SET(set) \
    const long outer = (set) / inner_count; \
    const long inner = (set) - outer * inner_count; \
    const __global data_t *x = x_base + x_offset + outer * outer_x + inner * inner_x; \
    const __global data_t *dy = dy_base + dy_offset + outer * outer_dy + inner * inner_dy; \
    __global data_t *dx = dx_base ? dx_base + dx_offset + outer * outer_dx + inner * inner_dx : 0; \
    const long statistic = outer * outer_statistic + inner * inner_statistic; \
    const long parameter = outer * outer_parameter + inner * inner_parameter; \
    const acc_t mean = mean_base ? mean_base[mean_offset + statistic] : 0.0f; \
    const acc_t rstd = rstd_base[rstd_offset + statistic]

// dx may be x or dy, or NULL. sums: [block][dscale, dbias][pitch], or NULL. share: blocks a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_backward_rows(BACKWARD_PARAMS, long length, long pitch, long set_count, long block_sets,
                             long block_count, long share, int mode)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, block_count);
    for (long block = first; block < last; ++block) {
        const long set_end = min((block + 1) * block_sets, set_count);
        __global acc_t *sums = sums_base ? sums_base + sums_offset + block * 2 * pitch : 0;
        for (long set = block * block_sets; set < set_end; ++set) {
            BACKWARD_SET(set);
            const __global data_t *scale = scale_base ? scale_base + scale_offset + parameter : 0;
            acc_t plain, by_x;
            sum_run(x, dy, scale, length, mean, &plain, &by_x);
            const norm_gradient with = gradient_of(mean, rstd, plain, by_x, (acc_t)length, mode);
            const bool is_first = set == block * block_sets;
            const bool streams = NORM_STREAMS_TO(dx);
            long i = 0;
            for (; i + VW <= length; i += VW)
                row_part(x, dy, dx, scale, sums, pitch, i, VW, with, rstd, is_first, streams, mode);
            if (i < length)
                row_part(x, dy, dx, scale, sums, pitch, i, (int)(length - i), with, rstd, is_first, streams, mode);
        }
    }
    END_STREAM();
}

// dx may be x or dy, or NULL. sums: [image][dscale, dbias][pitch] (NORM_JOINT: one image), or NULL. A set's runs have
// their scales part_parameter apart, or all the same one (0). share: sets a work-group takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_backward_planes(BACKWARD_PARAMS, long parts, long part_x, long part_dy, long part_dx,
                               long part_parameter, long length, long groups, long pitch, long set_count, long share,
                               int mode)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, set_count);
    const __global data_t *scale = scale_base ? scale_base + scale_offset : 0;
    for (long set = first; set < last; ++set) {
        BACKWARD_SET(set);
        const long image = (mode & NORM_JOINT) ? 0 : statistic / groups;
        __global acc_t *sums = sums_base ? sums_base + sums_offset + image * 2 * pitch : 0;
        const bool is_shared = part_parameter == 0; // one scale for all of the set
        LONG_SUM(all_plain); // of dy or g
        LONG_SUM(all_by_x);
        for (long p = 0; p < parts; ++p) {
            acc_t plain, by_x;
            sum_run(x + p * part_x, dy + p * part_dy, 0, length, mean, &plain, &by_x);
            const long at = parameter + p * part_parameter;
            if (!is_shared) {
                if (sums) {
                    sums[at] = by_x * rstd;
                    sums[pitch + at] = plain;
                }
                const acc_t s = scale ? load_one(scale, at) : 1.0f;
                plain *= s;
                by_x *= s;
            }
            LONG_SUM_ADD(all_plain, plain);
            LONG_SUM_ADD(all_by_x, by_x);
        }
        acc_t set_plain = LONG_SUM_TOTAL(all_plain), set_by_x = LONG_SUM_TOTAL(all_by_x);
        if (is_shared) {
            if (sums) {
                sums[parameter] = set_by_x * rstd;
                sums[pitch + parameter] = set_plain;
            }
            const acc_t s = scale ? load_one(scale, parameter) : 1.0f;
            set_plain *= s;
            set_by_x *= s;
        }
        if (!dx)
            continue;
        const norm_gradient with =
            gradient_of(mean, rstd, set_plain, set_by_x, (acc_t)parts * (acc_t)length, mode);
        for (long p = 0; p < parts; ++p) {
            const vf s = (vf)(scale ? load_one(scale, parameter + p * part_parameter) : 1.0f);
            const __global data_t *x_part = x + p * part_x;
            const __global data_t *dy_part = dy + p * part_dy;
            __global data_t *dx_part = dx + p * part_dx;
            const bool streams = NORM_STREAMS_TO(dx_part);
            long i = 0;
            for (; i + VW <= length; i += VW)
                store_gradient(gradient(with, load_vf(dy_part + i) * s, load_vf(x_part + i), mode), dx_part + i, VW,
                               streams, mode);
            if (i < length) {
                const int lanes = (int)(length - i);
                store_gradient(gradient(with, load_vf_part(dy_part + i, lanes) * s, load_vf_part(x_part + i, lanes),
                                        mode), dx_part + i, lanes, streams, mode);
            }
        }
    }
    END_STREAM();
}
