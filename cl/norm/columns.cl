// SPDX-License-Identifier: MIT
// Group, instance and batch normalisation of channels-last images for CPU devices: one work-item per work-group,
// vectors of neighbouring channels.
//
// Rows of `columns` channels at stride 1 are numbered over `images` (one for batch normalisation) and the rows of each.
//
//   husk_norm_columns_partial   moments of every channel in a block of rows; the block stays in the second-level cache
//                               between the sum and the squared differences
//   husk_norm_columns_finish    joins blocks in order, and the channels of a group; statistics and what is applied
//   husk_norm_columns_apply     results: memory is read twice and written once
//
// Blocks depend on the shape alone: the result does not depend on the number of work-groups.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/norm.clh"
#include "lib/norm_columns.clh"
#include "lib/long_sum.clh"

// moments: [image][block][mean, more, squares][pitch]. Units are numbered over images, blocks and strips of columns.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_columns_partial(const __global data_t *x_base, long x_offset, __global acc_t *moments_base,
                               long moments_offset, long image_x, long row_x, COLUMNS_PARAMS)
{
    ONE_ITEM();
    acc_t sums[STRIP];
    acc_t squares[STRIP], whole[STRIP], rests[STRIP];
    acc_t means[STRIP];
    COLUMNS_FOR_UNITS {
        COLUMNS_UNIT(unit);
        const __global data_t *x = x_base + x_offset + image * image_x + row * row_x + column;
        __global acc_t *out = moments_base + moments_offset + (image * blocks + block) * 3 * pitch + column;
        const vf one_of = (vf)(1.0f / (acc_t)height);

        for (int j = 0; j < width; j += VW)
            store_private((vf)(0.0f), sums + j);
        for (int r = 0; r < height; ++r)
            for (int j = 0; j < width; j += VW)
                store_private(load_private(sums + j) + load_vf_part(x + r * row_x + j, width - j), sums + j);
        for (int j = 0; j < width; j += VW) { // what these sums err by is in the differences
            store_private(load_private(sums + j) * one_of, means + j);
            store_private((vf)(0.0f), sums + j);
        }
        long_sums_begin(squares, whole, rests, width);
        for (int r = 0, stop; r < height;) {
            for (stop = min(r + LONG_SUM_RUN, height); r < stop; ++r)
                for (int j = 0; j < width; j += VW) {
                    const vf d = load_vf_part(x + r * row_x + j, width - j) - load_private(means + j);
                    store_private(load_private(sums + j) + d, sums + j);
                    store_private(MAD(d, d, load_private(squares + j)), squares + j);
                }
            if (r < height)
                long_sums_run(squares, whole, rests, width);
        }
        long_sums_end(squares, whole, rests, width);
        for (int j = 0; j < width; j += VW) {
            const vf sum = load_private(sums + j);
            const vf more = sum * one_of;
            store_sums(load_private(means + j), out + j);
            store_sums(more, out + pitch + j);
            store_sums(load_private(squares + j) - sum * more, out + 2 * pitch + j);
        }
    }
}

// Joins the blocks of one vector of columns; the result takes the place of the first block's.
inline void join_blocks(__global acc_t *moments, long pitch, long blocks, long rows, long block_rows)
{
    const vf anchor = load_sums(moments);
    vf offset = load_sums(moments + pitch);
    LONG_SUM_VF(squares);
    LONG_SUM_ADD_VF(squares, load_sums(moments + 2 * pitch));
    acc_t all = (acc_t)min(block_rows, rows);
    for (long b = 1; b < blocks; ++b) {
        const __global acc_t *block = moments + b * 3 * pitch;
        const acc_t count = (acc_t)min(block_rows, rows - b * block_rows);
        const acc_t weight = count / (all + count);
        const vf step = (load_sums(block) - anchor) + (load_sums(block + pitch) - offset);
        offset = MAD(step, (vf)(weight), offset);
        LONG_SUM_ADD_VF(squares, MAD(step * step, (vf)(all * weight), load_sums(block + 2 * pitch)));
        all += count;
    }
    store_sums(offset, moments + pitch);
    store_sums(LONG_SUM_TOTAL_VF(squares), moments + 2 * pitch);
}

