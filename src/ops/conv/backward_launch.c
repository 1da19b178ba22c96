// SPDX-License-Identifier: MIT
// What the variants of convolution's gradients do alike: counting products, and arguments of their kernels.
#include <math.h>
#include <string.h>

#include "ops/conv/backward_problem.h"

int64_t husk__conv_backward_data_products(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->filters * g->kernel[0] * g->kernel[1] * g->kernel[2];
}

double husk__conv_backward_data_error_factor(const husk__candidate *candidate)
{
    return 4.0 + 2.0 * sqrt((double)husk__conv_backward_data_products(candidate->problem));
}

int64_t husk__conv_backward_weights_products(const husk__conv_problem *problem)
{
    const husk__conv_geometry *g = &problem->geometry;
    return g->batch * g->out[0] * g->out[1] * g->out[2];
}

double husk__conv_backward_weights_error_factor(const husk__candidate *candidate)
{
    return 4.0 + 2.0 * sqrt((double)husk__conv_backward_weights_products(candidate->problem));
}

// ---- launching ----

int32_t husk__conv_backward_flags(const husk__conv_problem *problem, husk_dtype output)
{
    enum { ACCUMULATE = 1, WIDE = 2 };
    return (problem->accumulates ? ACCUMULATE : 0) | (output != problem->dtype ? WIDE : 0);
}

size_t husk__conv_backward_w_arguments(husk__arg *list, const husk__conv_problem *problem)
{
    for (int i = 0; i < 5; ++i)
        list[i] = HUSK__ARG_I64(problem->geometry.w_strides[i]);
    list[5] = HUSK__ARG_I32(husk__conv_backward_flags(problem, problem->w.dtype));
    return HUSK__CONV_W_ARGUMENTS;
}

// Dimensions of dy that lie one after the other are one.
husk_status husk__conv_backward_bias_launch(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                            const husk__range *range, const husk_tensor *dy, const husk_tensor *dbias,
                                            const husk__scope *scope)
{
    const husk__conv_problem *problem = plan->problem;
    const husk__conv_geometry *g = &problem->geometry;
    int64_t out[3] = {g->out[0], g->out[1], g->out[2]};
    int64_t strides[5];
    memcpy(strides, g->y_strides, sizeof strides);
    if (strides[3] == out[2] * strides[4] || out[1] == 1) {
        out[2] *= out[1];
        out[1] = 1;
        if (strides[2] == out[2] * strides[4] || out[0] == 1) {
            out[2] *= out[0];
            out[0] = 1;
        }
    }
    return HUSK__LAUNCH(queue, kernel, range, scope, HUSK__ARG_TENSOR(dy), HUSK__ARG_TENSOR(dbias),
                        HUSK__ARG_I32(g->batch), HUSK__ARG_I32(problem->y.shape[1]), HUSK__ARG_I32(out[0]),
                        HUSK__ARG_I32(out[1]), HUSK__ARG_I32(out[2]), HUSK__ARG_I64(strides[0]),
                        HUSK__ARG_I64(strides[1]), HUSK__ARG_I64(strides[2]), HUSK__ARG_I64(strides[3]),
                        HUSK__ARG_I64(strides[4]), HUSK__ARG_I64(problem->bias.strides[0]),
                        HUSK__ARG_I32(husk__conv_backward_flags(problem, dbias->dtype)));
}
