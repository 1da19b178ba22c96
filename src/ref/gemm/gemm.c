// SPDX-License-Identifier: MIT
#include "ref/gemm/gemm.h"

#include <math.h>
#include <string.h>

#include "ref/elementwise/activation.h"

static const husk_gemm_params defaults;

static const husk_gemm_params *get_params(const husk_ref_gemm *op)
{
    return op->params != NULL ? op->params : &defaults;
}

husk_ref_gemm_sizes husk_ref_gemm_get_sizes(const husk_ref_gemm *op)
{
    const husk_ref_array *a = op->a, *c = op->c;
    bool transpose_a = get_params(op)->transpose_a != 0;
    return (husk_ref_gemm_sizes){
        .batch = c->rank == 3 ? c->shape[0] : 1,
        .m = c->shape[c->rank - 2],
        .n = c->shape[c->rank - 1],
        .k = a->shape[transpose_a ? a->rank - 2 : a->rank - 1],
    };
}

// strides receives batch, row, column; a matrix without a batch, or with a batch of one, serves all.
static void matrix_strides(const husk_ref_array *matrix, bool transpose, int64_t strides[3])
{
    int32_t rank = matrix->rank;
    strides[0] = rank == 3 && matrix->shape[0] != 1 ? matrix->strides[0] : 0;
    strides[1] = matrix->strides[transpose ? rank - 1 : rank - 2];
    strides[2] = matrix->strides[transpose ? rank - 2 : rank - 1];
}

husk_ref_gemm_strides husk_ref_gemm_get_strides(const husk_ref_gemm *op)
{
    husk_ref_gemm_strides strides = {.bias = {0, 0}};
    matrix_strides(op->a, get_params(op)->transpose_a != 0, strides.a);
    matrix_strides(op->b, get_params(op)->transpose_b != 0, strides.b);
    if (op->bias != NULL && op->bias->rank == 1)
        strides.bias[1] = op->bias->strides[0]; // [n]: added to every row
    else if (op->bias != NULL)
        strides.bias[0] = op->bias->strides[0]; // [m, 1]: added to every column
    return strides;
}

double husk_ref_gemm_flushed(double alpha, int64_t length, double magnitude)
{
    return magnitude > 0.0 && fabs(alpha) > 1.0 ? (fabs(alpha) - 1.0) * (double)length * HUSK_REF_TINY : 0.0;
}

husk_ref_value husk_ref_gemm_at(const husk_ref_gemm *op, const int64_t *index)
{
    husk_ref_gemm_sizes sizes = husk_ref_gemm_get_sizes(op);
    husk_ref_gemm_strides strides = husk_ref_gemm_get_strides(op);
    bool batched = op->c->rank == 3;
    int64_t batch = batched ? index[0] : 0;
    int64_t row = index[batched ? 1 : 0];
    int64_t column = index[batched ? 2 : 1];
    husk_ref_value result = {.terms = sizes.k};

    double sum = 0.0;
    for (int64_t k = 0; k < sizes.k && op->alpha != 0.0f; k++) { // else A and B are not read
        double a = husk_ref_load(op->a, batch * strides.a[0] + row * strides.a[1] + k * strides.a[2]);
        double b = husk_ref_load(op->b, batch * strides.b[0] + k * strides.b[1] + column * strides.b[2]);
        sum += a * b;
        result.magnitude += fabs(a * b);
    }
    double x = sizes.k > 0 ? (double)op->alpha * sum : 0.0;
    result.magnitude *= fabs((double)op->alpha);
    if (op->beta != 0.0f) {
        double c = (double)op->beta * husk_ref_load(op->c, husk_ref_offset(op->c, index));
        x += c;
        result.magnitude += fabs(c);
        result.terms++;
    }
    if (op->bias != NULL) {
        double bias = husk_ref_load(op->bias, row * strides.bias[0] + column * strides.bias[1]);
        x += bias;
        result.magnitude += fabs(bias);
        result.terms++;
    }
    const husk_gemm_params *params = get_params(op);
    double error = husk_ref_sum_bound(op->error_factor, sizes.k, result.magnitude) +
                   husk_ref_gemm_flushed((double)op->alpha, sizes.k, result.magnitude);
    result.value = husk_ref_activate(params->activation, params->activation_slope, x);
    result.bound = husk_ref_activation_bound(params->activation, params->activation_slope, x, error);
    return result;
}

static husk_ref_value gemm_at(const void *op, const int64_t *index)
{
    return husk_ref_gemm_at(op, index);
}

husk_ref_function husk_ref_gemm_function(const husk_ref_gemm *op)
{
    husk_ref_function function = {.op = op, .at = gemm_at, .rank = op->c->rank};
    function.cost = (double)husk_ref_gemm_get_sizes(op).k;
    memcpy(function.shape, op->c->shape, sizeof(function.shape));
    return function;
}

void husk_ref_gemm_run(const husk_ref_gemm *op, const husk_ref_array *out)
{
    husk_ref_function function = husk_ref_gemm_function(op);
    husk_ref_function_evaluate(&function, out);
}
