// SPDX-License-Identifier: MIT
// Gradients of one of two tensors element by element, for CPU devices: lib/map_vector.clh for an input that was not
// broadcast, lib/sum_vector.clh for one that was. Bound by reading dy and the condition.
//
//   -DVW=4|8|16          floats a vector holds
//   -DCONDITION_BYTES    the condition is u8; without it it is what the others are
#include "lib/vector.clh"
#ifdef CONDITION_BYTES
#define MAP_V_BYTES
#endif
#include "lib/map.clh"

// u = dy, v = the condition: 0 gives the gradient of what is taken where it is not 0, 1 of the other.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return kind == 0 ? (v != (vf)(0.0f) ? u : (vf)(0.0f)) : (v != (vf)(0.0f) ? (vf)(0.0f) : u);
}

#define MAP_KINDS(kind) kind(0) kind(1)
#define MAP_INPUTS 2
#define MAP_MODES(mode) mode(1, 1, 1) mode(1, 0, 1) // the others are rare enough for blocks
#include "lib/sum_vector.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_where_backward_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}

SUM_VECTOR_KERNELS(husk_where_backward_vector)
