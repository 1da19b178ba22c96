// SPDX-License-Identifier: MIT
// Gradients of group, instance and batch normalisation of channels-last images for CPU devices: one work-item per
// work-group, vectors of neighbouring channels.
//
//   husk_norm_backward_columns_partial   the sums of dy and dy * (x - mean) of every channel in a block of rows
//   husk_norm_backward_columns_finish    adds blocks in order, and the channels of a group: what dx is made with, and
//                                        an image's part of dscale and dbias
//   husk_norm_backward_columns_apply     dx
//   husk_norm_backward_parameters        dscale and dbias, added up over images
//
// Blocks depend on the shape alone: the result does not depend on the number of work-groups.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/norm.clh"
#include "lib/norm_parameters.clh"

// sums: [image][block][plain, by_x][pitch].
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_backward_columns_partial(const __global data_t *x_base, long x_offset, const __global data_t *dy_base,
                                        long dy_offset, const __global acc_t *mean_base, long mean_offset,
                                        __global acc_t *sums_base, long sums_offset, long image_x, long row_x,
                                        long image_dy, long row_dy, long group, COLUMNS_PARAMS)
{
    ONE_ITEM();
    acc_t plain[STRIP], whole_plain[STRIP], rests_plain[STRIP];
    acc_t by_x[STRIP], whole_by_x[STRIP], rests_by_x[STRIP];
    acc_t means[STRIP];
    COLUMNS_FOR_UNITS {
        COLUMNS_UNIT(unit);
        const __global data_t *x = x_base + x_offset + image * image_x + row * row_x + column;
        const __global data_t *dy = dy_base + dy_offset + image * image_dy + row * row_dy + column;
        __global acc_t *out = sums_base + sums_offset + (image * blocks + block) * 2 * pitch + column;
        long_sums_begin(plain, whole_plain, rests_plain, width);
        long_sums_begin(by_x, whole_by_x, rests_by_x, width);
        for (int j = 0; j < width; j += VW)
            store_private((vf)(0.0f), means + j);
        for (int j = 0; j < width; ++j)
            means[j] = mean_base[mean_offset + (image * columns + column + j) / group];
        for (int r = 0, stop; r < height;) {
            for (stop = min(r + LONG_SUM_RUN, height); r < stop; ++r)
                for (int j = 0; j < width; j += VW) {
                    const vf d = load_vf_part(dy + r * row_dy + j, width - j);
                    const vf v = load_vf_part(x + r * row_x + j, width - j) - load_private(means + j);
                    store_private(load_private(plain + j) + d, plain + j);
                    store_private(MAD(d, v, load_private(by_x + j)), by_x + j);
                }
            if (r < height) {
                long_sums_run(plain, whole_plain, rests_plain, width);
                long_sums_run(by_x, whole_by_x, rests_by_x, width);
            }
        }
        long_sums_end(plain, whole_plain, rests_plain, width);
        long_sums_end(by_x, whole_by_x, rests_by_x, width);
        for (int j = 0; j < width; j += VW) {
            store_sums(load_private(plain + j), out + j);
            store_sums(load_private(by_x + j), out + pitch + j);
        }
    }
}

