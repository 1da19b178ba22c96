// SPDX-License-Identifier: MIT
// One of two tensors element by element, with broadcasting, for CPU devices: lib/map_vector.clh. Bound by memory: four
// passes, fewer where an input is broadcast.
//
//   -DVW=4|8|16          floats a vector holds
//   -DCONDITION_BYTES    the condition is u8; without it it is what the others are
#include "lib/vector.clh"
#ifdef CONDITION_BYTES
#define MAP_U_BYTES
#endif
#include "lib/map.clh"

// u = the condition, v = a, w = b.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return u != (vf)(0.0f) ? v : w;
}

#define MAP_KINDS(kind) kind(0)
#define MAP_INPUTS 3
#include "lib/map_vector.clh"

// y may be an input.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_where_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}
