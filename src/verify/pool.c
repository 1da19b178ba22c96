// SPDX-License-Identifier: MIT
#include "ref/pool/pool.h"

#include "base/params.h"
#include "verify/array.h"
#include "verify/window.h"

static husk_status check_dimension(const husk_pool_params *params, const husk_verify_array *x, int32_t d,
                                   const husk__scope *scope)
{
    const husk__verify_window window = {.in = x->shape[2 + d],
                                        .size = params->window[d],
                                        .stride = params->stride[d],
                                        .pad = params->pad[d],
                                        .pad_end_extra = params->pad_end_extra[d],
                                        .dilation = params->dilation[d]};
    if (params->global) {
        if (window.size || window.stride || window.pad || window.pad_end_extra || window.dilation)
            return husk__reject(scope, "params",
                                "global is set, so window, stride, pad, pad_end_extra and dilation must be 0");
        return HUSK_OK;
    }
    if (window.size < 1)
        return husk__reject(scope, "params", "window[%d] is %lld, must be at least 1", (int)d, (long long)window.size);
    const husk_status status = husk__verify_check_window(&window, d, scope);
    if (status != HUSK_OK)
        return status;
    const int64_t extent = (window.dilation ? window.dilation : 1) * (window.size - 1) + 1;
    if (window.pad >= extent || window.pad + window.pad_end_extra >= extent)
        return husk__reject(scope, "params", "%s[%d] is not less than the window's extent of %lld",
                            window.pad >= extent ? "pad" : "pad plus pad_end_extra", (int)d, (long long)extent);
    return HUSK_OK;
}

husk_status husk_verify_pool(const husk_pool_params *params, const husk_verify_array *x, const husk_verify_array *y,
                             double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_pool", error};
    husk_pool_params own;
    if (!params)
        return husk__reject(&scope, "params", "is NULL");
    husk_status status = husk__params_read(&own, sizeof own, "HUSK_POOL_PARAMS", params, &scope);
    if (status == HUSK_OK && own.kind != HUSK_POOL_MAX && own.kind != HUSK_POOL_AVG)
        status = husk__reject(&scope, "params", "kind is %d, which is none", (int)own.kind);
    if (status == HUSK_OK)
        status = husk__verify_check_real(x, true, "x", &scope);
    if (status == HUSK_OK && (x->rank < 3 || x->rank > 2 + HUSK_MAX_SPACE))
        status = husk__reject(&scope, "x", "rank is %d, must be 3, 4 or 5", (int)x->rank);
    for (int32_t d = 0; status == HUSK_OK && d < x->rank - 2; ++d)
        status = check_dimension(&own, x, d, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x);
    const husk_ref_pool op = {.params = &own, .x = &ref_x};
    const husk_ref_function function = husk_ref_pool_function(&op);
    status = husk__verify_check_output(y, "y", function.rank, function.shape, "as x and params make", expected, &scope);
    if (status == HUSK_OK)
        husk__verify_evaluate(&function, y->dtype, expected, bounds);
    return status;
}
