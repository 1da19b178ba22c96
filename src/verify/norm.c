// SPDX-License-Identifier: MIT
#include "ref/norm/norm.h"

#include <math.h>

#include "base/axis.h"
#include "base/params.h"
#include "base/tensor.h"
#include "verify/array.h"

// The arrays of a call.
typedef struct norm_arrays {
    const husk_verify_array *x, *scale, *bias, *running_mean, *running_variance, *y;
} norm_arrays;

static bool is_trailing(const husk_norm_params *params)
{
    return params->kind == HUSK_NORM_LAYER || params->kind == HUSK_NORM_RMS;
}

static husk_status check_params(const husk_norm_params *params, const husk__scope *scope)
{
    if ((uint32_t)params->kind > (uint32_t)HUSK_NORM_BATCH)
        return husk__reject(scope, "params", "kind is %d, which is none", (int)params->kind);
    if (!isfinite(params->epsilon) || params->epsilon < 0)
        return husk__reject(scope, "params", "epsilon is %g, must be finite and not negative", (double)params->epsilon);
    if (params->training && params->kind != HUSK_NORM_BATCH)
        return husk__reject(scope, "params", "training is not 0, but kind is not BATCH");
    if (params->groups && params->kind != HUSK_NORM_GROUP)
        return husk__reject(scope, "params", "groups is %u, but kind is not GROUP", (unsigned)params->groups);
    return HUSK_OK;
}

static husk_status check_x(const husk_norm_params *params, const husk_verify_array *x, const husk__scope *scope)
{
    const husk_status status = husk__verify_check_real(x, true, "x", scope);
    if (status != HUSK_OK)
        return status;
    const int32_t least = is_trailing(params) ? 1 : 2;
    if (x->rank < least)
        return husk__reject(scope, "x", "rank is %d, must be %d to %d", (int)x->rank, (int)least, HUSK_MAX_RANK);
    if (is_trailing(params) && husk__axis_dimension(params->axis, x->rank) < 0)
        return husk__reject(scope, "params", "axis " HUSK__AXIS_TEXT, HUSK__AXIS_VALUES(params->axis, x->rank, "x"));
    if (params->groups && x->shape[1] % params->groups)
        return husk__reject(scope, "params", "groups is %u, must divide x's %lld channels", (unsigned)params->groups,
                            (long long)x->shape[1]);
    const husk_tensor tensor = husk__verify_tensor(x);
    const int64_t count = husk__tensor_count(&tensor);
    if (params->training && count > 0 && count == x->shape[1])
        return husk__reject(scope, "x", "has one element a channel; training needs two at least");
    return HUSK_OK;
}

// Scale, bias or a running statistic; NULL is none.
static husk_status check_small(const husk_norm_params *params, const husk_verify_array *x,
                               const husk_verify_array *small, const char *argument, const husk__scope *scope)
{
    if (!small)
        return HUSK_OK;
    const husk_status status = husk__verify_check_real(small, true, argument, scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor = husk__verify_tensor(small);
    const int32_t first = is_trailing(params) ? husk__axis_dimension(params->axis, x->rank) : 1;
    const int32_t rank = is_trailing(params) ? x->rank - first : 1;
    return husk__tensor_check_shape(&tensor, argument, rank, x->shape + first, "by x and kind", scope);
}

static husk_status check_running(const husk_norm_params *params, const norm_arrays *given, const husk__scope *scope)
{
    const husk_verify_array *const both[] = {given->running_mean, given->running_variance};
    static const char *const names[] = {"running_mean", "running_variance"};
    for (int i = 0; i < 2; ++i) {
        if (both[i] && params->kind != HUSK_NORM_BATCH)
            return husk__reject(scope, names[i], "must be NULL: kind is not BATCH");
        if (!both[i] && params->kind == HUSK_NORM_BATCH && !params->training)
            return husk__reject(scope, names[i], "is NULL, but BATCH without training needs it");
        const husk_status status = check_small(params, given->x, both[i], names[i], scope);
        if (status != HUSK_OK)
            return status;
    }
    return HUSK_OK;
}

static husk_status check(const husk_norm_params *params, const norm_arrays *given, const double *expected,
                         const husk__scope *scope)
{
    husk_status status = check_params(params, scope);
    if (status == HUSK_OK)
        status = check_x(params, given->x, scope);
    if (status == HUSK_OK)
        status = check_small(params, given->x, given->scale, "scale", scope);
    if (status == HUSK_OK)
        status = check_small(params, given->x, given->bias, "bias", scope);
    if (status == HUSK_OK)
        status = check_running(params, given, scope);
    if (status == HUSK_OK)
        status = husk__verify_check_output(given->y, "y", given->x->rank, given->x->shape, "as x", expected, scope);
    return status;
}

husk_status husk_verify_norm(const husk_norm_params *params, const husk_verify_array *x, const husk_verify_array *scale,
                             const husk_verify_array *bias, const husk_verify_array *running_mean,
                             const husk_verify_array *running_variance, const husk_verify_array *y, double *expected,
                             double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_norm", error};
    const husk_norm_params defaults = husk_norm_defaults(HUSK_NORM_LAYER);
    const norm_arrays given = {x, scale, bias, running_mean, running_variance, y};
    husk_norm_params own;
    husk_status status = husk__params_read(&own, sizeof own, "husk_norm_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = check(&own, &given, expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x), ref_scale = husk__verify_ref(scale),
                         ref_bias = husk__verify_ref(bias), ref_mean = husk__verify_ref(running_mean),
                         ref_variance = husk__verify_ref(running_variance);
    husk_ref_norm op = {.params = &own,
                        .x = &ref_x,
                        .scale = scale ? &ref_scale : NULL,
                        .bias = bias ? &ref_bias : NULL,
                        .running_mean = running_mean ? &ref_mean : NULL,
                        .running_variance = running_variance ? &ref_variance : NULL};
    if (husk_ref_array_count(&ref_x) == 0)
        return HUSK_OK;
    if (!husk_ref_norm_prepare(&op))
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the sets' statistics");
    const husk_ref_norm_question question = {.op = &op, .output = HUSK_REF_NORM_Y};
    const husk_ref_function function = husk_ref_norm_function(&question);
    husk__verify_evaluate(&function, y->dtype, expected, bounds);
    husk_ref_norm_release(&op);
    return HUSK_OK;
}
