// SPDX-License-Identifier: MIT
// One-hot vectors for GPUs: work-item i writes elements i, i + grid, i + 2 grid ... of y.
//
//   -DWG=64|256        work-items a work-group (256 unless the device allows fewer)
//   -DINDEX_64         some element lies 2^31 or further from its tensor's first, or there are that many
#include "lib/one_hot.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

// registers husk_one_hot_grid: nvidia 40, amd 32
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_one_hot_grid(ONE_HOT_PARAMS)
{
    WALK_2(label);
    const index_t end = (index_t)(labels * classes), grid = (index_t)get_global_size(0), width = (index_t)classes;
    for (index_t i = (index_t)get_global_id(0); i < end; i += grid) {
        const index_t n = i / width, c = i - n * width;
        index_seek(&label, n);
        const long wanted = load_index(labels_base, labels_offset + label.at[0], is_i64);
        store_one(y_base + y_offset, label.at[1] + c * y_class, wanted == c ? on : off);
    }
}
