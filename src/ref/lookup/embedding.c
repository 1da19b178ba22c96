// SPDX-License-Identifier: MIT
#include "ref/lookup/embedding.h"

#include <math.h>
#include <string.h>

static const husk_embedding_params defaults = {0};

husk_ref_value husk_ref_embedding_at(const husk_ref_embedding *op, const int64_t *index)
{
    const double row = husk_ref_load(op->indices, husk_ref_offset(op->indices, index));
    if (!(row >= 0 && row < (double)op->table->shape[0]))
        return (husk_ref_value){.value = NAN};
    const int64_t at[] = {(int64_t)row, index[op->indices->rank]};
    const double value = husk_ref_load(op->table, husk_ref_offset(op->table, at));
    return (husk_ref_value){.value = value, .magnitude = fabs(value), .terms = 1};
}

static husk_ref_value forward_at(const void *op, const int64_t *index)
{
    return husk_ref_embedding_at(op, index);
}

husk_ref_function husk_ref_embedding_function(const husk_ref_embedding *op)
{
    husk_ref_function function = {.op = op, .at = forward_at, .rank = op->indices->rank + 1, .cost = 1.0};
    memcpy(function.shape, op->indices->shape, sizeof(function.shape));
    function.shape[op->indices->rank] = op->table->shape[1];
    return function;
}

void husk_ref_embedding_run(const husk_ref_embedding *op, const husk_ref_array *y)
{
    husk_ref_function function = husk_ref_embedding_function(op);
    husk_ref_function_evaluate(&function, y);
}

static bool is_padding(const husk_embedding_params *params, int64_t rows, int64_t row)
{
    return params->has_padding && (row == params->padding_index || row == params->padding_index + rows);
}

// at: [row, column]
husk_ref_value husk_ref_embedding_backward_at(const husk_ref_embedding_backward *op, const int64_t *at)
{
    const husk_embedding_params *params = op->params != NULL ? op->params : &defaults;
    husk_ref_value result = {0};
    int64_t index[HUSK_MAX_RANK] = {0};
    index[op->indices->rank] = at[1];
    if (husk_ref_array_count(op->indices) > 0 && !is_padding(params, op->rows, at[0]))
        do {
            if (husk_ref_load(op->indices, husk_ref_offset(op->indices, index)) == (double)at[0]) {
                const double term = husk_ref_load(op->dy, husk_ref_offset(op->dy, index));
                result.value += term;
                result.magnitude += fabs(term);
                result.terms++;
            }
        } while (husk_ref_index_next(op->indices->rank, op->indices->shape, index));
    if (result.terms > 0)
        result.bound = husk_ref_sum_bound(0, result.terms, result.magnitude);
    if (result.terms > 0 && params->scale_by_frequency) { // a division more
        const double count = (double)result.terms;
        result.value /= count;
        result.magnitude /= count;
        result.bound = result.bound / count + 4.0 * HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    }
    if (params->accumulate & HUSK_ACCUMULATE_PARAMETERS) {
        const double before = husk_ref_load(op->before, husk_ref_offset(op->before, at));
        result.value += before;
        result.magnitude += fabs(before);
        if (result.terms > 0)
            result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
        result.terms++;
    }
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_embedding_backward_at(op, index);
}

husk_ref_function husk_ref_embedding_backward_function(const husk_ref_embedding_backward *op)
{
    return (husk_ref_function){.op = op,
                               .at = backward_at,
                               .rank = 2,
                               .shape = {op->rows, op->dy->shape[op->dy->rank - 1]},
                               .cost = (double)husk_ref_array_count(op->indices) + 1.0};
}

void husk_ref_embedding_backward_run(const husk_ref_embedding_backward *op, const husk_ref_array *dtable)
{
    husk_ref_function function = husk_ref_embedding_backward_function(op);
    husk_ref_function_evaluate(&function, dtable);
}
