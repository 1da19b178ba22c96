/* SPDX-License-Identifier: MIT */
/*
 * base/epilogue.h: an activation as kernels take it (cl/lib/activation.clh), alone or after another operator; and the
 * checks of the options that operators share.
 */
#ifndef HUSK_BASE_EPILOGUE_H
#define HUSK_BASE_EPILOGUE_H

#include <husk/ops/activation.h>
#include <husk/plan.h>

#include "base/error.h"

typedef struct husk__epilogue {
    husk_act activation;
    float low, slope, high; /* the piecewise linear kinds as numbers; a smooth kind's are the identity's */
    bool is_smooth;         /* the program must be built with -DACT_SMOOTH */
} husk__epilogue;

/* params' activation and slope; slope_name is the slope's name in the operator's params. */
husk_status husk__epilogue_check(husk_act activation, float slope, const char *slope_name, const husk__scope *scope);
/* slope: LEAKY_RELU's, 0 included; the other kinds have none. With 0 it is RELU, but of -infinity: 0 times that. */
husk__epilogue husk__epilogue_resolve(husk_act activation, float slope);
/* Whether the derivative is a function of the result. */
bool husk__epilogue_has_inverse(const husk__epilogue *activation);

husk_status husk__precision_check(husk_precision precision, const husk__scope *scope);

#endif
