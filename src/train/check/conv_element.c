// SPDX-License-Identifier: MIT
#include "train/check/conv_element.h"

#include <math.h>
#include <stdio.h>

#include "train/convert.h"

static double forward_at(const husk__conv_check *c, const int64_t *index)
{
    const int64_t group = index[1] / c->of_group;
    double sum = c->operands[HUSK__OF_BIAS].is_there
                     ? husk__drawn_at(&c->operands[HUSK__OF_BIAS], (int64_t[5]){0, index[1]})
                     : 0;
    for (int64_t channel = 0; channel < c->in_group; channel++)
        for (int64_t r = 0; r < c->taps; r++) {
            const int64_t tap[3] = {r / c->filter[2] / c->filter[1], r / c->filter[2] % c->filter[1], r % c->filter[2]};
            int64_t x[5] = {index[0], group * c->in_group + channel};
            bool is_inside = true;
            for (int d = 0; d < 3; d++) {
                x[2 + d] = index[2 + d] * c->stride[d] - c->pad[d] + tap[d] * c->dilation[d];
                is_inside = is_inside && x[2 + d] >= 0 && x[2 + d] < c->in[d];
            }
            if (is_inside)
                sum +=
                    husk__drawn_at(&c->operands[HUSK__OF_X], x) *
                    husk__drawn_at(&c->operands[HUSK__OF_W], (int64_t[5]){index[1], channel, tap[0], tap[1], tap[2]});
        }
    return sum;
}

static double backward_data_at(const husk__conv_check *c, const int64_t *index)
{
    const int64_t group = index[1] / c->in_group;
    double sum = 0;
    for (int64_t filter = group * c->of_group; filter < (group + 1) * c->of_group; filter++)
        for (int64_t r = 0; r < c->taps; r++) {
            const int64_t tap[3] = {r / c->filter[2] / c->filter[1], r / c->filter[2] % c->filter[1], r % c->filter[2]};
            int64_t y[5] = {index[0], filter};
            bool is_inside = true;
            for (int d = 0; d < 3; d++) {
                y[2 + d] = husk__position_of(c, d, index[2 + d], tap[d]);
                is_inside = is_inside && y[2 + d] >= 0;
            }
            if (is_inside)
                sum += husk__drawn_at(&c->operands[HUSK__OF_Y], y) *
                       husk__drawn_at(&c->operands[HUSK__OF_W],
                                      (int64_t[5]){filter, index[1] % c->in_group, tap[0], tap[1], tap[2]});
        }
    return sum;
}

static double backward_weights_at(const husk__conv_check *c, const int64_t *index)
{
    const int64_t channel = index[0] / c->of_group * c->in_group + index[1];
    husk__reach reaches[3];
    double sum = 0;
    for (int d = 0; d < 3; d++)
        reaches[d] = husk__reach_of(c, d, index[2 + d]);
    for (int64_t m = 0; m < c->count; m++) {
        int64_t y[5] = {c->images[m], index[0]}, x[5] = {c->images[m], channel};
        for (y[2] = reaches[0].first; y[2] < reaches[0].past; y[2]++)
            for (y[3] = reaches[1].first; y[3] < reaches[1].past; y[3]++)
                for (y[4] = reaches[2].first; y[4] < reaches[2].past; y[4]++) {
                    for (int d = 0; d < 3; d++)
                        x[2 + d] = y[2 + d] * c->stride[d] + reaches[d].begin;
                    sum += husk__drawn_at(&c->operands[HUSK__OF_X], x) * husk__drawn_at(&c->operands[HUSK__OF_Y], y);
                }
    }
    return sum;
}

static double backward_bias_at(const husk__conv_check *c, int64_t filter)
{
    int64_t y[5] = {0, filter};
    double sum = 0;
    for (int64_t m = 0; m < c->count; m++) {
        y[0] = c->images[m];
        for (y[2] = 0; y[2] < c->out[0]; y[2]++)
            for (y[3] = 0; y[3] < c->out[1]; y[3]++)
                for (y[4] = 0; y[4] < c->out[2]; y[4]++)
                    sum += husk__drawn_at(&c->operands[HUSK__OF_Y], y);
    }
    return sum;
}

