// SPDX-License-Identifier: MIT
// Gradients of two tensors element by element, for CPU devices: lib/map_vector.clh for an input that was not broadcast,
// lib/sum_vector.clh for one that was. Bound by reading dy and what the kind needs of a and b.
//
//   -DVW=4|8|16      floats a vector holds
//   -DBINARY_POWER   POWER alone; without it the others
#include "lib/vector_math.clh"
#define BINARY_T vf
#define BINARY_POW pow_vf
#include "lib/binary_gradient.clh"
#include "lib/map.clh"

// u = dy; v and w are the kind's.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return binary_gradient(kind, u, v, w, n0);
}

#define MAP_KINDS GRADIENT_KINDS
#define MAP_INPUTS 3
#define MAP_MODES(mode) mode(1, 1, 1) mode(1, 0, 1) // the others are rare enough for blocks
#include "lib/sum_vector.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_binary_backward_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}

SUM_VECTOR_KERNELS(husk_binary_backward_vector)
