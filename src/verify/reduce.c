// SPDX-License-Identifier: MIT
#include "ref/reduce/reduce.h"

#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "verify/array.h"

static husk_status check_axes(const husk_reduce_params *params, int32_t rank, uint32_t *reduced,
                              const husk__scope *scope)
{
    *reduced = params->axis_count == 0 ? (1u << rank) - 1 : 0;
    if (params->axis_count < 0 || params->axis_count > HUSK_MAX_RANK)
        return husk__reject(scope, "params", "axis_count is %d, must be 0 to %d", (int)params->axis_count,
                            HUSK_MAX_RANK);
    for (int32_t i = 0; i < params->axis_count; ++i) {
        const int32_t dimension = husk__axis_dimension(params->axes[i], rank);
        if (dimension < 0)
            return husk__reject(scope, "params", "axes[%d] " HUSK__AXIS_TEXT, (int)i,
                                HUSK__AXIS_VALUES(params->axes[i], rank, "x"));
        if (*reduced >> dimension & 1)
            return husk__reject(scope, "params", "axes[%d] is %d, a dimension that is named already", (int)i,
                                (int)params->axes[i]);
        *reduced |= 1u << dimension;
    }
    return HUSK_OK;
}

static bool has_shape(const husk_verify_array *y, const husk_ref_function *function)
{
    bool is_same = y->rank == function->rank;
    for (int32_t d = 0; is_same && d < y->rank; ++d)
        is_same = y->shape[d] == function->shape[d];
    return is_same;
}

static husk_status check_output(const husk_reduce_params *params, const husk_verify_array *y, const husk__scope *scope)
{
    if (params->kind != HUSK_REDUCE_ARGMAX && params->kind != HUSK_REDUCE_ARGMIN)
        return husk__verify_check_real(y, false, "y", scope);
    const husk_status status = husk__verify_check(y, false, "y", scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor = husk__verify_tensor(y);
    return husk__tensor_check_indices(&tensor, "y", scope);
}

// Of nothing there is no largest element.
static husk_status check_empty(const husk_reduce_params *params, const husk_verify_array *x, uint32_t reduced,
                               const husk_verify_array *y, const husk__scope *scope)
{
    bool is_empty = false;
    const husk_tensor tensor = husk__verify_tensor(y);
    for (int32_t d = 0; d < x->rank; ++d)
        is_empty = is_empty || ((reduced >> d & 1) && x->shape[d] == 0);
    if (is_empty && husk__tensor_count(&tensor) > 0 && params->kind >= HUSK_REDUCE_MAX &&
        params->kind <= HUSK_REDUCE_ARGMIN)
        return husk__reject(scope, "x", "has no elements, so there is no largest and no smallest one");
    return HUSK_OK;
}

static husk_status check(const husk_reduce_params *params, const husk_verify_array *x, const husk_verify_array *y,
                         const double *expected, const husk__scope *scope)
{
    uint32_t reduced = 0;
    if ((uint32_t)params->kind > HUSK_REDUCE_LOG_SUM_EXP)
        return husk__reject(scope, "params", "kind %d is unknown", (int)params->kind);
    husk_status status = husk__verify_check_real(x, true, "x", scope);
    if (status == HUSK_OK)
        status = check_axes(params, x->rank, &reduced, scope);
    if (status == HUSK_OK)
        status = check_output(params, y, scope);
    if (status == HUSK_OK)
        status = check_empty(params, x, reduced, y, scope);
    return status == HUSK_OK ? husk__verify_check_expected(y, expected, scope) : status;
}

husk_status husk_verify_reduce(const husk_reduce_params *params, const husk_verify_array *x, const husk_verify_array *y,
                               double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_reduce", error};
    husk_reduce_params own;
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_REDUCE_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check(&own, x, y, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x);
    husk_ref_reduce op = {.params = &own, .x = &ref_x};
    husk_ref_function function = husk_ref_reduce_function(&op);
    if (!has_shape(y, &function)) {
        const husk_tensor tensor = husk__verify_tensor(y);
        op.keep = true;
        function = husk_ref_reduce_function(&op);
        status =
            husk__tensor_check_shape(&tensor, "y", function.rank, function.shape, "or without what is reduced", &scope);
    }
    if (status == HUSK_OK)
        husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return status;
}
