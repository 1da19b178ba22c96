// SPDX-License-Identifier: MIT
// Activations alone: validate -> resolve -> choose -> launch. Kernels: cl/elementwise/activation_*.cl.
//
// This is the smallest operator of the house; docs/adding-an-operator.md walks through it.
#include <husk/ops/activation.h>

#include <string.h>

#include "base/epilogue.h"
#include "base/params.h"
#include "ops/elementwise/elementwise.h"

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__elementwise *own = untyped;
    (void)given;
    husk__elementwise_write_case(own, "activation", "act", husk_act_name(HUSK_ACT_RELU), false, c);
    if (!strcmp(own->function, husk_act_name(HUSK_ACT_LEAKY_RELU)) && own->numbers[1] != 0.01f)
        husk__case_note(c, "slope %g", (double)own->numbers[1]);
}

const husk__op husk__op_activation = {
    .name = "activation", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

const char *husk_act_name(husk_act act)
{
    switch (act) {
#define NAME(name, number, text) \
    case HUSK_ACT_##name:        \
        return text;
        HUSK_ACT_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

// The kernel's numbers are the bounds and the slope of the piecewise linear kinds, which share one program.
static husk__elementwise resolve(const husk_activation_params *params)
{
    const husk__epilogue activation = husk__epilogue_resolve(params->activation, params->slope);
    return (husk__elementwise){.inputs = 1,
                               .kind = activation.is_smooth ? (int32_t)activation.activation : 0,
                               .numbers = {activation.low, activation.slope, activation.high},
                               .is_smooth = activation.is_smooth,
                               .function = husk_act_name(activation.activation),
                               .options = activation.is_smooth ? " -DACT_SMOOTH" : ""};
}

husk_status husk_activation(husk_queue *queue, const husk_activation_params *params, const husk_tensor *x,
                            const husk_tensor *y)
{
    husk__scope scope;
    husk_activation_params given;
    husk_status status = husk__call_begin(queue, "husk_activation", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_ACTIVATION_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = husk__epilogue_check(given.activation, given.slope, "slope", &scope);
    if (status == HUSK_OK)
        status = husk__elementwise_check(queue, x, y, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__elementwise_arguments tensors = {y, {x}};
    return husk__elementwise_call(queue, &husk__op_activation, given.variant, resolve(&given), &tensors, &scope);
}

// Both programs of the device's variant.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_act activations[] = {HUSK_ACT_RELU, HUSK_ACT_GELU};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_activation_params params = HUSK_ACTIVATION_PARAMS(.activation = activations[i]);
        status = husk__elementwise_prewarm(queue, &husk__op_activation, resolve(&params), scope);
    }
    return status;
}
