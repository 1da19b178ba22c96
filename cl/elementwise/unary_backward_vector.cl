// SPDX-License-Identifier: MIT
// Gradients of functions of one number for CPU devices: lib/map_vector.clh. Bound by memory, the transcendental kinds
// by their polynomials in cache.
//
//   -DVW=4|8|16        floats a vector holds
//   -DUNARY_SMOOTH     the transcendental kinds; without it the others alone
#include "lib/unary_vector.clh"
#include "lib/map.clh"

// u = dy, v = x or y.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return unary_backward(kind, u, v, n0, n1);
}

#ifdef UNARY_SMOOTH
#define MAP_KINDS UNARY_KINDS
#else
#define MAP_KINDS(kind) \
    UNARY_KINDS(kind) kind(UNARY_RECIPROCAL_Y) kind(UNARY_SQRT_Y) kind(UNARY_RSQRT_Y) kind(UNARY_EXP_Y) \
    kind(UNARY_EXPM1_Y)
#endif
#define MAP_INPUTS 2
#define MAP_MODES(mode) mode(1, 1, 1) // nothing is broadcast
#include "lib/map_vector.clh"

// y may be an input.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_unary_backward_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}
