// SPDX-License-Identifier: MIT
#include <math.h>
#include <string.h>

#include "ref/elementwise/activation.h"
#include "ref/gemm/gemm.h"

static const husk_gemm_params defaults;

static const husk_gemm_params *get_params(const husk_ref_gemm_backward *op)
{
    return op->params != NULL ? op->params : &defaults;
}

typedef struct sizes {
    int64_t batch, m, n;
} sizes;

static sizes get_sizes(const husk_ref_gemm_backward *op)
{
    const husk_ref_array *dy = op->dy;
    return (sizes){dy->rank == 3 ? dy->shape[0] : 1, dy->shape[dy->rank - 2], dy->shape[dy->rank - 1]};
}

// op(matrix)[batch][row][column]; a matrix without a batch, or with a batch of one, serves all.
static double load(const husk_ref_array *matrix, bool transposed, int64_t batch, int64_t row, int64_t column)
{
    const int64_t *strides = matrix->strides + matrix->rank - 2;
    const bool is_batch = matrix->rank == 3 && matrix->shape[0] != 1;
    return husk_ref_load(matrix, (is_batch ? batch * matrix->strides[0] : 0) + row * strides[transposed ? 1 : 0] +
                                     column * strides[transposed ? 0 : 1]);
}

husk_ref_value husk_ref_gemm_backward_z(const husk_ref_gemm_backward *op, int64_t batch, int64_t row, int64_t column)
{
    const husk_gemm_params *params = get_params(op);
    const int64_t all[] = {batch, row, column}, *index = op->dy->rank == 3 ? all : all + 1;
    if (params->activation == HUSK_ACT_NONE)
        return (husk_ref_value){.value = husk_ref_load(op->dy, husk_ref_offset(op->dy, index)), .terms = 1};
    const husk_activation_params activation = {.activation = params->activation, .slope = params->activation_slope};
    const husk_ref_activation_backward z = {.params = &activation, .x = op->x, .y = op->y, .dy = op->dy};
    return husk_ref_activation_backward_at(&z, index);
}

typedef struct sum {
    double value, magnitude, inherited; // inherited: what the errors of z make of it
    int64_t length, terms;
} sum;

// factor: what z is multiplied by.
static void add(sum *s, husk_ref_value z, double factor)
{
    s->value += z.value * factor;
    s->magnitude += fabs(z.value * factor);
    s->inherited += fabs(z.bound * factor);
    s->length++;
    s->terms += z.terms > 0;
}

bool husk_ref_gemm_backward_adds_up(const husk_ref_gemm_backward *op)
{
    const husk_ref_array *gradient = op->before;
    return gradient->rank < 3 || gradient->shape[0] == 1 || gradient->strides[0] == 0;
}

// Where the index lies: the batches that are summed up, and the row and column of op(A) or op(B).
typedef struct place {
    int64_t first, last, row, column;
} place;

static place place_of(const husk_ref_gemm_backward *op, const int64_t *index, bool transposed)
{
    const int32_t rank = op->before->rank;
    const bool sums = husk_ref_gemm_backward_adds_up(op);
    place p = {0, get_sizes(op).batch, index[rank - (transposed ? 1 : 2)], index[rank - (transposed ? 2 : 1)]};
    if (!sums) {
        p.first = index[0];
        p.last = index[0] + 1;
    }
    return p;
}

static sum sum_for_a(const husk_ref_gemm_backward *op, const int64_t *index)
{
    const husk_gemm_params *params = get_params(op);
    const place p = place_of(op, index, params->transpose_a != 0);
    sum s = {0};
    for (int64_t batch = p.first; batch < p.last; batch++)
        for (int64_t j = 0; j < get_sizes(op).n; j++)
            add(&s, husk_ref_gemm_backward_z(op, batch, p.row, j),
                load(op->b, params->transpose_b != 0, batch, p.column, j));
    return s;
}

static sum sum_for_b(const husk_ref_gemm_backward *op, const int64_t *index)
{
    const husk_gemm_params *params = get_params(op);
    const place p = place_of(op, index, params->transpose_b != 0);
    sum s = {0};
    for (int64_t batch = p.first; batch < p.last; batch++)
        for (int64_t i = 0; i < get_sizes(op).m; i++)
            add(&s, husk_ref_gemm_backward_z(op, batch, i, p.column),
                load(op->a, params->transpose_a != 0, batch, i, p.row));
    return s;
}

static bool bias_is_by_rows(const husk_ref_gemm_backward *op)
{
    const sizes size = get_sizes(op);
    return op->before->rank == 2 && op->before->shape[0] == size.m && op->before->shape[1] == 1 &&
           !(size.m == 1 && size.n == 1);
}

