// SPDX-License-Identifier: MIT
// Gradients of activations for CPU devices: lib/map_vector.clh. Bound by memory (three passes) for the piecewise
// linear kinds and those taken from y, by exp and erf in cache for the others.
//
//   -DVW=4|8|16     floats a vector holds
//   -DACT_SMOOTH    the transcendental kinds; without it the piecewise linear ones alone
#include "lib/vector.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation_gradient.clh"
#include "lib/map.clh"

// u = dy, v = x or y.
ALWAYS_INLINE vf element(int kind, vf u, vf v, vf w, MAP_PARAMS)
{
    return activate_backward(u, v, kind, n0, n1, n2);
}

#ifdef ACT_SMOOTH
#define MAP_KINDS(kind) \
    kind(ACT_NONE) kind(ACT_GELU) kind(ACT_GELU_TANH) kind(ACT_SILU) kind(ACT_SIGMOID) kind(ACT_TANH) \
    kind(ACT_SIGMOID_Y) kind(ACT_TANH_Y)
#else
#define MAP_KINDS(kind) kind(ACT_NONE)
#endif
#define MAP_INPUTS 2
#define MAP_MODES(mode) mode(1, 1, 1) // nothing is broadcast
#include "lib/map_vector.clh"

// y may be u.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_activation_backward_vector(MAP_KERNEL_PARAMS)
{
    ONE_ITEM();
    WALK_4(rows);
    const long first = get_group_id(0) * share;
    map_share(u_base + u_offset, v_base + v_offset, w_base + w_offset, y_base + y_offset, &rows, outer, first,
              min(first + share, total), flags, kind, MAP_ARGS);
}