// Before the activation.
static double element(const husk__conv_check *c, int output, const int64_t *index)
{
    double sum = output == HUSK__OF_Y      ? forward_at(c, index)
                 : output == HUSK__OF_X    ? backward_data_at(c, index)
                 : output == HUSK__OF_BIAS ? backward_bias_at(c, index[1])
                                           : backward_weights_at(c, index);
    return sum + (c->accumulates ? husk__drawn_at(&c->operands[output], index) : 0);
}

static double activate(const husk__conv_check *c, double x)
{
    switch (c->activation) {
    case HUSK_ACT_RELU:
        return x > 0 ? x : 0;
    case HUSK_ACT_LEAKY_RELU:
        return x < 0 ? c->slope * x : x;
    case HUSK_ACT_RELU6:
        return x < 0 ? 0 : x > 6 ? 6 : x;
    case HUSK_ACT_GELU:
        return x / 2 * erfc(-x * 0.70710678118654752440);
    case HUSK_ACT_GELU_TANH:
        return x / 2 * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    case HUSK_ACT_SILU:
        return x / (1 + exp(-x));
    case HUSK_ACT_SIGMOID:
        return 1 / (1 + exp(-x));
    case HUSK_ACT_TANH:
        return tanh(x);
    default:
        return x;
    }
}

// Whether it gives some of its arguments as they are, and whole numbers so.
bool husk__conv_is_cut(husk_act activation)
{
    return activation == HUSK_ACT_NONE || activation == HUSK_ACT_RELU || activation == HUSK_ACT_RELU6;
}

// The bounds are those of husk/ops/conv.h and husk/ops/activation.h; no activation's slope is more than 1.13.
static bool is_right(const husk__conv_check *c, husk_dtype dtype, double got, double sum)
{
    const double wanted = husk__rounded(dtype, activate(c, sum));
    if (got == wanted)
        return true;
    if (c->tolerance == 0 && husk__conv_is_cut(c->activation))
        return false;
    const double unit = dtype == HUSK_F64 ? 0x1p-53 : 0x1p-24;
    const double narrow = dtype == HUSK_F16 ? 0x1p-10 : dtype == HUSK_BF16 ? 0x1p-7 : 0;
    const double own = husk__conv_is_cut(c->activation) ? 0 : 32 * unit * fmax(1, fabs(sum));
    return fabs(got - wanted) <= 1.13 * c->tolerance / c->scale + own + narrow * fabs(wanted);
}

static void record(const husk__conv_check *c, int output, const int64_t *index, double got, double sum)
{
    static const char *const names[2][HUSK__CONV_OPERANDS] = {{"x", "w", "y", "bias"}, {"dx", "dw", "dy", "dbias"}};
    husk__finding *finding = c->finding;
    const husk__drawn *drawn = &c->operands[output];
    size_t used =
        (size_t)snprintf(finding->text, sizeof finding->text, "%s[", names[c->kind != HUSK__CONV_FORWARD][output]);
    for (int d = output == HUSK__OF_BIAS ? 1 : 0; d < HUSK__DRAWN_RANK && used < sizeof finding->text; d++)
        if (output == HUSK__OF_BIAS ? d == 1 : d < 2 || d >= HUSK__DRAWN_RANK - (drawn->tensor.rank - 2))
            used += (size_t)snprintf(finding->text + used, sizeof finding->text - used, "%s%lld",
                                     d > 0 && output != HUSK__OF_BIAS ? ", " : "", (long long)index[d]);
    if (used < sizeof finding->text)
        snprintf(finding->text + used, sizeof finding->text - used, "] is %.9g instead of %.9g", got,
                 husk__rounded(drawn->tensor.dtype, activate(c, sum)));
    finding->is_wrong = true;
}

// Look at an element; numbers: the image that it is in, as the device has it.
void husk__conv_look_at(const husk__conv_check *c, int output, const int64_t index[HUSK__DRAWN_RANK],
                        const double *numbers)
{
    const husk__drawn *drawn = &c->operands[output];
    const int64_t *s = drawn->shape;
    const double got = numbers[((index[1] * s[2] + index[2]) * s[3] + index[3]) * s[4] + index[4]];
    const double sum = element(c, output, index);
    if (!is_right(c, drawn->tensor.dtype, got, sum))
        record(c, output, index, got, sum);
}
