// SPDX-License-Identifier: MIT
#include "base/epilogue.h"

#include <math.h>

husk_status husk__epilogue_check(husk_act activation, float slope, const char *slope_name, const husk__scope *scope)
{
    if ((int)activation < HUSK_ACT_NONE || activation > HUSK_ACT_TANH)
        return husk__reject(scope, "params", "activation %d is none of husk_act", (int)activation);
    if (!isfinite(slope))
        return husk__reject(scope, "params", "%s is not finite", slope_name);
    return HUSK_OK;
}

husk__epilogue husk__epilogue_resolve(husk_act activation, float slope)
{
    husk__epilogue epilogue = {.activation = activation, .low = -INFINITY, .slope = 1.0f, .high = INFINITY};
    if (activation == HUSK_ACT_RELU || activation == HUSK_ACT_RELU6)
        epilogue.low = 0.0f;
    if (activation == HUSK_ACT_RELU6)
        epilogue.high = 6.0f;
    if (activation == HUSK_ACT_LEAKY_RELU)
        epilogue.slope = slope;
    epilogue.is_smooth = activation >= HUSK_ACT_GELU;
    return epilogue;
}

bool husk__epilogue_has_inverse(const husk__epilogue *activation)
{
    switch (activation->activation) {
    case HUSK_ACT_NONE:
    case HUSK_ACT_RELU:
    case HUSK_ACT_RELU6:
    case HUSK_ACT_SIGMOID:
    case HUSK_ACT_TANH:
        return true;
    case HUSK_ACT_LEAKY_RELU:
        return activation->slope >= 0.0f;
    default:
        return false;
    }
}

husk_status husk__precision_check(husk_precision precision, const husk__scope *scope)
{
    if ((int)precision < HUSK_PRECISION_DEFAULT || precision > HUSK_PRECISION_MEDIUM)
        return husk__reject(scope, "params", "precision %d is none of husk_precision", (int)precision);
    return HUSK_OK;
}
