// SPDX-License-Identifier: MIT
#include "ref/norm/norm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/norm/place.h"

int32_t husk_ref_norm_statistic_shape(const husk_norm_params *params, const husk_ref_array *x, int64_t *shape)
{
    husk_ref_norm_place place = husk_ref_norm_place_make(params, x);
    if (place.is_trailing) {
        memcpy(shape, x->shape, (size_t)place.first * sizeof(*shape));
        return place.first;
    }
    shape[0] = place.is_batch ? x->shape[1] : x->shape[0];
    shape[1] = place.groups;
    return place.is_batch ? 1 : 2;
}

int32_t husk_ref_norm_parameter_shape(const husk_norm_params *params, const husk_ref_array *x, int64_t *shape)
{
    husk_ref_norm_place place = husk_ref_norm_place_make(params, x);
    if (place.is_trailing) {
        memcpy(shape, x->shape + place.first, (size_t)(x->rank - place.first) * sizeof(*shape));
        return x->rank - place.first;
    }
    shape[0] = x->shape[1];
    return 1;
}

// The statistics of sets first .. first + count - 1: the mean of each, and what is left when it is taken away.
static void reduce(const husk_ref_norm *op, const husk_ref_norm_place *place, int64_t first, int64_t count,
                   husk_ref_norm_set *sets)
{
    const husk_ref_array *x = op->x;
    const double n = (double)place->set_size;
    memset(sets, 0, (size_t)count * sizeof(*sets));
    for (int pass = 0; pass < 3 && husk_ref_array_count(x) > 0; pass++) {
        if (pass == 1 && (x->dtype != HUSK_F64 || !place->is_centred))
            continue;
        int64_t index[HUSK_MAX_RANK] = {0};
        do {
            int64_t which = husk_ref_norm_set_of(place, index) - first;
            if (which < 0 || which >= count)
                continue;
            husk_ref_norm_set *set = &sets[which];
            double value = husk_ref_load(x, husk_ref_offset(x, index));
            if (pass == 0) {
                set->magnitude += fabs(value) / n;
                if (place->is_centred)
                    set->mean += value / n;
            } else if (pass == 1) {
                set->low += (value - set->mean) / n;
            } else {
                const double far = value - set->mean - set->low;
                set->deviation += fabs(far) / n;
                set->variance += far * far / n;
            }
        } while (husk_ref_index_next(x->rank, x->shape, index));
    }
    for (int64_t i = 0; i < count; i++) {
        if (place->uses_running) {
            sets[i].low = 0;
            sets[i].mean = husk_ref_norm_load(op->running_mean, first + i, 0);
            sets[i].variance = husk_ref_norm_load(op->running_variance, first + i, 0);
        } else if (place->is_centred && !isfinite(sets[i].mean)) {
            sets[i].mean = sets[i].variance = NAN;
        }
        sets[i].rstd = 1 / sqrt(sets[i].variance + place->epsilon);
    }
}

bool husk_ref_norm_prepare(husk_ref_norm *op)
{
    husk_ref_norm_place place = husk_ref_norm_place_make(op->params, op->x);
    husk_ref_norm_set *sets = malloc((size_t)(place.sets + 1) * sizeof(*sets));
    if (sets == NULL)
        return false;
    reduce(op, &place, 0, place.sets, sets);
    op->sets = sets;
    return true;
}

void husk_ref_norm_release(husk_ref_norm *op)
{
    free(op->sets);
    op->sets = NULL;
}

static husk_ref_value y_at(const husk_ref_norm *op, const husk_ref_norm_place *place, const husk_ref_norm_set *set,
                           const int64_t *index)
{
    const int64_t parameter = husk_ref_norm_parameter_of(place, index);
    const double u = HUSK_REF_UNIT, f = place->uses_running ? 16.0 : 16.0 + 2.0 * sqrt((double)place->set_size);
    double x = husk_ref_load(op->x, husk_ref_offset(op->x, index));
    double scale = husk_ref_norm_load(op->scale, parameter, 1), bias = husk_ref_norm_load(op->bias, parameter, 0);
    double normal = (x - set->mean - set->low) * set->rstd, part = fabs(normal);
    if (place->is_centred && !place->uses_running)
        part += 1.0 + f * u * set->magnitude * set->rstd;
    husk_ref_value y = {.value = normal * scale + bias, .magnitude = fabs(normal * scale) + fabs(bias)};
    y.terms = place->set_size;
    y.bound = f * u * fabs(scale) * part + 4 * u * (fabs(bias) + fabs(y.value)) +
              HUSK_REF_TINY * (1 + fabs(scale * set->rstd));
    return y;
}

