// SPDX-License-Identifier: MIT
#include "ref/layout/resize.h"

#include <math.h>
#include <string.h>

enum { SPACE = 2 }; // the first dimension of space, behind N and C

// ---- one dimension ----

// The coordinate (j + centre) p / q - centre, as floor and what is left of it. All products are of whole numbers and
// halves, or of such with an f32 number: doubles hold them exactly.
static void locate(double j, double centre, double p, double q, double *whole, double *rest)
{
    *whole = floor((j + centre) * p / q - centre);
    double left = (j + centre) * p - (*whole + centre) * q;
    while (left < 0.0) { // the division was rounded up
        *whole -= 1.0;
        left += q;
    }
    while (left >= q) {
        *whole += 1.0;
        left -= q;
    }
    *rest = left / q;
}

static double keys(double a, double d)
{
    return d <= 1.0 ? ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0 : ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a;
}

static int64_t within(double position, int64_t n)
{
    return position < 0.0 ? 0 : position >= (double)n ? n - 1 : (int64_t)position;
}

husk_ref_resize_taps husk_ref_resize_taps_of(const husk_resize_params *params, int32_t d, int64_t n, int64_t m,
                                             int64_t j)
{
    husk_ref_resize_taps taps = {.count = 1, .weight = {1.0}};
    const double scale = params->scale[d], a = params->cubic_coefficient != 0.0f ? params->cubic_coefficient : -0.75;
    double whole = 0.0, t = 0.0;
    const bool is_corners = params->coordinates == HUSK_RESIZE_ALIGN_CORNERS;
    const bool is_first = m == 1 && (is_corners || params->coordinates == HUSK_RESIZE_PYTORCH_HALF_PIXEL);
    const double p = is_corners ? (double)(n - 1) : scale > 0.0 ? 1.0 : (double)n;
    const double q = is_corners ? (double)(m - 1) : scale > 0.0 ? scale : (double)m;
    if (!is_first)
        locate((double)j, is_corners || params->coordinates == HUSK_RESIZE_ASYMMETRIC ? 0.0 : 0.5, p, q, &whole, &t);
    if (params->mode == HUSK_RESIZE_NEAREST) {
        const bool is_up[] = {t > 0.5, t >= 0.5, false, t > 0.0};
        taps.source[0] = within(whole + is_up[params->rounding], n);
        return taps;
    }
    if (n == m && p == q) { // every coordinate is a position
        taps.source[0] = j;
        return taps;
    }
    const bool is_cubic = params->mode == HUSK_RESIZE_CUBIC;
    const double linear[] = {1.0 - t, t}, cubic[] = {keys(a, 1.0 + t), keys(a, t), keys(a, 1.0 - t), keys(a, 2.0 - t)};
    taps.count = is_cubic ? 4 : 2;
    memcpy(taps.weight, is_cubic ? cubic : linear, sizeof(double) * (size_t)taps.count);
    for (int k = 0; k < taps.count; k++)
        taps.source[k] = within(whole - is_cubic + k, n);
    return taps;
}

// ---- sums ----

// What the rounding of weights may cost, beside the sum of the absolute values that they are weights of.
static double weight_error(const husk_resize_params *params, int32_t space)
{
    if (params->mode == HUSK_RESIZE_NEAREST)
        return 0.0;
    return HUSK_REF_UNIT * space * (params->mode == HUSK_RESIZE_LINEAR ? 3.0 : 24.0);
}

typedef struct gathered {
    husk_ref_value value;
    double all; // sum of the absolute values
} gathered;

static void add_term(gathered *sum, double weight, double value)
{
    sum->value.value += weight * value;
    sum->value.magnitude += fabs(weight * value);
    sum->value.terms++;
    sum->all += fabs(value);
}

static void set_bound(gathered *sum, const husk_resize_params *params, int32_t space)
{
    if (params->mode != HUSK_RESIZE_NEAREST || sum->value.terms > 1)
        sum->value.bound =
            husk_ref_sum_bound(0.0, sum->value.terms, sum->value.magnitude) + weight_error(params, space) * sum->all;
}

