// SPDX-License-Identifier: MIT
// The gradient of a table of embeddings for GPUs: as cl/lookup/embedding_backward_vector.cl, in the same order. In
// the sort a work-item owns rows, and all of them read the same index at a time; in the sums a work-group owns rows,
// its items columns.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
#include "lib/embedding.clh"
#include "lib/long_sum.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_embedding_backward_grid_sort: nvidia 72, amd 16
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_embedding_backward_grid_sort(EMBEDDING_SORT_PARAMS)
{
    WALK_2(lookup);
    const long first = get_global_id(0) * owned;
    if (first < rows)
        embedding_sort(ends_base + ends_offset, order_base + order_offset, indices_base, indices_offset, is_i64,
                       lookups, &lookup, skipped, first, min(first + owned, rows));
}

// registers husk_embedding_backward_grid_sum: nvidia 56, amd 24
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_embedding_backward_grid_sum(EMBEDDING_SUM_PARAMS)
{
    const __global long *ends = ends_base + ends_offset, *order = order_base + order_offset;
    const __global data_t *dy = dy_base + dy_offset;
    const long parts = get_num_groups(0), part = get_group_id(0);
    const long last = embedding_part(ends, rows, part + 1, parts);
    for (long row = embedding_part(ends, rows, part, parts); row < last; ++row) {
        const long begin = embedding_begin(ends, row), end = ends[row];
        __global data_t *to = dtable_base + dtable_offset + row * dtable_row;
        if (begin == end && flags & EMBEDDING_ADDS)
            continue;
        for (long c = get_local_id(0); c < columns; c += WG) {
            LONG_SUM(all);
            for (long k = begin, stop; k < end;) {
                acc_t run = 0.0f;
                for (stop = min(k + LONG_SUM_RUN, end); k < stop; ++k)
                    run += load_one(dy, order[k] + c * dy_column);
                LONG_SUM_ADD(all, run);
            }
            acc_t sum = LONG_SUM_TOTAL(all);
            if (flags & EMBEDDING_MEANS)
                sum /= (acc_t)max(end - begin, 1L);
            if (flags & EMBEDDING_ADDS)
                sum += load_one(to, c * dtable_column);
            store_one(to, c * dtable_column, sum);
        }
    }
}
