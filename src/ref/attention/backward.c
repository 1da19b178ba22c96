// SPDX-License-Identifier: MIT
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ref/attention/attention.h"

// One query and one key: what each gradient sums products of, how much of it is rounding, and its absolute terms.
typedef struct pair {
    double weight, weight_error;            // dropout(p)
    double score, score_error, score_terms; // ds
} pair;

// The pairs of a query with every key, or of a key with every query of every head of its group.
struct husk_ref_attention_pairs {
    int64_t line[3]; // batch, head, position of what is held; -1: nothing
    pair pairs[];
};

typedef struct product {
    double sum, terms;
} product;

static product multiply(const husk_ref_array *a, const int64_t *a_index, const husk_ref_array *b,
                        const int64_t *b_index)
{
    const int64_t a_at = husk_ref_offset(a, a_index), b_at = husk_ref_offset(b, b_index);
    product result = {0.0, 0.0};
    for (int64_t c = 0; c < a->shape[3]; c++) {
        const double term = husk_ref_load(a, a_at + c * a->strides[3]) * husk_ref_load(b, b_at + c * b->strides[3]);
        result.sum += term;
        result.terms += fabs(term);
    }
    return result;
}

static pair pair_of(const husk_ref_attention_backward *op, const int64_t *row, int64_t key)
{
    const husk_ref_attention *forward = &op->forward;
    const husk_ref_score score = husk_ref_attention_score(forward, row, key);
    const double log_sum = husk_ref_load(op->log_sum_exp, husk_ref_offset(op->log_sum_exp, row));
    const pair nothing = {0.0, 0.0, 0.0, 0.0, 0.0};
    if ((isinf(score.value) && score.value < 0) || (isinf(log_sum) && log_sum < 0))
        return nothing;
    const double d = (double)forward->q->shape[3], e = (double)forward->v->shape[3];
    const int64_t group = forward->q->shape[1] / forward->k->shape[1];
    const int64_t dy_index[] = {row[0], row[1], row[2], 0}, v_index[] = {row[0], row[1] / group, key, 0};
    const double p = exp(score.value - log_sum), kept = husk_ref_attention_kept(forward, row, key);
    const double delta = (12.0 + 2.0 * sqrt(d)) * HUSK_REF_UNIT * score.magnitude +
                         8.0 * HUSK_REF_UNIT * fabs(score.value - log_sum) + 2.0 * HUSK_REF_UNIT * fabs(log_sum);
    const product dp = multiply(op->dy, dy_index, forward->v, v_index), r = multiply(op->dy, dy_index, op->y, dy_index);
    const double difference = kept * dp.sum - r.sum, terms = kept * dp.terms + r.terms;
    pair result = {.weight = p * kept, .score = p * difference, .score_terms = p * terms};
    result.weight_error = p * kept * (delta + 4.0 * HUSK_REF_UNIT) + 2.0 * HUSK_REF_TINY * (1.0 + kept);
    result.score_error = p * (delta * fabs(difference) + (8.0 + 2.0 * sqrt(e)) * HUSK_REF_UNIT * terms) +
                         2.0 * HUSK_REF_TINY * (2.0 + terms + e * p);
    return result;
}

static int64_t group_of(const husk_ref_attention_backward *op)
{
    return op->forward.q->shape[1] / op->forward.k->shape[1];
}

static int64_t pairs_of(const husk_ref_attention_backward *op)
{
    return op->by == HUSK_REF_ATTENTION_Q ? op->forward.k->shape[2] : op->forward.q->shape[2] * group_of(op);
}

bool husk_ref_attention_backward_prepare(husk_ref_attention_backward *op)
{
    if (op->forward.k->shape[1] == 0)
        return true; // nothing is asked for
    op->pairs = malloc(sizeof(*op->pairs) + (size_t)pairs_of(op) * sizeof(pair));
    if (op->pairs == NULL)
        return false;
    op->pairs->line[0] = -1;
    return true;
}

void husk_ref_attention_backward_release(husk_ref_attention_backward *op)
{
    free(op->pairs);
    op->pairs = NULL;
}

