// SPDX-License-Identifier: MIT
// Gradients of functions of one number: validate -> resolve -> choose -> launch. Kernels:
// cl/elementwise/unary_backward_*.cl.
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
    husk__elementwise_write_case(own, "unary", "op", husk_unary_name(HUSK_UNARY_EXP), true, c);
    if (!strcmp(own->function, husk_unary_name(HUSK_UNARY_CLAMP)))
        husk__case_note(c, "from %g to %g", (double)own->numbers[0], (double)own->numbers[1]);
    if (!strcmp(own->function, husk_unary_name(HUSK_UNARY_POWER)))
        husk__case_note(c, "exponent %g", (double)own->numbers[0]);
}

const husk__op husk__op_unary_backward = {
    .name = "unary_backward", HUSK__ELEMENTWISE_OP, .prewarm = prewarm, .write_case = write_case};

// The kernels' kinds that take the gradient from y, beside husk_unary_op's numbers: UNARY_..._Y in cl/lib/unary.clh.
enum { RECIPROCAL_Y = 100, SQRT_Y, RSQRT_Y, EXP_Y, EXPM1_Y };

// Which of them, or the operator's own where both are the same; -1: none.
static int32_t kind_of_y(husk_unary_op op)
{
    switch (op) {
    case HUSK_UNARY_NEGATE:
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
        return (int32_t)op;
    case HUSK_UNARY_RECIPROCAL:
        return RECIPROCAL_Y;
    case HUSK_UNARY_SQRT:
        return SQRT_Y;
    case HUSK_UNARY_RSQRT:
        return RSQRT_Y;
    case HUSK_UNARY_EXP:
        return EXP_Y;
    case HUSK_UNARY_EXPM1:
        return EXPM1_Y;
    default:
        return -1;
    }
}

static husk_status check_params(const husk_unary_params *params, const husk_tensor *x, const husk_tensor *y,
                                const husk__scope *scope)
{
    if ((int)params->op < HUSK_UNARY_NEGATE || params->op > HUSK_UNARY_POWER)
        return husk__reject(scope, "params", "op %d is none of husk_unary_op", (int)params->op);
    if (params->op == HUSK_UNARY_CLAMP && (isnan(params->low) || isnan(params->high)))
        return husk__reject(scope, "params", "%s is NaN", isnan(params->low) ? "low" : "high");
    if (params->op == HUSK_UNARY_POWER && isnan(params->exponent))
        return husk__reject(scope, "params", "exponent is NaN");
    if (params->accumulate > HUSK_ACCUMULATE_ALL)
        return husk__reject(scope, "params", "accumulate %u has bits that mean nothing", (unsigned)params->accumulate);
    if (!x && !y)
        return husk__reject(scope, "x", "is NULL, and so is y");
    if (!x && kind_of_y(params->op) < 0)
        return husk__reject(scope, "x", "is NULL, but the gradient of %s does not follow from y",
                            husk_unary_name(params->op));
    return HUSK_OK;
}

static husk__elementwise resolve(const husk_unary_params *params, bool is_from_y)
{
    const bool is_smooth = !is_from_y && params->op >= HUSK_UNARY_EXP;
    husk__elementwise own = {.inputs = 2,
                             .kind = is_from_y ? kind_of_y(params->op) : (int32_t)params->op,
                             .adds = (params->accumulate & HUSK_ACCUMULATE_INPUTS) != 0,
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

husk_status husk_unary_backward(husk_queue *queue, const husk_unary_params *params, const husk_tensor *x,
                                const husk_tensor *y, const husk_tensor *dy, const husk_tensor *dx)
{
    husk__scope scope;
    husk_unary_params given;
    husk_status status = husk__call_begin(queue, "husk_unary_backward", &scope);
    if (status == HUSK_OK)
        status = husk__params_read(&given, sizeof given, "HUSK_UNARY_PARAMS", params, &scope);
    if (status == HUSK_OK)
        status = check_params(&given, x, y, &scope);
    if (status == HUSK_OK)
        status = husk__elementwise_check_backward(queue, x, y, dy, dx, &scope);
    if (status != HUSK_OK)
        return status;
    const bool is_from_y = y && kind_of_y(given.op) >= 0;
    const husk__elementwise_arguments tensors = {dx, {dy, is_from_y ? y : x}};
    return husk__elementwise_call(queue, &husk__op_unary_backward, given.variant, resolve(&given, is_from_y), &tensors,
                                  &scope);
}

// Both programs of the device's variant.
static husk_status prewarm(husk_queue *queue, const husk__scope *scope)
{
    const husk_unary_op ops[] = {HUSK_UNARY_NEGATE, HUSK_UNARY_EXP};
    husk_status status = HUSK_OK;
    for (int i = 0; i < 2 && status == HUSK_OK; ++i) {
        const husk_unary_params params = HUSK_UNARY_PARAMS(.op = ops[i]);
        status = husk__elementwise_prewarm(queue, &husk__op_unary_backward, resolve(&params, false), scope);
    }
    return status;
}
