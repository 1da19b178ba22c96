// SPDX-License-Identifier: MIT
// Gradients of normalisation for GPUs, any strides: `lanes` neighbouring sets or parameters a work-group, WG / lanes
// work-items each.
//
//   husk_norm_backward_workgroup              dx; a set's x and dy are read twice: its two sums, dx
//   husk_norm_backward_workgroup_parameters   dscale and dbias; x and dy are read once
//
//   -DWG=64|256   work-items a work-group
//   -DINDEX_64    some element lies 2^31 or further from the first that is summed up with it
#include "lib/norm_lists.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

#define ELEMENT(what) NORM_AT(place, element, what)
#define FOR_MY_ELEMENTS \
    for (index_t e = item; e < count; e += items)

#define BACKWARD_PARAMS \
    const __global data_t *x_base, long x_offset, const __global data_t *dy_base, long dy_offset, \
    const __global acc_t *mean_base, long mean_offset, const __global acc_t *rstd_base, long rstd_offset

// dx may be x or dy. The lists' y is dy, z dx.
// registers husk_norm_backward_workgroup DTYPE_F64: nvidia 72, amd 80
// registers husk_norm_backward_workgroup: nvidia 64, amd 72
__kernel WORK_GROUP
void husk_norm_backward_workgroup(BACKWARD_PARAMS, const __global data_t *scale_base, long scale_offset,
                                  __global data_t *dx_base, long dx_offset, NORM_LIST_PARAMS(set),
                                  NORM_LIST_PARAMS(element), long set_count, long element_count, int lanes, int mode)
{
    __local acc_t scratch[WG];
    const int items = WG / lanes;
    const int item = (int)get_local_id(0) / lanes;
    const norm_extents extents = NORM_EXTENTS(element);

    for (long first = (long)get_group_id(0) * lanes; first < set_count; first += (long)get_num_groups(0) * lanes) {
        const long number = first + (int)get_local_id(0) % lanes;
        const index_t count = number < set_count ? (index_t)element_count : 0;
        NORM_START(set, number < set_count ? number : 0, start);
        const __global data_t *x = x_base + x_offset + start.x;
        const __global data_t *dy = dy_base + dy_offset + start.y;
        __global data_t *dx = dx_base + dx_offset + start.z;
        const acc_t mean = mean_base ? mean_base[mean_offset + start.statistic] : 0.0f;
        const acc_t rstd = rstd_base[rstd_offset + start.statistic];
        acc_t plain = 0.0f;
        acc_t by_xhat = 0.0f;

        if (!(mode & NORM_RUNNING)) {
            LONG_SUM(all_plain);
            LONG_SUM(all_by_xhat);
            NORM_RUNS(e, stop) {
                acc_t run = 0.0f, by_run = 0.0f;
                NORM_RUN(e, stop) {
                    const norm_place place = norm_find(extents, e);
                    acc_t g = load_one(dy, ELEMENT(y));
                    if (scale_base)
                        g *= load_one(scale_base + scale_offset + start.parameter, ELEMENT(parameter));
                    run += g;
                    by_run += g * ((load_one(x, ELEMENT(x)) - mean) * rstd);
                }
                LONG_SUM_ADD(all_plain, run);
                LONG_SUM_ADD(all_by_xhat, by_run);
            }
            plain = LONG_SUM_TOTAL(all_plain);
            by_xhat = LONG_SUM_TOTAL(all_by_xhat);
            NORM_REDUCE(by_xhat, lanes, scratch);
            NORM_REDUCE(plain, lanes, scratch);
            by_xhat /= (acc_t)element_count;
            plain = (mode & NORM_CENTRED) ? plain / (acc_t)element_count : 0.0f;
        }
        FOR_MY_ELEMENTS {
            const norm_place place = norm_find(extents, e);
            acc_t g = load_one(dy, ELEMENT(y));
            if (scale_base)
                g *= load_one(scale_base + scale_offset + start.parameter, ELEMENT(parameter));
            if (!(mode & NORM_RUNNING))
                g -= plain + ((load_one(x, ELEMENT(x)) - mean) * rstd) * by_xhat;
            acc_t v = rstd * g;
            if (mode & NORM_ADD_INPUTS)
                v += load_one(dx, ELEMENT(z));
            store_one(dx, ELEMENT(z), v);
        }
    }
}

// The first list is of the parameters here, the second of the elements that share one.
// registers husk_norm_backward_workgroup_parameters DTYPE_F64: nvidia 72, amd 72
// registers husk_norm_backward_workgroup_parameters: nvidia 64, amd 64
__kernel WORK_GROUP
void husk_norm_backward_workgroup_parameters(BACKWARD_PARAMS, __global data_t *dscale_base, long dscale_offset,
                                             __global data_t *dbias_base, long dbias_offset, NORM_LIST_PARAMS(set),
                                             NORM_LIST_PARAMS(element), long set_count, long element_count, int lanes,
                                             int mode)
{
    __local acc_t scratch[WG];
    const int items = WG / lanes;
    const int item = (int)get_local_id(0) / lanes;
    const norm_extents extents = NORM_EXTENTS(element);

    for (long first = (long)get_group_id(0) * lanes; first < set_count; first += (long)get_num_groups(0) * lanes) {
        const long number = first + (int)get_local_id(0) % lanes;
        const index_t count = number < set_count ? (index_t)element_count : 0;
        NORM_START(set, number < set_count ? number : 0, start);
        LONG_SUM(all_plain);
        LONG_SUM(all_by_xhat);
        NORM_RUNS(e, stop) {
            acc_t run = 0.0f, by_run = 0.0f;
            NORM_RUN(e, stop) {
                const norm_place place = norm_find(extents, e);
                const long statistic = start.statistic + ELEMENT(statistic);
                const acc_t mean = mean_base ? mean_base[mean_offset + statistic] : 0.0f;
                const acc_t rstd = rstd_base[rstd_offset + statistic];
                const acc_t g = load_one(dy_base + dy_offset + start.y, ELEMENT(y));
                run += g;
                by_run += g * ((load_one(x_base + x_offset + start.x, ELEMENT(x)) - mean) * rstd);
            }
            LONG_SUM_ADD(all_plain, run);
            LONG_SUM_ADD(all_by_xhat, by_run);
        }
        acc_t plain = LONG_SUM_TOTAL(all_plain);
        acc_t by_xhat = LONG_SUM_TOTAL(all_by_xhat);
        NORM_REDUCE(by_xhat, lanes, scratch);
        NORM_REDUCE(plain, lanes, scratch);
        if (item == 0 && count > 0) {
            if (dscale_base) {
                __global data_t *dscale = dscale_base + dscale_offset;
                if (mode & NORM_ADD_PARAMETERS)
                    by_xhat += load_one(dscale, start.parameter);
                store_one(dscale, start.parameter, by_xhat);
            }
            if (dbias_base) {
                __global data_t *dbias = dbias_base + dbias_offset;
                if (mode & NORM_ADD_PARAMETERS)
                    plain += load_one(dbias, start.parameter);
                store_one(dbias, start.parameter, plain);
            }
        }
    }
}
