// SPDX-License-Identifier: MIT
// What the variants of quantized_conv share.
#include "ops/quantized/conv_problem.h"

#include <stdio.h>

#include "base/tensor.h"

typedef husk__quantized_conv_problem problem;

void husk__quantized_conv_describe_packed(const husk_plan *plan, husk__key *key)
{
    const problem *own = plan->problem;
    husk__key_i64(key, own->groups);
    for (int32_t d = 0; d < own->tensors.weights.rank; ++d)
        husk__key_i64(key, own->tensors.weights.shape[d]);
}

double husk__quantized_conv_flops(const husk__candidate *candidate)
{
    const husk__products *own = &((const problem *)candidate->problem)->products;
    return 2.0 * (double)own->groups * (double)own->m * (double)own->n * (double)own->k;
}

void husk__quantized_conv_strides(const husk_tensor *tensor, int64_t strides[5])
{
    husk_tensor plain = *tensor;
    husk__tensor_resolve(&plain);
    const int32_t missing = 5 - plain.rank;
    for (int32_t i = 0; i < 5; ++i) {
        const int32_t d = i < 2 ? i : i - missing;
        const bool is_there = i < 2 || d >= 2;
        strides[i] = is_there && plain.shape[d] > 1 ? plain.strides[d] : i == 1 ? 1 : 0;
    }
}

void husk__quantized_conv_set_weights(husk__products *products, const int64_t strides[5], int64_t filters)
{
    products->b_strides[0] = strides[2];
    products->b_strides[1] = strides[3];
    products->b_strides[2] = strides[4];
    products->b_strides[3] = strides[1];
    products->b_column = filters > 1 ? strides[0] : 1;
    products->b_group = filters * strides[0];
}

bool husk__quantized_conv_fits_int(const problem *own, char reason[HUSK__REASON_CAPACITY])
{
    const int64_t most = INT64_C(1) << 29;
    bool fits = true;
    for (int d = 0; d < 3; ++d)
        fits = fits && own->in[d] <= most && own->pad[d] <= most && own->pad_end[d] <= most && own->stride[d] <= most &&
               own->dilation[d] <= most && (own->out[d] - 1) * own->stride[d] <= most &&
               (own->filter[d] - 1) * own->dilation[d] <= most;
    snprintf(reason, HUSK__REASON_CAPACITY, "an extent, with its padding, is larger than %lld", (long long)most);
    return fits;
}

husk__arg *husk__quantized_conv_write_window(const problem *own, const int64_t in[3], const int64_t pad[3],
                                             husk__arg *end)
{
    const int64_t *const lists[] = {in, own->filter, own->stride, pad, own->dilation, own->out};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i)
        for (int d = 0; d < 3; ++d)
            *end++ = HUSK__ARG_I32(lists[i][d]);
    return end;
}
