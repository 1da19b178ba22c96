// SPDX-License-Identifier: MIT
// Images of quantized_conv laid out in scratch memory, channels last with their padding: cl/lib/quantized_lay_out.clh.
#include "base/checked.h"
#include "ops/quantized/conv_problem.h"

typedef husk__quantized_conv_problem problem;

static int64_t padded(const problem *own, int d)
{
    return own->in[d] + own->pad[d] + own->pad_end[d];
}

uint64_t husk__quantized_conv_laid_out_bytes(const problem *own)
{
    const int64_t bytes = own->batch * own->groups * own->channels * padded(own, 0) * padded(own, 1) * padded(own, 2);
    return (uint64_t)husk__round_up(bytes, 64);
}

void husk__quantized_conv_laid_out_steps(const problem *own, int64_t steps[4])
{
    steps[3] = own->groups * own->channels;
    for (int d = 2; d >= 0; --d)
        steps[d] = steps[d + 1] * padded(own, d);
}

// Rows of padded images, as many groups as cores can use.
husk_status husk__quantized_conv_lay_out(const husk_plan *plan, const husk__kernel *kernel, husk_queue *queue,
                                         const husk__quantized_run *given, const husk__scratch *scratch,
                                         const husk__scope *scope)
{
    const problem *own = plan->problem;
    const int64_t total = own->batch * padded(own, 0) * padded(own, 1),
                  units = husk_context_traits(plan->context)->compute_units;
    const int64_t groups = husk__quantized_conv_laid_out_bytes(own) < 65536 ? 1 : 2 * units;
    const int64_t share = husk__divide_up(total, groups);
    const int32_t flip = own->tensors.input.dtype == HUSK_I8 ? 128 : 0;
    husk__arg list[32], *end = list;
    *end++ = HUSK__ARG_TENSOR(given->input);
    for (int i = 0; i < 5; ++i)
        *end++ = HUSK__ARG_I64(own->x_strides[i]);
    *end++ = HUSK__ARG_I32(own->groups * own->channels);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I32(own->in[i]);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I32(own->pad[i]);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_I32(padded(own, i));
    *end++ = HUSK__ARG_BUFFER(scratch->buffer, 0, 1);
    *end++ = HUSK__ARG_I32(flip);
    *end++ = HUSK__ARG_I32(given->input_quantization.zero + flip);
    *end++ = HUSK__ARG_I64(total);
    *end++ = HUSK__ARG_I64(share);
    const husk__range range = {{(size_t)husk__divide_up(total, share), 1, 1}, {1, 1, 1}};
    return husk__launch(queue, kernel, &range, list, (size_t)(end - list), scope);
}
