// SPDX-License-Identifier: MIT
#include "ref/gemm/gemm.h"

#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "verify/array.h"

static int64_t batch_of(const husk_verify_array *matrix)
{
    return matrix->rank == 3 ? matrix->shape[0] : 1;
}

// Rows and columns of op(matrix).
static int64_t extent_of(const husk_verify_array *matrix, uint32_t is_transposed, int32_t which)
{
    return matrix->shape[matrix->rank - 2 + (is_transposed ? 1 - which : which)];
}

static husk_status check_matrix(const husk_verify_array *matrix, bool is_read, const char *argument,
                                const husk__scope *scope)
{
    const husk_status status = husk__verify_check_real(matrix, is_read, argument, scope);
    if (status == HUSK_OK && matrix->rank != 2 && matrix->rank != 3)
        return husk__reject(scope, argument, "has rank %d; a matrix has 2, a batch of matrices 3", (int)matrix->rank);
    return status;
}

static husk_status check_sizes(const husk_gemm_params *params, const husk_verify_array *a, const husk_verify_array *b,
                               const husk_verify_array *c, const husk__scope *scope)
{
    const int64_t m = extent_of(a, params->transpose_a, 0), k = extent_of(a, params->transpose_a, 1);
    const int64_t n = extent_of(b, params->transpose_b, 1), other = extent_of(b, params->transpose_b, 0);
    if (other != k)
        return husk__reject(scope, "b", "has k = %lld, a has k = %lld", (long long)other, (long long)k);
    const int64_t shape[] = {batch_of(c), m, n};
    const husk_tensor tensor = husk__verify_tensor(c);
    const husk_status status =
        husk__tensor_check_shape(&tensor, "c", c->rank, c->rank == 3 ? shape : shape + 1, "as a and b make", scope);
    if (status != HUSK_OK)
        return status;
    const husk_verify_array *const factors[] = {a, b};
    for (int i = 0; i < 2; ++i)
        if (batch_of(factors[i]) != 1 && batch_of(factors[i]) != batch_of(c))
            return husk__reject(scope, i ? "b" : "a", "has %lld matrices, c has %lld", (long long)batch_of(factors[i]),
                                (long long)batch_of(c));
    return HUSK_OK;
}

static husk_status check_bias(const husk_verify_array *bias, const husk_verify_array *c, const husk__scope *scope)
{
    if (!bias)
        return HUSK_OK;
    const husk_status status = husk__verify_check_real(bias, true, "bias", scope);
    if (status != HUSK_OK)
        return status;
    const int64_t m = c->shape[c->rank - 2], n = c->shape[c->rank - 1];
    if ((bias->rank == 1 && bias->shape[0] == n) || (bias->rank == 2 && bias->shape[0] == m && bias->shape[1] == 1))
        return HUSK_OK;
    char text[HUSK__SHAPE_TEXT];
    const husk_tensor tensor = husk__verify_tensor(bias);
    return husk__reject(scope, "bias", "is %s; it must be [n] = [%lld] or [m, 1] = [%lld, 1]",
                        husk__shape_text(&tensor, text), (long long)n, (long long)m);
}

husk_status husk_verify_gemm(const husk_gemm_params *params, float alpha, const husk_verify_array *a,
                             const husk_verify_array *b, const husk_verify_array *bias, float beta,
                             const husk_verify_array *c, double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_gemm", error};
    husk_gemm_params own;
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_GEMM_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__epilogue_check(own.activation, own.activation_slope, "activation_slope", &scope);
    if (status == HUSK_OK)
        status = check_matrix(a, alpha != 0.0f, "a", &scope);
    if (status == HUSK_OK)
        status = check_matrix(b, alpha != 0.0f, "b", &scope);
    if (status == HUSK_OK)
        status = check_matrix(c, beta != 0.0f, "c", &scope);
    if (status == HUSK_OK)
        status = check_sizes(&own, a, b, c, &scope);
    if (status == HUSK_OK)
        status = check_bias(bias, c, &scope);
    if (status == HUSK_OK)
        status = husk__verify_check_expected(c, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_a = husk__verify_ref(a), ref_b = husk__verify_ref(b), ref_c = husk__verify_ref(c);
    const husk_ref_array ref_bias = husk__verify_ref(bias);
    const husk_ref_gemm op = {.params = &own,
                              .alpha = alpha,
                              .beta = beta,
                              .a = &ref_a,
                              .b = &ref_b,
                              .c = &ref_c,
                              .bias = bias ? &ref_bias : NULL};
    const husk_ref_function function = husk_ref_gemm_function(&op);
    husk__verify_evaluate(&function, c->dtype, expected, bounds);
    return HUSK_OK;
}