static const pair *line_of(const husk_ref_attention_backward *op, const int64_t *index)
{
    struct husk_ref_attention_pairs *held = op->pairs;
    if (memcmp(held->line, index, sizeof(held->line)) == 0)
        return held->pairs;
    memcpy(held->line, index, sizeof(held->line));
    const int64_t queries = op->forward.q->shape[2], group = group_of(op);
    for (int64_t i = 0; i < pairs_of(op); i++) {
        const int64_t row[] = {index[0], index[1] * group + i / (queries ? queries : 1), i % (queries ? queries : 1)};
        held->pairs[i] = op->by == HUSK_REF_ATTENTION_Q ? pair_of(op, index, i) : pair_of(op, row, index[2]);
    }
    return held->pairs;
}

// What the i-th pair of the line is multiplied with.
static double factor_at(const husk_ref_attention_backward *op, const int64_t *index, int64_t i)
{
    const int64_t queries = op->forward.q->shape[2], group = group_of(op);
    if (op->by == HUSK_REF_ATTENTION_Q) {
        const int64_t at[] = {index[0], index[1] / group, i, index[3]};
        return husk_ref_load(op->forward.k, husk_ref_offset(op->forward.k, at));
    }
    const int64_t at[] = {index[0], index[1] * group + i / queries, i % queries, index[3]};
    const husk_ref_array *of = op->by == HUSK_REF_ATTENTION_K ? op->forward.q : op->dy;
    return husk_ref_load(of, husk_ref_offset(of, at));
}

husk_ref_value husk_ref_attention_backward_at(const husk_ref_attention_backward *op, const int64_t *index)
{
    const bool by_v = op->by == HUSK_REF_ATTENTION_V;
    const double scale = by_v ? 1.0 : husk_ref_attention_scale(&op->forward);
    const pair *line = line_of(op, index);
    const int64_t count = pairs_of(op);
    double errors = 0.0;
    husk_ref_value result = {0};
    for (int64_t i = 0; i < count; i++) {
        const double terms = by_v ? line[i].weight : line[i].score_terms;
        const double error = by_v ? line[i].weight_error : line[i].score_error;
        if (terms == 0.0 && error == 0.0)
            continue;
        const double factor = factor_at(op, index, i);
        result.value += (by_v ? line[i].weight : line[i].score) * factor;
        result.magnitude += terms * fabs(factor);
        errors += error * fabs(factor) + HUSK_REF_TINY;
        result.terms++;
    }
    result.value *= scale;
    result.magnitude *= fabs(scale);
    result.bound = fabs(scale) * errors;
    if (result.terms > 0)
        result.bound += (8.0 + 2.0 * sqrt((double)count)) * HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    if (result.value == 0.0)
        result.terms = 0; // no key is seen, or one alone: its weight is 1 whatever the score
    if (op->forward.params != NULL && op->forward.params->accumulate & HUSK_ACCUMULATE_INPUTS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
        result.value += before;
        result.magnitude += fabs(before);
        result.bound += result.bound > 0.0 ? HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY : 0.0;
        result.terms++;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_attention_backward_at(op, index);
}

husk_ref_function husk_ref_attention_backward_function(const husk_ref_attention_backward *op)
{
    const husk_ref_array *const of[] = {op->forward.q, op->forward.k, op->forward.v};
    husk_ref_function function = {.op = op, .at = backward_at, .rank = 4};
    memcpy(function.shape, of[op->by]->shape, sizeof(function.shape));
    function.cost = op->forward.k->shape[1] ? 4.0 * (double)pairs_of(op) : 1.0;
    return function;
}

bool husk_ref_attention_backward_run(const husk_ref_attention_backward *op, const husk_ref_array *gradient)
{
    husk_ref_attention_backward prepared = *op;
    if (!husk_ref_attention_backward_prepare(&prepared))
        return false;
    husk_ref_function function = husk_ref_attention_backward_function(&prepared);
    husk_ref_function_evaluate(&function, gradient);
    husk_ref_attention_backward_release(&prepared);
    return true;
}
