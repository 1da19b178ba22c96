// SPDX-License-Identifier: MIT
// Activations for CPU devices: lib/map_vector.clh. Bound by memory for the piecewise linear kinds, by the polynomials
// (10 to 25 operations a vector) in cache for the others.
//
//   -DVW=4|8|16     floats a vector holds
//   -DACT_SMOOTH    the transcendental kinds; without it the piecewise linear ones alone
#include "lib/vector.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/map.clh"

// u = x; the numbers are the bounds and the slope of the piecewise linear kinds.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return activate(u, kind, n0, n1, n2);
}

#ifdef ACT_SMOOTH
#define MAP_KINDS(kind) \
    kind(ACT_NONE) kind(ACT_GELU) kind(ACT_GELU_TANH) kind(ACT_SILU) kind(ACT_SIGMOID) kind(ACT_TANH)
#else
#define MAP_KINDS(kind) kind(ACT_NONE)
#endif
#define MAP_INPUTS 1
#define MAP_MODES(mode) mode(1, 1, 1) // nothing is broadcast
#include "lib/map_vector.clh"

// y may be u.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_activation_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}
