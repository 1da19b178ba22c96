// SPDX-License-Identifier: MIT
// Gradients of activations: validate -> resolve -> choose -> launch. Kernels: cl/elementwise/activation_backward_*.cl.
#include <husk/ops/activation.h>

#include <math.h>

#include <string.h>

#include "base/epilogue.h"
#include "base/params.h"
#include "ops/elementwise/elementwise.h"

// Kinds that are taken from y: ACT_SIGMOID_Y and ACT_TANH_Y in cl/lib/activation_gradient.clh.
enum { SIGMOID_Y = 100, TANH_Y = 101 };

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__elementwise *own = untyped;
    (void)given;
    husk__elementwise_write_case(own, "activation", "act", husk_act_name(HUSK_ACT_RELU), true, c);
    if (!strcmp(own->function, husk_act_name(HUSK_ACT_LEAKY_RELU)) && own->numbers[1] != 0.01f)
        husk__case_note(c, "slope %g", (double)own->numbers[1]);
}

const husk__op husk__op_activation_backward = {
    .name = "activation_backward", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

static husk_status check_params(const husk_activation_params *params, const husk_tensor *x, const husk_tensor *y,
                                const husk__scope *scope)
{
    husk_status status = husk__epilogue_check(params->activation, params->slope, "slope", scope);
    if (status != HUSK_OK)
        return status;
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (!x && !y)
        return husk__reject(scope, "x", "is NULL, and so is y");
    const husk__epilogue activation = husk__epilogue_resolve(params->activation, params->slope);
    if (!x && !husk__epilogue_has_inverse(&activation))
        return husk__reject(scope, "x", "is NULL, but the gradient of %s does not follow from y%s",
                            husk_act_name(params->activation),
                            params->activation == HUSK_ACT_LEAKY_RELU ? " with this slope" : "");
    return HUSK_OK;
}

// A bound that the kind does not have is NaN, which no number reaches.
static float bound_of(float bound)
{
    return isfinite(bound) ? bound : NAN;
}

static husk__elementwise resolve(const husk_activation_params *params, bool is_from_y)
{
    const husk__epilogue activation = husk__epilogue_resolve(params->activation, params->slope);
    husk__elementwise own = {.inputs = 2,
                             .kind = activation.is_smooth ? (int32_t)activation.activation : 0,
                             .numbers = {bound_of(activation.low), activation.slope, bound_of(activation.high)},
                             .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0,
                             .is_smooth = activation.is_smooth,
                             .function = husk_act_name(activation.activation),
                             .options = activation.is_smooth ? " -DACT_SMOOTH" : ""};
    if (is_from_y && activation.is_smooth)
        own.kind = activation.activation == HUSK_ACT_TANH ? TANH_Y : SIGMOID_Y;
    return own;
}

husk_status husk_activation_backward(husk_queue *queue, const husk_activation_params *params, const husk_tensor *x,
                                     const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_activation_params given;
    husk_status status = husk__call_begin(queue, "husk_activation_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_ACTIVATION_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check_params(&given, x, y, &scope);
    if (status == HUSK_OK)
        status = husk__elementwise_check_backward(queue, x, y, dy, dx, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__epilogue activation = husk__epilogue_resolve(given.activation, given.slope);
    const bool is_from_y = y && husk__epilogue_has_inverse(&activation);
    const husk__elementwise_arguments tensors = {dx, {dy, is_from_y ? y : x}};
    return husk__elementwise_call(queue, &husk__op_activation_backward, given.variant, resolve(&given, is_from_y),
                                  &tensors, &scope);
}

// Both programs of the device's variant.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_act activations[] = {HUSK_ACT_RELU, HUSK_ACT_GELU};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = activations[i]);
        status = husk__elementwise_prewarm(queue, &husk__op_activation_backward, resolve(&params, false), scope);
    }
    return status;
}
