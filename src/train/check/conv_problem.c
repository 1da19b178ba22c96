// SPDX-License-Identifier: MIT
#include "train/check/conv_problem.h"

husk__reach husk__reach_of(const husk__conv_check *c, int d, int64_t tap)
{
    husk__reach reach = {.begin = tap * c->dilation[d] - c->pad[d]};
    reach.first = reach.begin < 0 ? (-reach.begin + c->stride[d] - 1) / c->stride[d] : 0;
    const int64_t room = c->in[d] - 1 - reach.begin;
    reach.past = room < 0 ? 0 : room / c->stride[d] + 1;
    reach.past = reach.past < c->out[d] ? reach.past : c->out[d];
    return reach;
}

int64_t husk__position_of(const husk__conv_check *c, int d, int64_t i, int64_t tap)
{
    const int64_t from = i + c->pad[d] - tap * c->dilation[d];
    return from < 0 || from % c->stride[d] || from / c->stride[d] >= c->out[d] ? -1 : from / c->stride[d];
}
