// SPDX-License-Identifier: MIT
#include "ref/conv/conv.h"

#include "base/epilogue.h"
#include "base/params.h"
#include "base/tensor.h"
#include "verify/array.h"
#include "verify/window.h"

static husk_status check_channels(const husk_conv_params *params, const husk_verify_array *x,
                                  const husk_verify_array *w, const husk__scope *scope)
{
    const int64_t groups = params->groups ? params->groups : 1;
    if (groups < 1)
        return husk__reject(scope, "params", "groups is %lld, must be at least 1", (long long)groups);
    if (x->rank < 3 || x->rank > 2 + HUSK_MAX_SPACE)
        return husk__reject(scope, "x", "rank is %d, must be 3, 4 or 5", (int)x->rank);
    if (w->rank != x->rank)
        return husk__reject(scope, "w", "rank is %d, must be x's, %d", (int)w->rank, (int)x->rank);
    if (x->shape[1] % groups)
        return husk__reject(scope, "x", "has %lld channels, no multiple of groups, %lld", (long long)x->shape[1],
                            (long long)groups);
    if (w->shape[1] != x->shape[1] / groups)
        return husk__reject(scope, "w", "has %lld channels, must have %lld: x's, divided by groups",
                            (long long)w->shape[1], (long long)(x->shape[1] / groups));
    if (w->shape[0] % groups)
        return husk__reject(scope, "w", "has %lld filters, no multiple of groups, %lld", (long long)w->shape[0],
                            (long long)groups);
    return HUSK_OK;
}

static husk_status check_space(const husk_conv_params *params, const husk_verify_array *x, const husk_verify_array *w,
                               const husk__scope *scope)
{
    for (int32_t d = 0; d < x->rank - 2; ++d) {
        const husk__verify_window window = {.in = x->shape[2 + d],
                                            .size = w->shape[2 + d],
                                            .stride = params->stride[d],
                                            .pad = params->pad[d],
                                            .pad_end_extra = params->pad_end_extra[d],
                                            .dilation = params->dilation[d]};
        if (window.size < 1)
            return husk__reject(scope, "w", "dimension %d is 0; a filter has at least one element", (int)(2 + d));
        const husk_status status = husk__verify_check_window(&window, d, scope);
        if (status != HUSK_OK)
            return status;
    }
    return HUSK_OK;
}

static husk_status check_bias(const husk_verify_array *bias, int64_t filters, const husk__scope *scope)
{
    if (!bias)
        return HUSK_OK;
    const husk_status status = husk__verify_check_real(bias, true, "bias", scope);
    if (status != HUSK_OK)
        return status;
    const husk_tensor tensor = husk__verify_tensor(bias);
    return husk__tensor_check_shape(&tensor, "bias", 1, &filters, "one for each filter", scope);
}

husk_status husk_verify_conv(const husk_conv_params *params, const husk_verify_array *x, const husk_verify_array *w,
                             const husk_verify_array *bias, const husk_verify_array *y, double *expected,
                             double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_conv", error};
    husk_conv_params own;
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_CONV_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__epilogue_check(own.activation, own.activation_slope, "activation_slope", &scope);
    if (status == HUSK_OK)
        status = husk__verify_check_real(x, true, "x", &scope);
    if (status == HUSK_OK)
        status = husk__verify_check_real(w, true, "w", &scope);
    if (status == HUSK_OK)
        status = check_channels(&own, x, w, &scope);
    if (status == HUSK_OK)
        status = check_space(&own, x, w, &scope);
    if (status == HUSK_OK)
        status = check_bias(bias, w->shape[0], &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x), ref_w = husk__verify_ref(w), ref_bias = husk__verify_ref(bias);
    const husk_ref_conv op = {.params = &own, .x = &ref_x, .w = &ref_w, .bias = bias ? &ref_bias : NULL};
    const husk_ref_function function = husk_ref_conv_function(&op);
    status =
        husk__verify_check_output(y, "y", function.rank, function.shape, "as x, w and params make", expected, &scope);
    if (status == HUSK_OK)
        husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return status;
}
