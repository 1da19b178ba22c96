// SPDX-License-Identifier: MIT
#include "train/check/conv_sums.h"

#include <math.h>
#include <string.h>

#include "train/check/conv_element.h"

static void zero(double *numbers, int64_t count)
{
    memset(numbers, 0, sizeof *numbers * (size_t)count);
}

// The sum that an element was made of, as far as the activation has left it.
static double recover(const husk__conv_check *c, double y)
{
    if (c->activation == HUSK_ACT_LEAKY_RELU && y < 0)
        y /= c->slope;
    y *= c->scale;
    return c->tolerance == 0 && husk__conv_is_cut(c->activation) ? y : rint(y);
}

// to[e] += sum over channels of numbers[channel] * factor * from[channel, e]
static void add_channels(const double *from, int64_t channels, int64_t elements, const double *numbers, double factor,
                         double *to)
{
    for (int64_t k = 0; k < channels; k++) {
        const double number = factor * numbers[k];
        for (int64_t e = 0; e < elements; e++)
            to[e] += number * from[k * elements + e];
    }
}

static void add_image(const double *from, int64_t elements, double factor, double *to)
{
    for (int64_t e = 0; e < elements; e++)
        to[e] += factor * from[e];
}

static husk_status read_recovered(husk__conv_check *c, int output, int64_t image)
{
    husk__drawn *drawn = &c->operands[output];
    husk_status status =
        husk__drawn_read(drawn, c->queue, image, output == HUSK__OF_W || c->count == drawn->shape[0], c->image);
    const bool is_plain = c->tolerance == 0 && c->scale == 1 && husk__conv_is_cut(c->activation);
    for (int64_t e = 0; e < drawn->image && !status && !is_plain; e++)
        c->image[e] = recover(c, c->image[e]);
    return status;
}

// Name an element of this position, if there is one: of every image that was looked at, of every channel.
static husk_status name_at(husk__conv_check *c, int output, int64_t position)
{
    husk__drawn *drawn = &c->operands[output];
    const int64_t *s = drawn->shape;
    husk_status status = HUSK_OK;
    for (int64_t m = 0; m < c->count && !status && !c->finding->is_wrong; m++) {
        int64_t index[5] = {c->images[m], 0, position / s[4] / s[3], position / s[4] % s[3], position % s[4]};
        status = husk__drawn_read(drawn, c->queue, index[0], c->count == s[0], c->image);
        for (; index[1] < s[1] && !status && !c->finding->is_wrong; index[1]++)
            husk__conv_look_at(c, output, index, c->image);
    }
    return status;
}

// A row of conv(of_x, of_w), where w's numbers are those of channels.
static void forward_row(const husk__conv_check *c, int64_t row, double *wanted)
{
    const int64_t o0 = row / c->out[1], o1 = row % c->out[1];
    for (int64_t r = 0; r < c->taps; r++) {
        const int64_t i0 = o0 * c->stride[0] - c->pad[0] + r / c->filter[2] / c->filter[1] * c->dilation[0];
        const int64_t i1 = o1 * c->stride[1] - c->pad[1] + r / c->filter[2] % c->filter[1] * c->dilation[1];
        const husk__reach reach = husk__reach_of(c, 2, r % c->filter[2]);
        if (i0 < 0 || i0 >= c->in[0] || i1 < 0 || i1 >= c->in[1])
            continue;
        for (int64_t channel = 0; channel < c->operands[HUSK__OF_X].shape[1]; channel++) {
            const double *x = c->of_x + channel * c->inside + (i0 * c->in[1] + i1) * c->in[2] + reach.begin;
            const double w = c->of_w[channel * c->taps + r];
            for (int64_t o = reach.first; o < reach.past; o++)
                wanted[o] += w * x[o * c->stride[2]];
        }
    }
}

// A row of the transposed convolution of of_y with of_w, where w's numbers are those of filters.
static void backward_data_row(const husk__conv_check *c, int64_t row, double *wanted)
{
    for (int64_t r = 0; r < c->taps; r++) {
        const int64_t o0 = husk__position_of(c, 0, row / c->in[1], r / c->filter[2] / c->filter[1]);
        const int64_t o1 = husk__position_of(c, 1, row % c->in[1], r / c->filter[2] % c->filter[1]);
        const husk__reach reach = husk__reach_of(c, 2, r % c->filter[2]);
        if (o0 < 0 || o1 < 0)
            continue;
        for (int64_t filter = 0; filter < c->operands[HUSK__OF_Y].shape[1]; filter++) {
            const double *y = c->of_y + filter * c->outside + (o0 * c->out[1] + o1) * c->out[2];
            const double w = c->of_w[filter * c->taps + r];
            for (int64_t o = reach.first; o < reach.past; o++)
                wanted[o * c->stride[2] + reach.begin] += w * y[o];
        }
    }
}

