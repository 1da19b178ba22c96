// SPDX-License-Identifier: MIT
// Functions of one number: validate -> resolve -> choose -> launch. Kernels: cl/elementwise/unary_*.cl.
#include <husk/ops/unary.h>

#include <math.h>
#include <stddef.h>

#include <string.h>

#include "base/params.h"
#include "ops/elementwise/elementwise.h"

static husk_status prewarm(husk_queue *queue, const husk__scope *scope);

static void write_case(const void *untyped, const void *given, husk__case *c)
{
    const husk__elementwise *own = untyped;
    (void)given;
    husk__elementwise_write_case(own, "unary", "op", husk_unary_name(HUSK_UNARY_EXP), false, c);
    if (!strcmp(own->function, husk_unary_name(HUSK_UNARY_CLAMP)))
        husk__case_note(c, "from %g to %g", (double)own->numbers[0], (double)own->numbers[1]);
    if (!strcmp(own->function, husk_unary_name(HUSK_UNARY_POWER)))
        husk__case_note(c, "exponent %g", (double)own->numbers[0]);
}

const husk__op husk__op_unary = {.name = "unary", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

const char *husk_unary_name(husk_unary_op op)
{
    switch (op) {
#define NAME(name, number, text) \
    case HUSK_UNARY_##name:      \
        return text;
        HUSK_UNARY_LIST(NAME)
#undef NAME
    }
    return "unknown";
}

static husk_status check_params(const husk_unary_params *params, const husk__scope *scope)
{
    if ((int)params->op < HUSK_UNARY_NEGATE || params->op > HUSK_UNARY_POWER)
        return husk__reject(scope, "params", "op %d is none of husk_unary_op", (int)params->op);
    if (params->op == HUSK_UNARY_CLAMP && (isnan(params->low) || isnan(params->high)))
        return husk__reject(scope, "params", "%s is NaN", isnan(params->low) ? "low" : "high");
    if (params->op == HUSK_UNARY_POWER && isnan(params->exponent))
        return husk__reject(scope, "params", "exponent is NaN");
    return HUSK_OK;
}

// The kernels' kinds are husk_unary_op's numbers; theirs are CLAMP's bounds, or POWER's exponent.
static husk__elementwise resolve(const husk_unary_params *params)
{
    const bool is_smooth = params->op >= HUSK_UNARY_EXP;
    husk__elementwise own = {.inputs = 1,
                             .kind = (int32_t)params->op,
                             .is_smooth = is_smooth,
                             .function = husk_unary_name(params->op),
                             .options = is_smooth ? " -DUNARY_SMOOTH" : ""};
    if (params->op == HUSK_UNARY_CLAMP) {
        own.numbers[0] = params->low;
        own.numbers[1] = params->high;
    } else if (params->op == HUSK_UNARY_POWER) {
        own.numbers[0] = params->exponent;
    }
    return own;
}

husk_status husk_unary(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x, const husk_tensor *y)
{
    husk__scope scope;
    husk_unary_params given;
    husk_status status = husk__call_begin(queue, "husk_unary", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_UNARY_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check_params(&given, &scope);
    if (status == HUSK_OK)
        status = husk__elementwise_check(queue, x, y, &scope);
    if (status != HUSK_OK)
        return status;
    const husk__elementwise_arguments tensors = {y, {x}};
    return husk__elementwise_call(queue, &husk__op_unary, given.variant, resolve(&given), &tensors, &scope);
}

// Both programs of the device's variant.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_unary_op ops[] = {HUSK_UNARY_NEGATE, HUSK_UNARY_EXP};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_unary_params params = HUSK_UNARY_PARAMS(.op = ops[i]);
        status = husk__elementwise_prewarm(queue, &husk__op_unary, resolve(&params), scope);
    }
    return status;
}