static void gather(const husk_ref_resize *op, const int64_t *index, int32_t d, int64_t *at, double weight,
                   gathered *sum)
{
    const husk_ref_array *x = op->x;
    if (d == x->rank) {
        add_term(sum, weight, husk_ref_load(x, husk_ref_offset(x, at)));
        return;
    }
    const husk_ref_resize_taps taps =
        husk_ref_resize_taps_of(op->params, d - SPACE, x->shape[d], op->shape[d], index[d]);
    for (int k = 0; k < taps.count; k++) {
        at[d] = taps.source[k];
        gather(op, index, d + 1, at, weight * taps.weight[k], sum);
    }
}

husk_ref_value husk_ref_resize_at(const husk_ref_resize *op, const int64_t *index)
{
    gathered sum = {.all = 0.0};
    int64_t at[HUSK_MAX_RANK] = {index[0], index[1]};
    gather(op, index, SPACE, at, 1.0, &sum);
    set_bound(&sum, op->params, op->x->rank - SPACE);
    return sum.value;
}

static husk_ref_value resize_at(const void *op, const int64_t *index)
{
    return husk_ref_resize_at(op, index);
}

husk_ref_function husk_ref_resize_function(const husk_ref_resize *op)
{
    husk_ref_function function = {.op = op, .at = resize_at, .rank = op->x->rank, .cost = 8.0};
    memcpy(function.shape, op->shape, sizeof(int64_t) * (size_t)function.rank);
    return function;
}

void husk_ref_resize_run(const husk_ref_resize *op, const husk_ref_array *y)
{
    const husk_ref_function function = husk_ref_resize_function(op);
    husk_ref_function_evaluate(&function, y);
}

// ---- the gradient ----

static void gather_back(const husk_ref_resize_backward *op, const int64_t *index, int32_t d, int64_t *at, double weight,
                        gathered *sum)
{
    const husk_ref_array *dy = op->dy;
    if (d == dy->rank) {
        add_term(sum, weight, husk_ref_load(dy, husk_ref_offset(dy, at)));
        return;
    }
    for (at[d] = 0; at[d] < dy->shape[d]; at[d]++) {
        const husk_ref_resize_taps taps =
            husk_ref_resize_taps_of(op->params, d - SPACE, op->dx->shape[d], dy->shape[d], at[d]);
        double total = 0.0;
        bool reads = false;
        for (int k = 0; k < taps.count; k++) {
            reads = reads || taps.source[k] == index[d];
            total += taps.source[k] == index[d] ? taps.weight[k] : 0.0;
        }
        if (reads)
            gather_back(op, index, d + 1, at, weight * total, sum);
    }
}

husk_ref_value husk_ref_resize_backward_at(const husk_ref_resize_backward *op, const int64_t *index)
{
    gathered sum = {.all = 0.0};
    int64_t at[HUSK_MAX_RANK] = {index[0], index[1]};
    gather_back(op, index, SPACE, at, 1.0, &sum);
    set_bound(&sum, op->params, op->dx->rank - SPACE);
    husk_ref_value result = sum.value;
    if (op->params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.terms++;
        result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_resize_backward_at(op, index);
}

husk_ref_function husk_ref_resize_backward_function(const husk_ref_resize_backward *op)
{
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->dx->rank, .cost = 1.0};
    memcpy(function.shape, op->dx->shape, sizeof(function.shape));
    for (int32_t d = SPACE; d < function.rank; d++)
        function.cost += 8.0 * (double)op->dy->shape[d];
    return function;
}

void husk_ref_resize_backward_run(const husk_ref_resize_backward *op, const husk_ref_array *dx)
{
    const husk_ref_function function = husk_ref_resize_backward_function(op);
    husk_ref_function_evaluate(&function, dx);
}
