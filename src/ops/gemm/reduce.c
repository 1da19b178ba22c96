// SPDX-License-Identifier: MIT
// The last step of a multiplication as a launch of its own.
#include <math.h>

#include "base/checked.h"
#include "ops/gemm/problem.h"

// At most so many work-groups, each item of which then does several elements: drivers count work-items in 32 bits.
enum { REDUCE_ITEMS = 64, MOST_GROUPS = 32768 };

husk_status husk__gemm_reduce_get(husk_plan *plan, const husk__kernel **kernel, const husk__scope *scope)
{
    char options[64];
    husk__gemm_options(plan->problem, "", options, sizeof options);
    return husk__kernel_get(plan->context, "gemm/reduce.cl", options, "husk_gemm_reduce", kernel, scope);
}

husk_status husk__gemm_reduce_launch(const husk__kernel *kernel, husk_queue *queue, const husk__gemm_problem *problem,
                                     const husk__gemm_reduce *reduce, const husk__gemm_run *run,
                                     const husk__scope *scope)
{
    const husk__gemm_shape *shape = &problem->shape;
    const int64_t elements = shape->batch * shape->m * shape->n;
    const int64_t groups = husk__min_i64(husk__divide_up(elements, REDUCE_ITEMS), MOST_GROUPS);
    const husk__range range = {{(size_t)groups, 1, 1}, {REDUCE_ITEMS, 1, 1}};
    husk__gemm_problem plain = *problem;
    husk__gemm_run bare = *run;
    if (reduce->only_scales) {
        plain.activation = HUSK_ACT_NONE;
        plain.low = -HUGE_VALF;
        plain.slope = 1.0f;
        plain.high = HUGE_VALF;
        plain.shape.bias = HUSK__GEMM_BIAS_NONE;
        bare.bias = NULL;
    }
    return HUSK__LAUNCH(
        queue, kernel, &range, scope, reduce->parts, HUSK__ARG_I64(reduce->row), HUSK__ARG_I64(reduce->column),
        HUSK__ARG_I64(reduce->split), HUSK__ARG_I64(reduce->batch), HUSK__GEMM_BIAS_ARGUMENTS(&plain.shape, &bare),
        HUSK__ARG_TENSOR(run->c), HUSK__ARG_I64(shape->c_row), HUSK__ARG_I64(shape->c_column),
        HUSK__ARG_I64(shape->c_batch), HUSK__ARG_I32(problem->wide | (reduce->wide_parts ? HUSK__GEMM_WIDE_PARTS : 0)),
        HUSK__ARG_I32(shape->m), HUSK__ARG_I32(shape->n), HUSK__ARG_I32(shape->batch), HUSK__ARG_I32(reduce->splits),
        HUSK__ARG_F32(reduce->alpha), HUSK__ARG_F32(reduce->beta), HUSK__GEMM_ACTIVATION_ARGUMENTS(&plain));
}
