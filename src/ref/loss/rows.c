// SPDX-License-Identifier: MIT
#include "ref/loss/rows.h"

#include <math.h>

husk_loss_kind husk_ref_loss_kind(const husk_ref_loss *op)
{
    return op->params != NULL ? op->params->kind : HUSK_LOSS_CROSS_ENTROPY;
}

bool husk_ref_loss_has_rows(const husk_ref_loss *op)
{
    return husk_ref_loss_kind(op) <= HUSK_LOSS_NEGATIVE_LOG;
}

bool husk_ref_loss_has_labels(const husk_ref_loss *op)
{
    return husk_ref_loss_has_rows(op) && (op->target->dtype == HUSK_I32 || op->target->dtype == HUSK_I64);
}

int32_t husk_ref_loss_axis(const husk_ref_loss *op)
{
    return op->x->rank > 1 ? 1 : 0;
}

int32_t husk_ref_loss_shape(const husk_ref_loss *op, int64_t *shape)
{
    int32_t rank = 0;
    for (int32_t d = 0; d < op->x->rank; d++)
        if (!husk_ref_loss_has_rows(op) || d != husk_ref_loss_axis(op))
            shape[rank++] = op->x->shape[d];
    return rank;
}

void husk_ref_loss_locate(const husk_ref_loss *op, const int64_t *index, int64_t class, int64_t *at)
{
    int32_t from = 0;
    for (int32_t d = 0; d < op->x->rank; d++)
        at[d] = husk_ref_loss_has_rows(op) && d == husk_ref_loss_axis(op) ? class : index[from++];
}

static double load(const husk_ref_array *array, const int64_t *at)
{
    return husk_ref_load(array, husk_ref_offset(array, at));
}

// Broadcast from the last dimension on.
static double load_broadcast(const husk_ref_array *array, int32_t rank, const int64_t *at)
{
    int64_t own[HUSK_MAX_RANK];
    if (array == NULL)
        return 1.0;
    for (int32_t d = 0; d < array->rank; d++)
        own[d] = array->shape[d] == 1 ? 0 : at[rank - array->rank + d];
    return load(array, own);
}

// ---- elements ----

husk_ref_loss_element husk_ref_loss_element_at(const husk_ref_loss *op, const int64_t *at)
{
    const double x = load(op->x, at), t = load(op->target, at), d = x - t, size = fabs(d);
    const double beta = op->params->beta;
    husk_ref_loss_element e = {.weight = 1.0};
    switch (husk_ref_loss_kind(op)) {
    case HUSK_LOSS_ABSOLUTE:
        e.value = e.magnitude = size;
        e.slope = (d > 0) - (d < 0);
        if (isnan(d))
            e.slope = d;
        break;
    case HUSK_LOSS_SMOOTH_ABSOLUTE:
        e.value = size < beta ? d * d / (2 * beta) : size - beta / 2;
        e.slope = size < beta ? d / beta : (d > 0) - (d < 0); // of beta 0 as ABSOLUTE
        e.magnitude = size < beta ? e.value : size + beta / 2;
        if (isnan(d))
            e.slope = d;
        break;
    case HUSK_LOSS_HUBER:
        e.value = size <= beta ? d * d / 2 : beta * (size - beta / 2);
        e.slope = size <= beta ? d : copysign(beta, d);
        e.magnitude = size <= beta ? e.value : beta * (size + beta / 2);
        if (isnan(d))
            e.slope = d;
        break;
    case HUSK_LOSS_BINARY_LOGITS: {
        const double p = load_broadcast(op->positive_weight, op->x->rank, at), more = (p - 1) * t, l = 1 + more;
        const double soft = log1p(exp(-fabs(x))) + fmax(-x, 0), up = 1 / (1 + exp(-x)), down = 1 / (1 + exp(x));
        e.weight = load_broadcast(op->weight, op->x->rank, at);
        e.value = (1 - t) * x + l * (isnan(x) ? x : soft);
        e.magnitude = fabs(1 - t) * fabs(x) + (1 + fabs(more)) * soft;
        e.slope = (1 - t) * up - p * t * down;
        e.slope_magnitude = fabs(1 - t) * up + fabs(p * t) * down;
        break;
    }
    case HUSK_LOSS_DIVERGENCE: {
        const double p = op->params->log_target ? exp(t) : t;
        const double log_p = op->params->log_target ? t : t == 0 ? 0.0 : log(t);
        e.value = p * (log_p - x);
        e.magnitude = fabs(p) * (fabs(log_p) + fabs(x));
        e.slope = -p;
        break;
    }
    default:
        e.value = e.magnitude = d * d;
        e.slope = 2 * d;
        break;
    }
    if (e.slope_magnitude == 0)
        e.slope_magnitude = fabs(e.slope);
    return e;
}