// Compare got, where it is one channel, with what rows of `wanted` come to. Of too many rows some are drawn.
static husk_status compare_rows(husk__conv_check *c, int output, double *before,
                                void (*make_row)(const husk__conv_check *c, int64_t row, double *wanted))
{
    const husk__drawn *drawn = &c->operands[output];
    const int64_t width = drawn->shape[4], rows = drawn->shape[2] * drawn->shape[3];
    const int64_t channels = c->operands[c->kind == HUSK__CONV_FORWARD ? HUSK__OF_X : HUSK__OF_Y].shape[1];
    int64_t most = HUSK__CONV_PRODUCTS / (channels * c->taps * width);
    husk_status status = HUSK_OK;
    most = most < 16 ? 16 : most;
    for (int64_t row = 0; row < rows && !status && !c->finding->is_wrong; row++) {
        if (rows > most && row > 0 && row < rows - 1 &&
            husk__drawn_hash(104, (uint32_t)row) % (uint64_t)rows >= (uint64_t)most)
            continue;
        double *wanted = before + row * width;
        make_row(c, row, wanted);
        for (int64_t i = 0; i < width && !status && !c->finding->is_wrong; i++)
            if (c->got[row * width + i] != wanted[i] * c->scale)
                status = name_at(c, output, row * width + i);
    }
    return status;
}

static husk_status compare_forward(husk__conv_check *c)
{
    const husk__drawn *x = &c->operands[HUSK__OF_X], *w = &c->operands[HUSK__OF_W], *y = &c->operands[HUSK__OF_Y],
                      *bias = &c->operands[HUSK__OF_BIAS];
    husk_status status = HUSK_OK;
    double images = 0, biases = 0;
    zero(c->of_x, x->image);
    zero(c->of_w, x->shape[1] * c->taps);
    zero(c->got, c->outside);
    for (int64_t m = 0; m < c->count; m++) {
        husk__drawn_image(x, c->images[m], c->image);
        add_image(c->image, x->image, c->t[m], c->of_x);
        images += c->t[m];
    }
    for (int64_t k = 0; k < y->shape[1]; k++) {
        husk__drawn_image(w, k, c->image);
        add_image(c->image, w->image, c->s[k], c->of_w + k / c->of_group * w->image);
        biases += bias->is_there ? c->s[k] * husk__drawn_at(bias, (int64_t[5]){0, k}) : 0;
    }
    for (int64_t m = 0; m < c->count && !status; m++) {
        status = read_recovered(c, HUSK__OF_Y, c->images[m]);
        if (!status)
            add_channels(c->image, y->shape[1], c->outside, c->s, c->t[m], c->got);
    }
    for (int64_t o = 0; o < c->outside; o++)
        c->wanted[o] = images * biases;
    return status ? status : compare_rows(c, HUSK__OF_Y, c->wanted, forward_row);
}

static husk_status compare_backward_data(husk__conv_check *c)
{
    const husk__drawn *x = &c->operands[HUSK__OF_X], *w = &c->operands[HUSK__OF_W], *y = &c->operands[HUSK__OF_Y];
    husk_status status = HUSK_OK;
    zero(c->of_y, y->image);
    zero(c->of_w, y->shape[1] * c->taps);
    zero(c->got, c->inside);
    zero(c->wanted, c->inside);
    for (int64_t m = 0; m < c->count; m++) {
        husk__drawn_image(y, c->images[m], c->image);
        add_image(c->image, y->image, c->t[m], c->of_y);
    }
    for (int64_t k = 0; k < y->shape[1]; k++) {
        husk__drawn_image(w, k, c->image);
        add_channels(c->image, c->in_group, c->taps, c->u + k / c->of_group * c->in_group, 1, c->of_w + k * c->taps);
    }
    for (int64_t m = 0; m < c->count && !status; m++) {
        if (c->accumulates) {
            husk__drawn_image(x, c->images[m], c->image);
            add_channels(c->image, x->shape[1], c->inside, c->u, c->t[m], c->wanted);
        }
        status = read_recovered(c, HUSK__OF_X, c->images[m]);
        if (!status)
            add_channels(c->image, x->shape[1], c->inside, c->u, c->t[m], c->got);
    }
    return status ? status : compare_rows(c, HUSK__OF_X, c->wanted, backward_data_row);
}

