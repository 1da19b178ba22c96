// SPDX-License-Identifier: MIT
// Dropout for CPU devices: lib/dropout_vector.clh.
//
//   -DVW=4|8|16        floats a vector holds
#include "lib/dropout_vector.clh"

// y may be x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_dropout_vector(DROPOUT_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    dropout_share(x_base + x_offset, y_base + y_offset, &rows, outer, first, min(first + share, total), flags,
                  DROPOUT_ARGS);
}