husk_ref_value husk_ref_norm_at(const husk_ref_norm *op, husk_ref_norm_output output, const int64_t *index)
{
    const husk_ref_norm_place place = husk_ref_norm_place_make(op->params, op->x);
    int64_t number;
    if (output == HUSK_REF_NORM_Y) {
        number = husk_ref_norm_set_of(&place, index);
    } else {
        int64_t shape[HUSK_MAX_RANK];
        int32_t rank = husk_ref_norm_statistic_shape(op->params, op->x, shape);
        number = husk_ref_position_of(rank, shape, index);
    }
    husk_ref_norm_set set;
    if (op->sets != NULL)
        set = op->sets[number];
    else
        reduce(op, &place, number, 1, &set);
    if (output == HUSK_REF_NORM_Y)
        return y_at(op, &place, &set, index);

    const double u = HUSK_REF_UNIT, n = (double)place.set_size, m = place.momentum;
    const double f = place.uses_running ? 16.0 : 16.0 + 2.0 * sqrt(n);
    const double far = place.uses_running ? 0 : f * u * set.magnitude; // x does not enter running statistics
    const double mean_bound = place.uses_running ? 0 : f * u * set.deviation + 2 * u * fabs(set.mean);
    const double variance_bound = f * u * 2 * (set.variance + far * far);
    husk_ref_value value = {.terms = place.set_size};
    double before;
    switch (output) {
    case HUSK_REF_NORM_MEAN:
        value.value = set.mean + set.low;
        value.magnitude = set.magnitude;
        value.bound = mean_bound + f * u * far + HUSK_REF_TINY;
        break;
    case HUSK_REF_NORM_RSTD:
        value.value = set.rstd;
        value.magnitude = set.rstd;
        value.bound = f * u * set.rstd * (1 + far * far * set.rstd * set.rstd);
        break;
    case HUSK_REF_NORM_RUNNING_MEAN:
        before = husk_ref_norm_load(op->running_mean, number, 0);
        value.value = place.uses_running ? before : (1 - m) * before + m * (set.mean + set.low);
        value.magnitude = fabs(before) + fabs(set.mean);
        value.bound = place.uses_running ? 0 : m * (mean_bound + f * u * far) + 4 * u * value.magnitude;
        break;
    default:
        before = husk_ref_norm_load(op->running_variance, number, 0);
        value.value = place.uses_running ? before : (1 - m) * before + m * set.variance * (n / (n - 1));
        value.magnitude = fabs(before) + fabs(set.variance);
        value.bound = place.uses_running ? 0 : m * variance_bound * (n / (n - 1)) + 6 * u * 2 * value.magnitude;
        break;
    }
    if (isinf(value.value))
        value.bound = 0;
    return value;
}

static husk_ref_value norm_at(const void *question, const int64_t *index)
{
    const husk_ref_norm_question *own = question;
    return husk_ref_norm_at(own->op, own->output, index);
}

husk_ref_function husk_ref_norm_function(const husk_ref_norm_question *question)
{
    const husk_ref_norm *op = question->op;
    husk_ref_function function = {.op = question, .at = norm_at, .rank = op->x->rank};
    function.cost = op->sets != NULL ? 1.0 : (double)husk_ref_array_count(op->x);
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    if (question->output != HUSK_REF_NORM_Y)
        function.rank = husk_ref_norm_statistic_shape(op->params, op->x, function.shape);
    return function;
}

bool husk_ref_norm_run(const husk_ref_norm *op, const husk_ref_array *const outputs[5])
{
    husk_ref_norm prepared = *op;
    if (!husk_ref_norm_prepare(&prepared))
        return false;
    for (int i = 4; i >= 0; i--) { // y last: it may be x
        husk_ref_norm_question question = {.op = &prepared, .output = (husk_ref_norm_output)i};
        husk_ref_function function = husk_ref_norm_function(&question);
        if (outputs[i] != NULL)
            husk_ref_function_evaluate(&function, outputs[i]);
    }
    husk_ref_norm_release(&prepared);
    return true;
}
