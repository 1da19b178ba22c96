// SPDX-License-Identifier: MIT
// What the variants of the multiplication share: shapes with rows and columns exchanged, limits, options.
#include "ops/gemm/problem.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/tensor.h"

husk__gemm_shape husk__gemm_transposed(const husk__gemm_shape *shape)
{
    husk__gemm_shape t = *shape;
    t.m = shape->n;
    t.n = shape->m;
    t.a_row = shape->b_column;
    t.a_step = shape->b_step;
    t.a_batch = shape->b_batch;
    t.b_step = shape->a_step;
    t.b_column = shape->a_row;
    t.b_batch = shape->a_batch;
    t.c_row = shape->c_column;
    t.c_column = shape->c_row;
    if (shape->bias == HUSK__GEMM_BIAS_COLUMN)
        t.bias = HUSK__GEMM_BIAS_ROW;
    else if (shape->bias == HUSK__GEMM_BIAS_ROW)
        t.bias = HUSK__GEMM_BIAS_COLUMN;
    return t;
}

bool husk__gemm_is_by_columns(const husk__gemm_shape *shape)
{
    return shape->c_column != 1 && shape->c_row == 1;
}

bool husk__gemm_fits_int(const husk__gemm_shape *shape, char reason[HUSK__REASON_CAPACITY])
{
    const int64_t most = husk__max_i64(husk__max_i64(shape->m, shape->n), husk__max_i64(shape->k, shape->batch));
    if (most <= HUSK__GEMM_MAX_EXTENT)
        return true;
    snprintf(reason, HUSK__REASON_CAPACITY, "a dimension of %lld is too large for the kernel", (long long)most);
    return false;
}

bool husk__gemm_is_narrow(const husk__gemm_problem *problem)
{
    return husk_dtype_size(problem->dtype) < sizeof(float) && !(problem->wide & HUSK__GEMM_WIDE_C);
}

int32_t husk__gemm_wide_exchanged(int32_t wide)
{
    const int32_t others = wide & ~(HUSK__GEMM_WIDE_A | HUSK__GEMM_WIDE_B);
    return others | (wide & HUSK__GEMM_WIDE_A ? HUSK__GEMM_WIDE_B : 0) |
           (wide & HUSK__GEMM_WIDE_B ? HUSK__GEMM_WIDE_A : 0);
}

double husk__gemm_flops(const husk__candidate *candidate)
{
    const husk__gemm_shape *shape = &((const husk__gemm_problem *)candidate->problem)->shape;
    return 2.0 * (double)shape->batch * (double)shape->m * (double)shape->n * (double)shape->k;
}

void husk__gemm_options(const husk__gemm_problem *problem, const char *configuration, char *options, size_t capacity)
{
    snprintf(options, capacity, "%s %s%s%s", husk__dtype_option(problem->dtype),
             problem->dtype == HUSK_F64 ? "-DHALF_VECTORS " : "", problem->activation_is_smooth ? "-DACT_SMOOTH " : "",
             configuration);
}

void husk__gemm_describe_packed(const husk_plan *plan, husk__key *key)
{
    const husk__gemm_problem *problem = plan->problem;
    husk__key_i64(key, problem->shape.k);
    husk__key_i64(key, problem->shape.n);
    husk__key_i64(key, problem->transpose_b);
    husk__key_i64(key, problem->b.rank);
    husk__key_i64(key, problem->b.dtype);
    husk__key_i64(key, problem->precision); // in what parts an engine wants them
}