// Of `group` channels of so many rows each, joined two by two, and pairs of pairs: one after the other many channels
// that are alike would round the same way again and again. Level n holds 2^n of them, or none.
inline norm_moments channels_moments(const __global acc_t *moments, long pitch, long group, acc_t rows)
{
    enum { LEVELS = 48 };
    norm_moments levels[LEVELS];
    norm_moments all = {0.0f, 0.0f, 0.0f, 0.0f};
    for (long c = 0; c < group; ++c) {
        norm_moments one = {moments[c], moments[pitch + c], moments[2 * pitch + c], rows};
        int level = 0;
        for (; c >> level & 1; ++level) {
            norm_moments before = levels[level];
            norm_join(&before, one.anchor, one.offset, one.squares, one.count);
            one = before;
        }
        levels[level] = one;
    }
    for (int level = 0; level < LEVELS; ++level) // the smaller ones first
        if (group >> level & 1)
            norm_join(&all, levels[level].anchor, levels[level].offset, levels[level].squares, levels[level].count);
    return all;
}

// applied: [image][high, low, rstd * scale, bias][pitch]. A unit is an image's columns start .. end - 1, whole groups.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_columns_finish(const __global data_t *scale_base, long scale_offset, const __global data_t *bias_base,
                              long bias_offset, __global acc_t *moments_base, long moments_offset,
                              __global acc_t *applied_base, long applied_offset, NORM_STATISTICS_PARAMS,
                              long columns, long pitch, long rows, long block_rows, long blocks, long group,
                              long unit_columns, int mode)
{
    ONE_ITEM();
    const long units = (columns + unit_columns - 1) / unit_columns;
    const long image = get_group_id(0) / units;
    const long start = (get_group_id(0) - image * units) * unit_columns;
    const long end = min(start + unit_columns, columns);
    __global acc_t *moments = moments_base + moments_offset + image * blocks * 3 * pitch;
    __global acc_t *applied = applied_base + applied_offset + image * 4 * pitch;

    if (!(mode & NORM_RUNNING))
        for (long j = start; j < end; j += VW)
            join_blocks(moments + j, pitch, blocks, rows, block_rows);
    for (long j = start; j < end; j += group) {
        const long statistic = (image * columns + j) / group;
        norm_statistics found;
        if (mode & NORM_RUNNING) {
            found = NORM_GIVEN(statistic);
        } else {
            const norm_moments all = channels_moments(moments + j, pitch, group, (acc_t)rows);
            found = norm_finish(&all, epsilon);
        }
        NORM_SAVE(statistic, found);
        for (long c = j; c < j + group; ++c) {
            applied[c] = found.high;
            applied[pitch + c] = found.low;
            applied[2 * pitch + c] =
                found.rstd * (scale_base ? load_one(scale_base + scale_offset, c) : 1.0f);
            applied[3 * pitch + c] = bias_base ? load_one(bias_base + bias_offset, c) : 0.0f;
        }
    }
    for (long c = end == columns ? columns : pitch; c < pitch; ++c) // what whole vectors read
        for (int k = 0; k < 4; ++k)
            applied[k * pitch + c] = 0.0f;
}

inline vf normal(vf x, const __global acc_t *applied, long pitch)
{
    const vf d = (x - load_sums(applied)) - load_sums(applied + pitch);
    return MAD(d, load_sums(applied + 2 * pitch), load_sums(applied + 3 * pitch));
}

// y may be x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_columns_apply(const __global data_t *x_base, long x_offset, __global data_t *y_base, long y_offset,
                             const __global acc_t *applied_base, long applied_offset, long image_x, long row_x,
                             long image_y, long row_y, COLUMNS_PARAMS, int mode)
{
    ONE_ITEM();
    COLUMNS_FOR_UNITS {
        COLUMNS_UNIT(unit);
        const __global data_t *x = x_base + x_offset + image * image_x + row * row_x + column;
        __global data_t *y = y_base + y_offset + image * image_y + row * row_y + column;
        const __global acc_t *applied = applied_base + applied_offset + image * 4 * pitch + column;
        const bool streams = NORM_STREAMS_TO(y) && row_y % VW == 0;
        for (int r = 0; r < height; ++r) {
            int j = 0;
            for (; streams && j + VW <= width; j += VW)
                STREAM_VF(normal(load_vf(x + r * row_x + j), applied + j, pitch), y + r * row_y + j);
            for (; j < width; j += VW)
                store_vf_part(normal(load_vf_part(x + r * row_x + j, width - j), applied + j, pitch),
                              y + r * row_y + j, width - j);
        }
    }
    END_STREAM();
}
