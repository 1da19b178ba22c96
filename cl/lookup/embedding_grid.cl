// SPDX-License-Identifier: MIT
// Rows of a table for GPUs: work-item i takes elements i, i + grid, i + 2 grid ... of y.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/embedding.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_embedding_grid: nvidia 40, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_embedding_grid(EMBEDDING_PARAMS)
{
    WALK_2(lookup);
    const index_t end = (index_t)(lookups * columns), grid = (index_t)get_global_size(0), width = (index_t)columns;
    for (index_t i = (index_t)get_global_id(0); i < end; i += grid) {
        const index_t n = i / width, c = i - n * width;
        index_seek(&lookup, n);
        const long row = load_index(indices_base, indices_offset + lookup.at[0], is_i64);
        acc_t value = NAN;
        if (row >= 0 && row < rows)
            value = load_one(table_base + table_offset, row * table_row + c * table_column);
        store_one(y_base + y_offset, lookup.at[1] + c * y_column, value);
    }
}
