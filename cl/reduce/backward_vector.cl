// SPDX-License-Identifier: MIT
// The gradient of reductions for CPU devices: one work-item per work-group, explicit vectors.
//
// Every element of dx comes from x's and from two numbers of its result. The tensors are walked along dx's fastest
// dimension: where that is reduced, the two numbers stay the same for a whole row; where it is kept, they are loaded
// like x. What maxima and products need to know first (how many elements are equal, how many zero) a reduction has put
// into pairs.
//
// Bound by memory: x is read and dx written once.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/inline.clh"
#include "lib/vector.clh"
#include "lib/vector_math.clh"
#include "lib/walk.clh"
#define GRADIENT_T   vf
#define GRADIENT_EXP exp_vf
#include "lib/reduction_gradient.clh"

typedef struct {
    const __global data_t *x, *dy, *y;
    const __global acc_t *pairs;
    __global data_t *dx;
    long dx_stride, x_stride, dy_stride, other_stride; // of a row
    acc_t scale;
    int form, accumulates;
} gradient;

ALWAYS_INLINE vf gather_vf(const __global data_t *p, long stride, int n)
{
    if (stride == 1)
        return load_vf_part(p, n);
    acc_t lanes[VW];
    for (int i = 0; i < VW; ++i)
        lanes[i] = i < n ? load_one(p, i * stride) : 0.0f;
    return load_private(lanes);
}

ALWAYS_INLINE vf gather_pairs(const __global acc_t *p, long stride, int n)
{
    acc_t lanes[VW];
    for (int i = 0; i < VW; ++i)
        lanes[i] = i < n ? p[i * stride] : 1.0f;
    return load_private(lanes);
}

// What lies in y or the pairs at a row's element `at`.
ALWAYS_INLINE void load_others(const gradient *own, long other, long at, int n, vf *first, vf *second)
{
    *first = *second = (vf)(1.0f);
    if (own->form == FORM_NORM || own->form == FORM_EXP)
        *first = gather_vf(own->y + other + at * own->other_stride, own->other_stride, n);
    if (own->form == FORM_EXTREME || own->form == FORM_PRODUCT) {
        *first = gather_pairs(own->pairs + other + at * own->other_stride, own->other_stride, n);
        *second = gather_pairs(own->pairs + other + at * own->other_stride + 1, own->other_stride, n);
    }
}

ALWAYS_INLINE void store_gradient(const gradient *own, vf g, __global data_t *dx, int n)
{
    if (own->dx_stride == 1) {
        store_vf_part(own->accumulates ? load_vf_part(dx, n) + g : g, dx, n);
        return;
    }
    acc_t lanes[VW];
    store_private(g, lanes);
    for (int i = 0; i < VW && i < n; ++i)
        store_one(dx, i * own->dx_stride, own->accumulates ? load_one(dx, i * own->dx_stride) + lanes[i] : lanes[i]);
}

// Elements first .. last-1 of a row. form is a literal in every call.
ALWAYS_INLINE void gradient_row(int form, const gradient *own, const walk *at, long first, long last)
{
    const __global data_t *x = form == FORM_BROADCAST ? own->dy : own->x + at->at[1];
    __global data_t *dx = own->dx + at->at[0];
    const bool is_one = own->dy_stride == 0 && own->other_stride == 0;
    vf a = (vf)(0.0f), b = a, one, two;
    if (is_one) {
        load_others(own, at->at[3], 0, VW, &one, &two);
        const vf dy = (vf)(load_one(own->dy, at->at[2]));
        a = gradient_a(form, dy, one, two, own->scale);
        b = gradient_b(form, dy, one, two);
    }
    if (is_one && own->dx_stride == 1 && (form == FORM_BROADCAST || own->x_stride == 1) && !own->accumulates) {
        for (; first + 4 * VW <= last; first += 4 * VW) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const vf v = form == FORM_BROADCAST ? a : load_vf(x + first + k * VW);
                store_vf(gradient_of(form, v, a, b), dx + first + k * VW);
            }
        }
    }
    for (; first < last; first += VW) {
        const int n = (int)min((long)VW, last - first);
        if (!is_one) {
            load_others(own, at->at[3], first, n, &one, &two);
            const vf dy = gather_vf(own->dy + at->at[2] + first * own->dy_stride, own->dy_stride, n);
            a = gradient_a(form, dy, one, two, own->scale);
            b = gradient_b(form, dy, one, two);
        }
        const vf v = form == FORM_BROADCAST ? a : gather_vf(x + first * own->x_stride, own->x_stride, n);
        store_gradient(own, gradient_of(form, v, a, b), dx + first * own->dx_stride, n);
    }
}

#define ROW(form_) \
    case form_: \
        gradient_row(form_, &own, &at, column, column + length); \
        break

// dx may be x. at: dx, x, dy, and y or the pairs, over the dimensions above the row. share: elements a work-group
// takes.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_reduce_backward_vector(const __global data_t *x_base, long x_offset, const __global data_t *y_base,
                                 long y_offset, const __global acc_t *pairs_base, long pairs_offset,
                                 const __global data_t *dy_base, long dy_offset, __global data_t *dx_base,
                                 long dx_offset, WALK_PARAMS_4(at), long count, long dx_stride, long x_stride,
                                 long dy_stride, long other_stride, long total, long share, int form, acc_t scale,
                                 int accumulates)
{
    ONE_ITEM();
    const gradient own = {x_base + x_offset, dy_base + dy_offset, y_base + y_offset, pairs_base + pairs_offset,
                          dx_base + dx_offset, dx_stride, x_stride, dy_stride, other_stride, scale, form, accumulates};
    long first = get_group_id(0) * share;
    const long last = min(first + share, total);
    long column = first % count;
    WALK_4(at);
    walk_seek(&at, first / count);
    while (first < last) {
        const long length = min(count - column, last - first);
        switch (form) {
            ROW(FORM_BROADCAST);
            ROW(FORM_SIGN);
            ROW(FORM_NORM);
            ROW(FORM_EXP);
            ROW(FORM_EXTREME);
            ROW(FORM_PRODUCT);
        default:
            break;
        }
        first += length;
        column = 0;
        walk_next(&at);
    }
}
