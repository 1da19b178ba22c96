// SPDX-License-Identifier: MIT
// The gradient of rotary position embedding, x being dy and y dx, for CPU devices: lib/rotary_vector.clh.
//
//   -DVW=4|8|16        floats a vector holds
#include "lib/rotary_vector.clh"

// y may be x.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_rotary_backward_vector(ROTARY_KERNEL_PARAMS)
{
    ONE_ITEM();
    rotary_rows(ROTARY_ARGS);
}