// applied: [image][mean, by_dy, by_x, constant][pitch]; parts: [image][dscale, dbias][pitch]. A unit is an image's
// columns start .. end - 1, whole groups.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_backward_columns_finish(const __global data_t *scale_base, long scale_offset,
                                       const __global acc_t *mean_base, long mean_offset,
                                       const __global acc_t *rstd_base, long rstd_offset, __global acc_t *sums_base,
                                       long sums_offset, __global acc_t *applied_base, long applied_offset,
                                       __global acc_t *parts_base, long parts_offset, long columns, long pitch,
                                       long blocks, long rows, long group, long unit_columns, int mode)
{
    ONE_ITEM();
    const long units = (columns + unit_columns - 1) / unit_columns;
    const long image = get_group_id(0) / units;
    const long start = (get_group_id(0) - image * units) * unit_columns;
    const long end = min(start + unit_columns, columns);
    __global acc_t *sums = sums_base + sums_offset + image * blocks * 2 * pitch;
    __global acc_t *applied = applied_base + applied_offset + image * 4 * pitch;
    __global acc_t *parts = parts_base + parts_offset + image * 2 * pitch;
    const acc_t count = (acc_t)rows * (acc_t)group;

    for (long j = start; j < end; j += VW) {
        LONG_SUM_VF(plain);
        LONG_SUM_VF(by_x);
        for (long b = 0; b < blocks; ++b) {
            LONG_SUM_ADD_VF(plain, load_sums(sums + 2 * b * pitch + j));
            LONG_SUM_ADD_VF(by_x, load_sums(sums + (2 * b + 1) * pitch + j));
        }
        store_sums(LONG_SUM_TOTAL_VF(plain), sums + j);
        store_sums(LONG_SUM_TOTAL_VF(by_x), sums + pitch + j);
    }
    for (long j = start; j < end; j += group) {
        const long statistic = (image * columns + j) / group;
        const acc_t mean = mean_base[mean_offset + statistic];
        const acc_t rstd = rstd_base[rstd_offset + statistic];
        LONG_SUM(plain);
        LONG_SUM(by_x);
        for (long c = j; c < j + group; ++c) {
            const acc_t scale = scale_base ? load_one(scale_base + scale_offset, c) : 1.0f;
            LONG_SUM_ADD(plain, sums[c] * scale);
            LONG_SUM_ADD(by_x, sums[pitch + c] * scale);
            parts[c] = sums[pitch + c] * rstd;
            parts[pitch + c] = sums[c];
        }
        const acc_t plain_total = LONG_SUM_TOTAL(plain), by_x_total = LONG_SUM_TOTAL(by_x);
        for (long c = j; c < j + group; ++c) {
            applied[c] = mean;
            applied[pitch + c] = rstd * (scale_base ? load_one(scale_base + scale_offset, c) : 1.0f);
            applied[2 * pitch + c] = -rstd * (rstd * rstd * (by_x_total / count));
            applied[3 * pitch + c] = -rstd * (plain_total / count);
        }
    }
    for (long c = end == columns ? columns : pitch; c < pitch; ++c) { // what whole vectors read
        for (int k = 0; k < 4; ++k)
            applied[k * pitch + c] = 0.0f;
        parts[c] = 0.0f;
        parts[pitch + c] = 0.0f;
    }
}

// dx may be x or dy.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_norm_backward_columns_apply(const __global data_t *x_base, long x_offset, const __global data_t *dy_base,
                                      long dy_offset, __global data_t *dx_base, long dx_offset,
                                      const __global acc_t *applied_base, long applied_offset, long image_x,
                                      long row_x, long image_dy, long row_dy, long image_dx, long row_dx,
                                      COLUMNS_PARAMS, int mode)
{
    ONE_ITEM();
    COLUMNS_FOR_UNITS {
        COLUMNS_UNIT(unit);
        const __global data_t *x = x_base + x_offset + image * image_x + row * row_x + column;
        const __global data_t *dy = dy_base + dy_offset + image * image_dy + row * row_dy + column;
        __global data_t *dx = dx_base + dx_offset + image * image_dx + row * row_dx + column;
        const __global acc_t *applied = applied_base + applied_offset + image * 4 * pitch + column;
        const bool streams = NORM_STREAMS_TO(dx) && row_dx % VW == 0;
        for (int r = 0; r < height; ++r)
            for (int j = 0; j < width; j += VW) {
                const int lanes = width - j;
                vf v = load_vf_part(dy + r * row_dy + j, lanes) * load_sums(applied + pitch + j);
                if (!(mode & NORM_RUNNING)) {
                    const vf d = load_vf_part(x + r * row_x + j, lanes) - load_sums(applied + j);
                    v += MAD(load_sums(applied + 2 * pitch + j), d, load_sums(applied + 3 * pitch + j));
                }
                if (mode & NORM_ADD_INPUTS)
                    v += load_vf_part(dx + r * row_dx + j, lanes);
                if (streams && lanes >= VW)
                    STREAM_VF(v, dx + r * row_dx + j);
                else
                    store_vf_part(v, dx + r * row_dx + j, lanes);
            }
    }
    END_STREAM();
}