static sum sum_for_bias(const husk_ref_gemm_backward *op, const int64_t *index)
{
    const sizes size = get_sizes(op);
    const bool by_rows = bias_is_by_rows(op);
    const int64_t at = by_rows ? index[0] : index[op->before->rank - 1];
    sum s = {0};
    for (int64_t batch = 0; batch < size.batch; batch++)
        for (int64_t i = 0; i < (by_rows ? size.n : size.m); i++)
            add(&s, husk_ref_gemm_backward_z(op, batch, by_rows ? at : i, by_rows ? i : at), 1.0);
    return s;
}

static husk_ref_value for_c(const husk_ref_gemm_backward *op, const int64_t *index)
{
    const bool batched = op->dy->rank == 3;
    const husk_ref_value z =
        husk_ref_gemm_backward_z(op, batched ? index[0] : 0, index[batched ? 1 : 0], index[batched ? 2 : 1]);
    husk_ref_value result = {.terms = op->beta != 0.0f && z.terms > 0};
    if (op->beta != 0.0f) {
        result.value = (double)op->beta * z.value;
        result.bound = fabs((double)op->beta) * z.bound;
        if (op->beta != 1.0f && op->beta != -1.0f)
            result.bound += HUSK_REF_UNIT * fabs(result.value) + (z.terms > 0 ? HUSK_REF_TINY : 0.0);
    }
    result.magnitude = fabs(result.value);
    return result;
}

static husk_ref_value finish(const husk_ref_gemm_backward *op, husk_ref_value result, bool accumulates,
                             const int64_t *index)
{
    if (!accumulates)
        return result;
    const double before = husk_ref_load(op->before, husk_ref_offset(op->before, index));
    result.value += before;
    result.magnitude += fabs(before);
    result.terms++;
    if (op->wanted == HUSK_REF_GEMM_DC)
        result.bound += HUSK_REF_UNIT * result.magnitude + HUSK_REF_TINY;
    return result;
}

husk_ref_value husk_ref_gemm_backward_at(const husk_ref_gemm_backward *op, const int64_t *index)
{
    const bool is_parameter = op->wanted == HUSK_REF_GEMM_DB || op->wanted == HUSK_REF_GEMM_DBIAS;
    const bool accumulates =
        (get_params(op)->accumulate & (is_parameter ? HUSK_ACCUMULATE_PARAMETERS : HUSK_ACCUMULATE_INPUTS)) != 0;
    if (op->wanted == HUSK_REF_GEMM_DC)
        return finish(op, for_c(op, index), accumulates, index);
    const sum s = op->wanted == HUSK_REF_GEMM_DA   ? sum_for_a(op, index)
                  : op->wanted == HUSK_REF_GEMM_DB ? sum_for_b(op, index)
                                                   : sum_for_bias(op, index);
    const double alpha = op->wanted == HUSK_REF_GEMM_DBIAS ? 1.0 : (double)op->alpha;
    husk_ref_value result = {.value = s.length > 0 ? alpha * s.value : 0.0,
                             .magnitude = fabs(alpha) * s.magnitude,
                             .terms = alpha != 0.0 ? s.terms : 0};
    result = finish(op, result, accumulates, index);
    const double factor = op->wanted == HUSK_REF_GEMM_DBIAS ? 0.0 : op->error_factor; // no engine adds up a bias
    result.bound = husk_ref_sum_bound(factor, s.length, result.magnitude) + fabs(alpha) * s.inherited +
                   husk_ref_gemm_flushed(alpha, s.length, result.magnitude);
    return result;
}

static husk_ref_value backward_at(const void *op, const int64_t *index)
{
    return husk_ref_gemm_backward_at(op, index);
}

husk_ref_function husk_ref_gemm_backward_function(const husk_ref_gemm_backward *op)
{
    const sizes size = get_sizes(op);
    husk_ref_function function = {.op = op, .at = backward_at, .rank = op->before->rank, .cost = 1.0};
    memcpy(function.shape, op->before->shape, sizeof(function.shape));
    const double batches = husk_ref_gemm_backward_adds_up(op) ? (double)size.batch : 1.0;
    if (op->wanted == HUSK_REF_GEMM_DA)
        function.cost = batches * (double)size.n;
    else if (op->wanted == HUSK_REF_GEMM_DB)
        function.cost = batches * (double)size.m;
    else if (op->wanted == HUSK_REF_GEMM_DBIAS)
        function.cost = (double)size.batch * (double)(bias_is_by_rows(op) ? size.n : size.m);
    return function;
}

void husk_ref_gemm_backward_run(const husk_ref_gemm_backward *op, const husk_ref_array *out)
{
    husk_ref_function function = husk_ref_gemm_backward_function(op);
    husk_ref_function_evaluate(&function, out);
}
