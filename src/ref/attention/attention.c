// SPDX-License-Identifier: MIT
#include "ref/attention/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/elementwise/dropout.h"

static const husk_attention_params defaults = {0};

struct husk_ref_attention_line {
    int64_t row[3]; /* batch, head, query of what is held; -1: nothing */
    double log_sum, log_sum_bound;
    double largest; /* weight */
    double *weight; /* of every key */
    double *delta;  /* and its relative error */
    double *kept;   /* and what it is multiplied with */
};

static const husk_attention_params *params_of(const husk_ref_attention *op)
{
    return op->params != NULL ? op->params : &defaults;
}

double husk_ref_attention_scale(const husk_ref_attention *op)
{
    const double scale = params_of(op)->scale;
    return scale != 0.0 ? scale : 1.0 / sqrt(fmax((double)op->q->shape[3], 1.0));
}

static double mask_at(const husk_ref_array *mask, const int64_t *row, int64_t key)
{
    const int64_t index[] = {row[0], row[1], row[2], key};
    int64_t offset = 0;
    for (int32_t d = 0; d < mask->rank; d++)
        if (mask->shape[d] > 1)
            offset += index[4 - mask->rank + d] * mask->strides[d];
    return husk_ref_load(mask, offset);
}

// A finite mask below this counts as this, see husk/ops/attention.h.
static double least_mask(husk_dtype dtype)
{
    return dtype == HUSK_F64 ? -0x1p1023 : -0x1p127;
}

husk_ref_score husk_ref_attention_score(const husk_ref_attention *op, const int64_t *row, int64_t key)
{
    const husk_causal causal = params_of(op)->causal;
    const int64_t shift = causal == HUSK_CAUSAL_BOTTOM_RIGHT ? op->k->shape[2] - op->q->shape[2] : 0;
    const husk_ref_score hidden = {-INFINITY, 0.0};
    if (causal != HUSK_CAUSAL_NONE && key > row[2] + shift)
        return hidden;
    const double mask = op->mask != NULL ? mask_at(op->mask, row, key) : 0.0;
    const bool is_boolean = op->mask != NULL && op->mask->dtype == HUSK_U8;
    if (is_boolean && mask == 0.0)
        return hidden;
    const int64_t group = op->q->shape[1] / op->k->shape[1];
    const int64_t q_index[] = {row[0], row[1], row[2], 0}, k_index[] = {row[0], row[1] / group, key, 0};
    const int64_t q = husk_ref_offset(op->q, q_index), k = husk_ref_offset(op->k, k_index);
    husk_ref_score score = {0.0, 0.0};
    for (int64_t c = 0; c < op->q->shape[3]; c++) {
        const double term =
            husk_ref_load(op->q, q + c * op->q->strides[3]) * husk_ref_load(op->k, k + c * op->k->strides[3]);
        score.value += term;
        score.magnitude += fabs(term);
    }
    const double scale = husk_ref_attention_scale(op);
    double added = is_boolean ? 0.0 : mask;
    if (op->mask != NULL && isfinite(added))
        added = fmax(added, least_mask(op->mask->dtype));
    score.value = score.value * scale + added;
    score.magnitude = score.magnitude * fabs(scale) + (isinf(added) ? 0.0 : fabs(added));
    return score;
}

double husk_ref_attention_kept(const husk_ref_attention *op, const int64_t *row, int64_t key)
{
    const husk_attention_params *params = params_of(op);
    if (params->dropout == 0.0f)
        return 1.0;
    const husk_dropout_params dropout = {.p = params->dropout, .seed = params->seed, .offset = params->offset};
    const int64_t position = ((row[0] * op->q->shape[1] + row[1]) * op->q->shape[2] + row[2]) * op->k->shape[2] + key;
    return husk_ref_dropout_keeps(&dropout, position) && params->dropout < 1.0f ? 1.0 / (1.0 - params->dropout) : 0.0;
}

bool husk_ref_attention_prepare(husk_ref_attention *op)
{
    const size_t keys = (size_t)op->k->shape[2];
    struct husk_ref_attention_line *line = calloc(1, sizeof(*line) + 3 * keys * sizeof(double));
    if (line == NULL)
        return false;
    line->row[0] = -1;
    line->weight = (double *)(line + 1);
    line->delta = line->weight + keys;
    line->kept = line->delta + keys;
    op->line = line;
    return true;
}

void husk_ref_attention_release(husk_ref_attention *op)
{
    free(op->line);
    op->line = NULL;
}

// Of the scores and of the weights' product, see husk/ops/attention.h. A weight that is rounded is not part of a score.
static double score_factor(const husk_ref_attention *op)
{
    const double rounding = op->q->dtype == HUSK_F16 ? 0x1p13 : op->q->dtype == HUSK_BF16 ? 0x1p16 : 0.0;
    return fmax(op->error_factor - rounding, 2.0 * sqrt((double)op->q->shape[3]));
}

static double product_factor(const husk_ref_attention *op)
{
    return fmax(op->error_factor, 2.0 * sqrt((double)op->k->shape[2]));
}

