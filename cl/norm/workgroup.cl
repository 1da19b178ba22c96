// SPDX-License-Identifier: MIT
// Normalisation for GPUs, any strides: a work-group takes `lanes` neighbouring sets, WG / lanes work-items each.
//
// With lanes = 1 the work-items walk along one set, for sets that lie together in memory; with more, neighbouring
// work-items take neighbouring sets, for channels-last images. Sets are read three times: mean, moments, result.
// On CPU devices it computes what has too many strides for the others, some ten times slower than they.
//
//   -DWG=64|256   work-items a work-group
//   -DINDEX_64    some element lies 2^31 or further from its set's first
#include "lib/norm_lists.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

#define ELEMENT(what) NORM_AT(place, element, what)
#define FOR_MY_ELEMENTS \
    for (index_t e = item; e < count; e += items)

// y may be x.
// registers husk_norm_workgroup DTYPE_F64: nvidia 72, amd 72
// registers husk_norm_workgroup: nvidia 64, amd 56
__kernel WORK_GROUP
void husk_norm_workgroup(const __global data_t *x_base, long x_offset, const __global data_t *scale_base,
                         long scale_offset, const __global data_t *bias_base, long bias_offset,
                         __global data_t *y_base, long y_offset, NORM_STATISTICS_PARAMS, NORM_LIST_PARAMS(set),
                         NORM_LIST_PARAMS(element), long set_count, long element_count, int lanes, int mode)
{
    __local acc_t scratch[WG];
    const int items = WG / lanes;
    const int item = (int)get_local_id(0) / lanes;
    const norm_extents extents = NORM_EXTENTS(element);

    for (long first = (long)get_group_id(0) * lanes; first < set_count; first += (long)get_num_groups(0) * lanes) {
        const long number = first + (int)get_local_id(0) % lanes;
        const index_t count = number < set_count ? (index_t)element_count : 0; // idle ones still meet the barriers
        NORM_START(set, number < set_count ? number : 0, start);
        const __global data_t *x = x_base + x_offset + start.x;
        norm_statistics found = {0.0f, 0.0f, 0.0f, 0.0f};

        if (mode & NORM_RUNNING) {
            found = NORM_GIVEN(start.statistic);
        } else {
            norm_moments moments = {0.0f, 0.0f, 0.0f, (acc_t)element_count};
            if (mode & NORM_CENTRED) {
                LONG_SUM(all);
                NORM_RUNS(e, stop) {
                    acc_t run = 0.0f;
                    NORM_RUN(e, stop) {
                        const norm_place place = norm_find(extents, e);
                        run += load_one(x, ELEMENT(x));
                    }
                    LONG_SUM_ADD(all, run);
                }
                acc_t sum = LONG_SUM_TOTAL(all);
                NORM_REDUCE(sum, lanes, scratch);
                moments.anchor = sum / moments.count;
            }
            LONG_SUM(all_differences);
            LONG_SUM(all_squares);
            NORM_RUNS(e, stop) {
                acc_t run = 0.0f, run_squares = 0.0f;
                NORM_RUN(e, stop) {
                    const norm_place place = norm_find(extents, e);
                    const acc_t difference = load_one(x, ELEMENT(x)) - moments.anchor;
                    run += difference;
                    run_squares += difference * difference;
                }
                LONG_SUM_ADD(all_differences, run);
                LONG_SUM_ADD(all_squares, run_squares);
            }
            acc_t differences = LONG_SUM_TOTAL(all_differences);
            acc_t squares = LONG_SUM_TOTAL(all_squares);
            NORM_REDUCE(squares, lanes, scratch);
            if (mode & NORM_CENTRED) {
                NORM_REDUCE(differences, lanes, scratch);
                moments.offset = differences / moments.count;
                squares -= differences * moments.offset;
            }
            moments.squares = squares;
            found = norm_finish(&moments, epsilon);
        }
        if (item == 0 && count > 0)
            NORM_SAVE(start.statistic, found);

        FOR_MY_ELEMENTS {
            const norm_place place = norm_find(extents, e);
            const index_t parameter = ELEMENT(parameter);
            acc_t v = ((load_one(x, ELEMENT(x)) - found.high) - found.low) * found.rstd;
            if (scale_base)
                v *= load_one(scale_base + scale_offset + start.parameter, parameter);
            if (bias_base)
                v += load_one(bias_base + bias_offset + start.parameter, parameter);
            store_one(y_base + y_offset + start.y, ELEMENT(y), v);
        }
    }
}
