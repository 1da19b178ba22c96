// SPDX-License-Identifier: MIT
#include "ref/softmax/softmax.h"

#include "base/axis.h"
#include "base/params.h"
#include "verify/array.h"

husk_status husk_verify_softmax(const husk_softmax_params *params, const husk_verify_array *x,
                                const husk_verify_array *y, double *expected, double *bounds, husk_error *error)
{
    const husk__scope scope = {"husk_verify_softmax", error};
    const husk_softmax_params defaults = husk_softmax_defaults();
    husk_softmax_params own;
    husk_status status =
        husk__params_read(&own, sizeof own, "husk_softmax_defaults", params ? params : &defaults, &scope);
    if (status == HUSK_OK)
        status = husk__verify_check_real(x, true, "x", &scope);
    if (status == HUSK_OK && x->rank < 1)
        status = husk__reject(&scope, "x", "rank is 0, must be 1 to %d", HUSK_MAX_RANK);
    if (status == HUSK_OK && husk__axis_dimension(own.axis, x->rank) < 0)
        status = husk__reject(&scope, "params", "axis " HUSK__AXIS_TEXT, HUSK__AXIS_VALUES(own.axis, x->rank, "x"));
    if (status == HUSK_OK)
        status = husk__verify_check_output(y, "y", x->rank, x->shape, "as x", expected, &scope);
    if (status != HUSK_OK)
        return status;
    const husk_ref_array ref_x = husk__verify_ref(x);
    husk_ref_softmax op = {.params = &own, .x = &ref_x};
    if (!husk_ref_softmax_prepare(&op))
        return husk__fail(&scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the rows' sums");
    const husk_ref_function function = husk_ref_softmax_function(&op);
    husk__verify_evaluate(&function, y->dtype, expected, bounds);
    husk_ref_softmax_release(&op);
    return HUSK_OK;
}