static husk_ref_loss_row row_of_element(const husk_ref_loss *op, const int64_t *index)
{
    const husk_ref_loss_element e = husk_ref_loss_element_at(op, index);
    husk_ref_loss_row row = {.weight = 1.0, .is_counted = true};
    row.value = e.value * e.weight;
    row.magnitude = fabs(e.magnitude * e.weight);
    row.bound = 16.0 * HUSK_REF_UNIT * row.magnitude + 4.0 * HUSK_REF_TINY * (1.0 + fabs(e.weight));
    return row;
}

// ---- rows ----

static double class_weight(const husk_ref_loss *op, int64_t class)
{
    return op->weight != NULL ? load(op->weight, &class) : 1.0;
}

double husk_ref_loss_wanted(const husk_ref_loss *op, const int64_t *index, int64_t class)
{
    const double smoothing = op->params != NULL && husk_ref_loss_kind(op) == HUSK_LOSS_CROSS_ENTROPY
                                 ? (double)op->params->label_smoothing
                                 : 0.0;
    const double classes = (double)op->x->shape[husk_ref_loss_axis(op)], w = class_weight(op, class);
    if (husk_ref_loss_has_labels(op))
        return w * ((load(op->target, index) == (double)class ? 1 - smoothing : 0.0) + smoothing / classes);
    int64_t at[HUSK_MAX_RANK];
    husk_ref_loss_locate(op, index, class, at);
    return w * (load(op->target, at) * (1 - smoothing) + smoothing / classes);
}

static double x_at(const husk_ref_loss *op, const int64_t *index, int64_t class)
{
    int64_t at[HUSK_MAX_RANK];
    husk_ref_loss_locate(op, index, class, at);
    return load(op->x, at);
}

// -infinity, where it is all there is, gives NaN; a NaN shows in the sum.
static void find_sum(const husk_ref_loss *op, const int64_t *index, int64_t classes, husk_ref_loss_row *row)
{
    row->maximum = -INFINITY;
    for (int64_t c = 0; c < classes; c++)
        row->maximum = fmax(row->maximum, x_at(op, index, c));
    for (int64_t c = 0; c < classes; c++)
        row->sum += exp(x_at(op, index, c) - row->maximum);
}

// As it is: double does not hold all of i64.
static int64_t label_at(const husk_ref_array *target, const int64_t *index)
{
    const int64_t offset = husk_ref_offset(target, index);
    if (target->dtype == HUSK_I64)
        return ((const int64_t *)target->data)[offset];
    return ((const int32_t *)target->data)[offset];
}

static husk_ref_loss_row row_of_classes(const husk_ref_loss *op, const int64_t *index)
{
    const int64_t classes = op->x->shape[husk_ref_loss_axis(op)];
    husk_ref_loss_row row = {.weight = 1.0, .is_counted = true};
    if (husk_ref_loss_has_labels(op)) {
        const int64_t ignored = op->params != NULL ? op->params->ignore_index : -100;
        const int64_t label = label_at(op->target, index);
        if (label == ignored || label < 0 || label >= classes) {
            row = (husk_ref_loss_row){.value = label == ignored ? 0.0 : NAN};
            return row;
        }
        row.weight = class_weight(op, label);
    }
    const bool is_log = husk_ref_loss_kind(op) == HUSK_LOSS_NEGATIVE_LOG;
    const bool is_sharp = is_log || op->params == NULL || op->params->label_smoothing == 0;
    const bool is_sparse = is_sharp && husk_ref_loss_has_labels(op);
    if (!is_log)
        find_sum(op, index, classes, &row);
    for (int64_t c = 0; c < classes; c++) {
        if (is_sparse && (double)c != load(op->target, index))
            continue;
        const double q = husk_ref_loss_wanted(op, index, c), x = x_at(op, index, c);
        const double y = is_log ? x : x - row.maximum - log(row.sum);
        const double error = fmax(1.0, fabs(y)); // x and the maximum are exact, and their difference is rounded once
        row.value -= q * y;
        row.magnitude += fabs(q * y);
        row.bound += is_log ? 0.0 : (16.0 + 2.0 * sqrt((double)classes)) * HUSK_REF_UNIT * fabs(q) * error;
        row.total += q;
        row.absolute += fabs(q);
    }
    row.bound += husk_ref_sum_bound(0, is_sparse ? 1 : classes, row.magnitude);
    return row;
}

husk_ref_loss_row husk_ref_loss_row_at(const husk_ref_loss *op, const int64_t *index)
{
    if (op->rows == NULL)
        return husk_ref_loss_has_rows(op) ? row_of_classes(op, index) : row_of_element(op, index);
    int64_t shape[HUSK_MAX_RANK];
    const int32_t rank = husk_ref_loss_shape(op, shape);
    return op->rows[husk_ref_position_of(rank, shape, index)];
}
