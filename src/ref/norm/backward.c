// SPDX-License-Identifier: MIT
// The gradients of normalisation, for the mean and rstd that are given.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/norm/norm.h"
#include "ref/norm/place.h"

// Sums over a set: g, g * xhat; and over what shares a parameter: dy, dy * xhat; each also of the absolute terms.
typedef struct sums {
    double plain, plain_absolute, by_xhat, by_xhat_absolute;
} sums;

typedef struct element {
    double xhat, g, dy, rstd;
    int64_t set, parameter;
} element;

static element load(const husk_ref_norm_backward *op, const husk_ref_norm_place *place, const int64_t *index)
{
    element e = {.set = husk_ref_norm_set_of(place, index), .parameter = husk_ref_norm_parameter_of(place, index)};
    const double mean = husk_ref_norm_load(op->mean, e.set, 0);
    e.rstd = husk_ref_norm_load(op->rstd, e.set, 1);
    e.dy = husk_ref_load(op->dy, husk_ref_offset(op->dy, index));
    e.xhat = (husk_ref_load(op->x, husk_ref_offset(op->x, index)) - mean) * e.rstd;
    e.g = e.dy * husk_ref_norm_load(op->scale, e.parameter, 1);
    return e;
}

static void add(sums *to, double value, double xhat)
{
    to->plain += value;
    to->plain_absolute += fabs(value);
    to->by_xhat += value * xhat;
    to->by_xhat_absolute += fabs(value * xhat);
}

// All sums of one set, or of one parameter, if number is not negative; else of all of them, one after another.
static void reduce(const husk_ref_norm_backward *op, const husk_ref_norm_place *place, int64_t set, int64_t parameter,
                   sums *of_sets, sums *of_parameters)
{
    int64_t index[HUSK_MAX_RANK] = {0};
    if (husk_ref_array_count(op->x) == 0)
        return;
    do {
        element e = load(op, place, index);
        if (of_sets != NULL && (set < 0 || set == e.set))
            add(&of_sets[set < 0 ? e.set : 0], e.g, e.xhat);
        if (of_parameters != NULL && (parameter < 0 || parameter == e.parameter))
            add(&of_parameters[parameter < 0 ? e.parameter : 0], e.dy, e.xhat);
    } while (husk_ref_index_next(op->x->rank, op->x->shape, index));
}

bool husk_ref_norm_backward_prepare(husk_ref_norm_backward *op)
{
    const husk_ref_norm_place place = husk_ref_norm_place_make(op->params, op->x);
    sums *made = calloc((size_t)(place.sets + place.parameters + 1), sizeof(*made));
    if (made == NULL)
        return false;
    reduce(op, &place, -1, -1, made, made + place.sets);
    op->sums = (double *)made;
    return true;
}

void husk_ref_norm_backward_release(husk_ref_norm_backward *op)
{
    free(op->sums);
    op->sums = NULL;
}

static husk_ref_value dx_at(const husk_ref_norm_backward *op, const husk_ref_norm_place *place, const int64_t *index)
{
    const double u = HUSK_REF_UNIT, n = (double)place->set_size, f = 16.0 + 2.0 * sqrt(n);
    const element e = load(op, place, index);
    husk_ref_value dx = {.terms = place->set_size};
    if (place->uses_running) {
        dx.value = e.rstd * e.g;
        dx.bound = 8 * u * fabs(dx.value);
    } else {
        sums sum = {0};
        if (op->sums != NULL)
            sum = ((const sums *)op->sums)[e.set];
        else
            reduce(op, place, e.set, -1, &sum, NULL);
        dx.value = e.rstd * (e.g - (place->is_centred ? sum.plain / n : 0) - e.xhat * (sum.by_xhat / n));
        dx.bound = u * fabs(e.rstd) *
                   (8 * fabs(e.g) +
                    f * ((place->is_centred ? sum.plain_absolute : 0) + fabs(e.xhat) * sum.by_xhat_absolute) / n);
    }
    dx.magnitude = fabs(e.rstd * e.g);
    return dx;
}

husk_ref_value husk_ref_norm_backward_at(const husk_ref_norm_backward *op, husk_ref_norm_gradient gradient,
                                         const int64_t *index)
{
    const husk_ref_norm_place place = husk_ref_norm_place_make(op->params, op->x);
    const double u = HUSK_REF_UNIT;
    husk_ref_value value;
    if (gradient == HUSK_REF_NORM_DX) {
        value = dx_at(op, &place, index);
    } else {
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank = husk_ref_norm_parameter_shape(op->params, op->x, shape);
        int64_t parameter = husk_ref_position_of(rank, shape, index);
        sums sum = {0};
        if (op->sums != NULL)
            sum = ((const sums *)op->sums)[place.sets + parameter];
        else
            reduce(op, &place, -1, parameter, NULL, &sum);
        const bool is_scale = gradient == HUSK_REF_NORM_DSCALE;
        value = (husk_ref_value){.value = is_scale ? sum.by_xhat : sum.plain, .terms = place.shared};
        value.magnitude = is_scale ? sum.by_xhat_absolute : sum.plain_absolute;
        value.bound = (16.0 + 2.0 * sqrt((double)place.shared)) * u * value.magnitude;
    }
    const husk_ref_array *before = op->before[gradient];
    if (before != NULL) {
        double old = husk_ref_load(before, husk_ref_offset(before, index));
        value.value += old;
        value.magnitude += fabs(old);
    }
    value.bound += 2 * u * fabs(value.value) + HUSK_REF_TINY * ((double)value.terms + 1);
    if (value.terms == 0 && before == NULL)
        value.bound = 0;
    return value;
}

static husk_ref_value norm_backward_at(const void *question, const int64_t *index)
{
    const husk_ref_norm_backward_question *own = question;
    return husk_ref_norm_backward_at(own->op, own->gradient, index);
}

husk_ref_function husk_ref_norm_backward_function(const husk_ref_norm_backward_question *question)
{
    const husk_ref_norm_backward *op = question->op;
    husk_ref_function function = {.op = question, .at = norm_backward_at, .rank = op->x->rank};
    function.cost = op->sums != NULL ? 1.0 : (double)husk_ref_array_count(op->x);
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    if (question->gradient != HUSK_REF_NORM_DX)
        function.rank = husk_ref_norm_parameter_shape(op->params, op->x, function.shape);
    return function;
}

bool husk_ref_norm_backward_run(const husk_ref_norm_backward *op, const husk_ref_array *const gradients[3])
{
    husk_ref_norm_backward prepared = *op;
    prepared.sums = NULL;
    if (!husk_ref_norm_backward_prepare(&prepared))
        return false;
    for (int i = 2; i >= 0; i--) { // dx last: it may be x or dy
        husk_ref_norm_backward_question question = {.op = &prepared, .gradient = (husk_ref_norm_gradient)i};
        husk_ref_function function = husk_ref_norm_backward_function(&question);
        if (gradients[i] != NULL)
            husk_ref_function_evaluate(&function, gradients[i]);
    }
    husk_ref_norm_backward_release(&prepared);
    return true;
}
