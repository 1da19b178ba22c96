// SPDX-License-Identifier: MIT
// Two tensors element by element, with broadcasting, for CPU devices: lib/map_vector.clh. Bound by memory: three
// passes, two where one input is broadcast.
//
//   -DVW=4|8|16      floats a vector holds
//   -DBINARY_POWER   POWER alone; without it the others
#include "lib/vector_math.clh"
#define BINARY_T vf
#define BINARY_POW pow_vf
#include "lib/binary.clh"
#include "lib/map.clh"

// u = a, v = b.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return binary(kind, u, v, MAP_ARGS);
}

#define MAP_KINDS BINARY_KINDS
#define MAP_INPUTS 2
#include "lib/map_vector.clh"

// y may be an input.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_binary_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}
