// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/loss/loss.h"

// The row of an element of x, and its class.
static int64_t split(const husk_ref_loss *op, const int64_t *at, int64_t *index)
{
    int32_t rank = 0;
    int64_t class = 0;
    for (int32_t d = 0; d < op->x->rank; d++) {
        if (husk_ref_loss_has_rows(op) && d == husk_ref_loss_axis(op))
            class = at[d];
        else
            index[rank++] = at[d];
    }
    return class;
}

static husk_ref_value gradient_of_row(const husk_ref_loss *op, const int64_t *index, int64_t class, double x)
{
    const husk_ref_loss_row row = husk_ref_loss_row_at(op, index);
    husk_ref_value result = {.terms = 1};
    if (!row.is_counted)
        return (husk_ref_value){0};
    const double classes = (double)op->x->shape[husk_ref_loss_axis(op)];
    double q = husk_ref_loss_wanted(op, index, class);
    if (op->params != NULL && op->params->kind == HUSK_LOSS_NEGATIVE_LOG) {
        result.value = -q;
        result.magnitude = fabs(q);
        result.bound = 4.0 * HUSK_REF_UNIT * fabs(q);
        result.terms = q != 0;
        return result;
    }
    const double p = exp(x - row.maximum) / row.sum;
    const double reach = isfinite(x - row.maximum) ? fabs(x - row.maximum) : 0.0;
    result.value = row.total * p - q;
    result.magnitude = row.absolute * p + fabs(q);
    result.bound = (16.0 + 2.0 * sqrt(classes) + reach) * HUSK_REF_UNIT * fabs(row.total) * p +
                   (8.0 + 2.0 * sqrt(classes)) * HUSK_REF_UNIT * row.absolute * p + 8.0 * HUSK_REF_UNIT * fabs(q) +
                   HUSK_REF_TINY * (4.0 + 2.0 * row.absolute);
    return result;
}

husk_ref_value husk_ref_loss_backward_at(const husk_ref_loss *op, const int64_t *at)
{
    static const int64_t nowhere[HUSK_MAX_RANK] = {0};
    int64_t index[HUSK_MAX_RANK];
    husk_ref_value result = {.terms = 1};
    const int64_t class = split(op, at, index);
    const bool is_reduced = op->params == NULL || op->params->reduction != HUSK_LOSS_NONE;
    const double dloss = husk_ref_load(op->dloss, husk_ref_offset(op->dloss, is_reduced ? nowhere : index));
    double g = dloss / op->divisor, flushed = 0;
    if (husk_ref_loss_has_rows(op)) {
        result = gradient_of_row(op, index, class, husk_ref_load(op->x, husk_ref_offset(op->x, at)));
    } else {
        const husk_ref_loss_element e = husk_ref_loss_element_at(op, at);
        result.value = e.slope;
        result.magnitude = e.slope_magnitude;
        result.bound = 16.0 * HUSK_REF_UNIT * result.magnitude + 2.0 * HUSK_REF_TINY;
        g *= e.weight;
        flushed = 1.0;
    }
    if (result.terms != 0) {
        result.bound = fabs(g) * (result.bound + (4.0 + op->divisor_error) * HUSK_REF_UNIT * result.magnitude) +
                       HUSK_REF_TINY * (2.0 + flushed + result.magnitude);
        result.value *= g;
        result.magnitude *= fabs(g);
    }
    // Of one class softmax is 1, and nothing is to be learnt.
    const bool is_certain = husk_ref_loss_has_rows(op) && op->x->shape[husk_ref_loss_axis(op)] == 1;
    if (op->dx != NULL) {
        const double before = husk_ref_load(op->dx, husk_ref_offset(op->dx, at));
        if (result.terms != 0)
            result.bound += 2.0 * HUSK_REF_UNIT * (fabs(before) + fabs(result.value)) + HUSK_REF_TINY;
        result.value += before;
        result.magnitude += fabs(before);
    }
    if (is_certain)
        result.terms = 0;
    return result;
}

static husk_ref_value loss_backward_at(const void *op, const int64_t *index)
{
    return husk_ref_loss_backward_at(op, index);
}

husk_ref_function husk_ref_loss_backward_function(const husk_ref_loss *op)
{
    husk_ref_function function = {.op = op, .at = loss_backward_at, .rank = op->x->rank, .cost = 1.0};
    memcpy(function.shape, op->x->shape, sizeof(function.shape));
    return function;
}

bool husk_ref_loss_backward_run(const husk_ref_loss *op, const husk_ref_array *dx)
{
    husk_ref_loss prepared = *op;
    if (!husk_ref_loss_prepare(&prepared))
        return false;
    husk_ref_function function = husk_ref_loss_backward_function(&prepared);
    husk_ref_function_evaluate(&function, dx);
    husk_ref_loss_release(&prepared);
    return true;
}