static const struct husk_ref_attention_line *line_of(const husk_ref_attention *op, const int64_t *row)
{
    struct husk_ref_attention_line *line = op->line;
    if (memcmp(line->row, row, sizeof(line->row)) == 0)
        return line;
    const int64_t keys = op->k->shape[2];
    const double factor = 12.0 + score_factor(op);
    double max = -INFINITY, sum = 0.0;
    for (int64_t j = 0; j < keys; j++) {
        const husk_ref_score score = husk_ref_attention_score(op, row, j);
        line->weight[j] = score.value;
        line->delta[j] = factor * HUSK_REF_UNIT * score.magnitude;
        if (score.value > max || isnan(score.value))
            max = score.value;
        if (isnan(max))
            break;
    }
    memcpy(line->row, row, sizeof(line->row));
    line->log_sum = line->log_sum_bound = line->largest = 0.0;
    if (isnan(max) || (isinf(max) && max > 0)) {
        for (int64_t j = 0; j < keys; j++)
            line->weight[j] = line->kept[j] = NAN;
        line->log_sum = max;
        return line;
    }
    for (int64_t j = 0; j < keys && !isinf(max); j++)
        sum += exp(line->weight[j] - max);
    line->log_sum = isinf(max) ? max : max + log(sum);
    for (int64_t j = 0; j < keys; j++) {
        const double score = line->weight[j];
        line->kept[j] = husk_ref_attention_kept(op, row, j);
        const bool is_hidden = isinf(score) || isinf(max);
        line->weight[j] = is_hidden ? 0.0 : exp(score - max) / sum; // log_sum may have lost log(sum)
        line->delta[j] = is_hidden ? 0.0 : line->delta[j] + 8.0 * HUSK_REF_UNIT * fabs(score - line->log_sum);
        line->log_sum_bound += line->weight[j] * line->delta[j];
        line->largest = fmax(line->largest, line->weight[j]);
    }
    return line;
}

husk_ref_value husk_ref_attention_at(const husk_ref_attention *op, const int64_t *index)
{
    const struct husk_ref_attention_line *line = line_of(op, index);
    const int64_t keys = op->k->shape[2], group = op->q->shape[1] / op->k->shape[1];
    const int64_t v_index[] = {index[0], index[1] / group, 0, index[3]};
    const int64_t v = husk_ref_offset(op->v, v_index);
    double weighted = 0.0, flushed = 0.0, rounded = 0.0;
    husk_ref_value result = {0};
    for (int64_t j = 0; j < keys; j++) {
        if (line->weight[j] == 0.0)
            continue;
        const double value = husk_ref_load(op->v, v + j * op->v->strides[2]);
        const double kept = line->kept[j];
        result.value += line->weight[j] * kept * value;
        result.magnitude += line->weight[j] * kept * fabs(value);
        weighted += line->weight[j] * kept * line->delta[j] * fabs(value);
        flushed += fabs(value);
        rounded += kept * fabs(value);
        result.terms++;
    }
    result.bound = weighted + line->log_sum_bound * result.magnitude +
                   (16.0 + product_factor(op)) * HUSK_REF_UNIT * result.magnitude;
    result.bound += 2.0 * HUSK_REF_TINY * (flushed + (double)result.terms);
    if (op->error_factor > 0.0 && op->q->dtype == HUSK_F16)
        result.bound += 0x1p-39 * line->largest * rounded;
    if (result.terms == 0)
        result.bound = 0.0; // no key is seen
    return result;
}

husk_ref_value husk_ref_attention_log_sum_exp_at(const husk_ref_attention *op, const int64_t *index)
{
    const struct husk_ref_attention_line *line = line_of(op, index);
    husk_ref_value result = {.value = line->log_sum, .magnitude = fabs(line->log_sum), .terms = op->k->shape[2]};
    result.bound = line->log_sum_bound + 16.0 * HUSK_REF_UNIT * (1.0 + fabs(line->log_sum)) +
                   2.0 * sqrt((double)op->k->shape[2]) * HUSK_REF_UNIT;
    if (isinf(line->log_sum)) {
        result.value = line->log_sum > 0 ? NAN : line->log_sum;
        result.bound = result.magnitude = 0.0;
        result.terms = 0;
    }
    return result;
}

static husk_ref_value attention_at(const void *op, const int64_t *index)
{
    return husk_ref_attention_at(op, index);
}

static husk_ref_value log_sum_exp_at(const void *op, const int64_t *index)
{
    return husk_ref_attention_log_sum_exp_at(op, index);
}

husk_ref_function husk_ref_attention_function(const husk_ref_attention *op)
{
    husk_ref_function function = {.op = op, .at = attention_at, .rank = 4, .cost = 2.0 * (double)op->k->shape[2]};
    memcpy(function.shape, op->q->shape, sizeof(function.shape));
    function.shape[3] = op->v->shape[3];
    return function;
}

husk_ref_function husk_ref_attention_log_sum_exp_function(const husk_ref_attention *op)
{
    husk_ref_function function = {.op = op, .at = log_sum_exp_at, .rank = 3};
    memcpy(function.shape, op->q->shape, sizeof(function.shape));
    function.cost = (double)op->k->shape[2] * (double)op->q->shape[3];
    return function;
}

bool husk_ref_attention_run(const husk_ref_attention *op, const husk_ref_array *y, const husk_ref_array *log_sum_exp)
{
    husk_ref_attention prepared = *op;
    if (!husk_ref_attention_prepare(&prepared))
        return false;
    husk_ref_function function = husk_ref_attention_function(&prepared);
    if (y != NULL)
        husk_ref_function_evaluate(&function, y);
    function = husk_ref_attention_log_sum_exp_function(&prepared);
    if (log_sum_exp != NULL)
        husk_ref_function_evaluate(&function, log_sum_exp);
    husk_ref_attention_release(&prepared);
    return true;
}