// wanted[group, tap] += sum of of_y[group, o] * of_x[group, o * stride - pad + tap * dilation]
static void add_products(husk__conv_check *c)
{
    for (int64_t group = 0; group < c->groups; group++)
        for (int64_t r = 0; r < c->taps; r++) {
            const husk__reach s0 = husk__reach_of(c, 0, r / c->filter[2] / c->filter[1]);
            const husk__reach s1 = husk__reach_of(c, 1, r / c->filter[2] % c->filter[1]),
                              s2 = husk__reach_of(c, 2, r % c->filter[2]);
            double sum = 0;
            for (int64_t o0 = s0.first; o0 < s0.past; o0++)
                for (int64_t o1 = s1.first; o1 < s1.past; o1++) {
                    const double *y = c->of_y + group * c->outside + (o0 * c->out[1] + o1) * c->out[2];
                    const int64_t i0 = o0 * c->stride[0] + s0.begin, i1 = o1 * c->stride[1] + s1.begin;
                    const double *x = c->of_x + group * c->inside + (i0 * c->in[1] + i1) * c->in[2] + s2.begin;
                    for (int64_t o = s2.first; o < s2.past; o++)
                        sum += y[o] * x[o * c->stride[2]];
                }
            c->wanted[group * c->taps + r] += sum;
        }
}

// Name an element of these filters' and channels' pairs at this tap, if there is one.
static husk_status name_weight(husk__conv_check *c, int64_t group, int64_t r)
{
    husk__drawn *w = &c->operands[HUSK__OF_W];
    int64_t index[5] = {group * c->of_group, 0, r / c->filter[2] / c->filter[1], r / c->filter[2] % c->filter[1],
                        r % c->filter[2]};
    husk_status status = HUSK_OK;
    for (; index[0] < (group + 1) * c->of_group && !status && !c->finding->is_wrong; index[0]++) {
        status = husk__drawn_read(w, c->queue, index[0], true, c->image);
        for (index[1] = 0; index[1] < c->in_group && !status && !c->finding->is_wrong; index[1]++)
            husk__conv_look_at(c, HUSK__OF_W, index, c->image);
    }
    return status;
}

static husk_status compare_weights(husk__conv_check *c)
{
    const husk__drawn *x = &c->operands[HUSK__OF_X], *y = &c->operands[HUSK__OF_Y];
    husk__drawn *w = &c->operands[HUSK__OF_W];
    husk_status status = HUSK_OK;
    zero(c->wanted, c->groups * c->taps);
    zero(c->got, c->groups * c->taps);
    for (int64_t m = 0; m < c->count; m++) {
        zero(c->of_x, c->groups * c->inside);
        zero(c->of_y, c->groups * c->outside);
        husk__drawn_image(x, c->images[m], c->image);
        for (int64_t g = 0; g < c->groups; g++)
            add_channels(c->image + g * c->in_group * c->inside, c->in_group, c->inside, c->u + g * c->in_group, 1,
                         c->of_x + g * c->inside);
        husk__drawn_image(y, c->images[m], c->image);
        for (int64_t g = 0; g < c->groups; g++)
            add_channels(c->image + g * c->of_group * c->outside, c->of_group, c->outside, c->s + g * c->of_group, 1,
                         c->of_y + g * c->outside);
        add_products(c);
    }
    for (int64_t k = 0; k < w->shape[0] && !status; k++) {
        const int64_t group = k / c->of_group;
        const double *numbers = c->u + group * c->in_group;
        if (c->accumulates) {
            husk__drawn_image(w, k, c->image);
            add_channels(c->image, c->in_group, c->taps, numbers, c->s[k], c->wanted + group * c->taps);
        }
        status = read_recovered(c, HUSK__OF_W, k);
        if (!status)
            add_channels(c->image, c->in_group, c->taps, numbers, c->s[k], c->got + group * c->taps);
    }
    for (int64_t i = 0; i < c->groups * c->taps && !status && !c->finding->is_wrong; i++)
        if (c->got[i] != c->wanted[i])
            status = name_weight(c, i / c->taps, i % c->taps);
    return status;
}

static husk_status compare_bias(husk__conv_check *c)
{
    husk__drawn *bias = &c->operands[HUSK__OF_BIAS];
    husk_status status = husk__drawn_read(bias, c->queue, 0, true, c->got);
    int64_t index[5] = {0};
    for (; index[1] < bias->shape[1] && !status && !c->finding->is_wrong; index[1]++)
        husk__conv_look_at(c, HUSK__OF_BIAS, index, c->got);
    return status;
}

husk_status husk__conv_compare_all(husk__conv_check *c)
{
    husk_status status = HUSK_OK;
    if (c->kind == HUSK__CONV_FORWARD)
        return compare_forward(c);
    if (c->kind == HUSK__CONV_BACKWARD_DATA)
        return compare_backward_data(c);
    if (c->operands[HUSK__OF_W].is_there)
        status = compare_weights(c);
    if (!status && !c->finding->is_wrong && c->operands[HUSK__OF_BIAS].is_there)
        status = compare_bias(c);
    return status;
}
