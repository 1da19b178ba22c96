// SPDX-License-Identifier: MIT
// What is computed element by element: activations, functions of one number and of two.
#include <math.h>

#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "ref/elementwise/activation.h"
#include "ref/elementwise/binary.h"
#include "ref/elementwise/unary.h"
#include "verify/array.h"

static husk_status check_alike(const husk_verify_array *x, const husk_verify_array *y, const double *expected,
                               const husk__scope *scope)
{
    const husk_status status = husk__verify_check_real(x, true, "x", scope);
    return status == HUSK_OK ? husk__verify_check_output(y, "y", x->rank, x->shape, "as x", expected, scope) : status;
}

husk_status husk_verify_activation(const husk_activation_params *params, const husk_verify_array *x,
                                   const husk_verify_array *y, double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_activation", error};
    husk_activation_params own;
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_ACTIVATION_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__epilogue_check(own.activation, own.slope, "slope", &scope);
    if (status == HUSK_OK)
        status = check_alike(x, y, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x);
    const husk_ref_activation op = {.params = &own, .x = &ref_x};
    const husk_ref_function function = husk_ref_activation_function(&op);
    husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return HUSK_OK;
}

static husk_status check_unary(const husk_unary_params *params, const husk__scope *scope)
{
    bool is_known = false;
#define KNOWN(name, number, ...) is_known = is_known || params->op == HUSK_UNARY_##name;
    HUSK_UNARY_LIST(KNOWN)
#undef KNOWN
    if (!is_known)
        return husk__reject(scope, "params", "op %d is none of husk_unary_op", (int)params->op);
    if (params->op == HUSK_UNARY_CLAMP && (isnan(params->low) || isnan(params->high)))
        return husk__reject(scope, "params", "%s is NaN", isnan(params->low) ? "low" : "high");
    if (params->op == HUSK_UNARY_POWER && isnan(params->exponent))
        return husk__reject(scope, "params", "exponent is NaN");
    return HUSK_OK;
}

husk_status husk_verify_unary(const husk_unary_params *params, const husk_verify_array *x, const husk_verify_array *y,
                              double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_unary", error};
    husk_unary_params own;
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_UNARY_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check_unary(&own, &scope);
    if (status == HUSK_OK)
        status = check_alike(x, y, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x);
    const husk_ref_unary op = {.params = &own, .x = &ref_x};
    const husk_ref_function function = husk_ref_unary_function(&op);
    husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return HUSK_OK;
}

static husk_status check_binary(const husk_binary_params *params, const husk__scope *scope)
{
    bool is_known = false;
#define KNOWN(name, number, ...) is_known = is_known || params->op == HUSK_BINARY_##name;
    HUSK_BINARY_LIST(KNOWN)
#undef KNOWN
    if (!is_known)
        return husk__reject(scope, "params", "op %d is none of husk_binary_op", (int)params->op);
    if (!isfinite(params->alpha) || !isfinite(params->beta))
        return husk__reject(scope, "params", "%s is not finite", isfinite(params->alpha) ? "beta" : "alpha");
    return HUSK_OK;
}

static husk_status check_broadcast(const husk_verify_array *a, const husk_verify_array *b, const husk_verify_array *y,
                                   const double *expected, const husk__scope *scope)
{
    char text[HUSK__SHAPE_TEXT];
    husk_status status = husk__verify_check_real(a, true, "a", scope);
    if (status == HUSK_OK)
        status = husk__verify_check_real(b, true, "b", scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor_a = husk__verify_tensor(a), tensor_b = husk__verify_tensor(b);
    husk_tensor shape = tensor_a;
    if (!husk__tensor_broadcast(&tensor_b, &shape))
        return husk__reject(scope, "b", "its shape does not go with a's, %s", husk__shape_text(&tensor_a, text));
    return husk__verify_check_output(y, "y", shape.rank, shape.shape, "the broadcast shape of a and b", expected,
                                     scope);
}

husk_status husk_verify_binary(const husk_binary_params *params, const husk_verify_array *a, const husk_verify_array *b,
                               const husk_verify_array *y, double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_binary", error};
    const husk_binary_params defaults = husk_binary_defaults(HUSK_BINARY_ADD);
    husk_binary_params own;
    husk_status status =
        husk__params_read(&own, sizeof own, "husk_binary_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = check_binary(&own, &scope);
    if (status == HUSK_OK)
        status = check_broadcast(a, b, y, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_a = husk__verify_ref(a), ref_b = husk__verify_ref(b);
    const husk_ref_binary op = {.params = &own, .a = &ref_a, .b = &ref_b};
    const husk_ref_function function = husk_ref_binary_function(&op);
    husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return HUSK_OK;
}
