// SPDX-License-Identifier: MIT
// Convolutions and their gradients against the host's numbers: every element of what the plan computes.
//
// Operands are whole numbers, so small that each sum of products, in whatever order it is formed, is one that f32 has
// exactly. Winograd's variants, which divide, and others whose bound is larger get so small ones that their bound is
// less than half: rounded to the nearest whole number their results are exact, too. So nothing is left to a tolerance.
//
// All elements at once: convolution is linear in each operand. With random numbers t of images and s of filters,
//
//     sum over n, k of  t[n] s[k] y[n, k, o]  =  conv(sum over n of t[n] x[n], sum over k of s[k] w[k])[o]
//
// which the host computes for every position o: one image and one filter, whatever the batch. Likewise the gradient by
// the data, with numbers of images and channels, and that by the weights, with numbers of filters and channels. One
// wrong element is seen for certain, since no number is 0; several at one position unless their weighted sum happens
// to vanish. (Freivalds' check of products, 1977, with sums of whole numbers.) Where the sums differ, elements are
// computed one by one until one that differs is found: rounding to f16 or bf16 is never taken for a mistake.
//
// Behind an activation that loses what is below 0 operands are positive in that comparison; a second run has numbers
// of both signs and looks at samples, at the border and drawn.
#include "train/check/conv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "train/check/conv_element.h"
#include "train/check/conv_sums.h"

enum {
    ELEMENTS = 1 << 22, // of a call's tensors that are looked at
    SAMPLED = 1 << 22,  // products of the samples
    MOST_SAMPLES = 4096
};

// ---- the problem ----

static void describe(husk__conv_check *c)
{
    const husk_conv_params *p = &c->call->params.conv;
    const husk__drawn *x = &c->operands[HUSK__OF_X], *y = &c->operands[HUSK__OF_Y], *w = &c->operands[HUSK__OF_W];
    const int32_t space = x->tensor.rank - 2;
    c->groups = p->groups > 0 ? p->groups : 1;
    c->in_group = x->shape[1] / c->groups;
    c->of_group = y->shape[1] / c->groups;
    c->inside = c->outside = c->taps = 1;
    for (int d = 0; d < 3; d++) {
        const int own = d - 3 + space;
        c->in[d] = x->shape[2 + d];
        c->out[d] = y->shape[2 + d];
        c->filter[d] = w->is_there ? w->shape[2 + d] : 1;
        c->stride[d] = own >= 0 && p->stride[own] ? p->stride[own] : 1;
        c->pad[d] = own >= 0 ? p->pad[own] : 0;
        c->dilation[d] = own >= 0 && p->dilation[own] ? p->dilation[own] : 1;
        c->inside *= c->in[d];
        c->outside *= c->out[d];
        c->taps *= c->filter[d];
    }
    c->activation = p->activation;
    c->slope = (double)p->activation_slope;
}

// All images, or the first, the last and others between them, so that their elements are no more than ELEMENTS and, of
// the gradient by the weights, which adds up all positions, the products no more than HUSK__CONV_PRODUCTS.
static husk_status choose_images(husk__conv_check *c)
{
    const husk__drawn *x = &c->operands[HUSK__OF_X], *y = &c->operands[HUSK__OF_Y];
    const int64_t all = x->shape[0];
    int64_t most = ELEMENTS / (x->image + y->image);
    if (c->kind == HUSK__CONV_BACKWARD_WEIGHTS) {
        const int64_t by_products = HUSK__CONV_PRODUCTS / (c->outside * c->taps * c->groups);
        most = by_products < most ? by_products : most;
    }
    most = most < 2 ? 2 : most;
    const bool are_all = all <= most || !x->by_images || !y->by_images;
    c->count = are_all ? all : most;
    c->images = malloc(sizeof *c->images * (size_t)c->count);
    if (!c->images)
        return HUSK_OUT_OF_HOST_MEMORY;
    for (int64_t i = 0; i < c->count; i++)
        c->images[i] = are_all ? i : i * (all - 1) / (c->count - 1);
    return HUSK_OK;
}

static double numbers_of(uint32_t stream, int64_t i)
{
    const uint32_t h = husk__drawn_hash(stream, (uint32_t)i);
    return (h & 1 ? 1 : -1) * (double)(1 + (h >> 8 & 7));
}

static double *allocate_numbers(uint32_t stream, int64_t count)
{
    double *numbers = malloc(sizeof *numbers * (size_t)count);
    for (int64_t i = 0; numbers && i < count; i++)
        numbers[i] = numbers_of(stream, i);
    return numbers;
}

static husk_status allocate(husk__conv_check *c)
{
    const husk__drawn *x = &c->operands[HUSK__OF_X], *y = &c->operands[HUSK__OF_Y], *w = &c->operands[HUSK__OF_W];
    const int64_t channels = x->shape[1] > y->shape[1] ? x->shape[1] : y->shape[1];
    int64_t image = x->image > y->image ? x->image : y->image;
    image = w->is_there && w->image > image ? w->image : image;
    const struct {
        double **room;
        int64_t count;
    } rooms[] = {{&c->image, image},
                 {&c->of_x, x->image},
                 {&c->of_y, y->image},
                 {&c->of_w, channels * c->taps},
                 {&c->got, image > channels * c->taps ? image : channels * c->taps},
                 {&c->wanted, image > channels * c->taps ? image : channels * c->taps}};
    c->t = allocate_numbers(101, c->count);
    c->s = allocate_numbers(102, y->shape[1]);
    c->u = allocate_numbers(103, x->shape[1]);
    bool is_there = c->t && c->s && c->u;
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++) {
        *rooms[r].room = malloc(sizeof(double) * (size_t)rooms[r].count);
        is_there = is_there && *rooms[r].room;
    }
    return is_there ? HUSK_OK : HUSK_OUT_OF_HOST_MEMORY;
}

// ---- samples, of forward ----

// Of the first, the middle and the last image all first, middle and last places, and of all images some that are drawn.
static husk_status compare_samples(husk__conv_check *c)
{
    husk__drawn *y = &c->operands[HUSK__OF_Y];
    const double affordable = SAMPLED / (c->terms * (double)c->count);
    const int64_t drawn = affordable < 1 ? 1 : affordable < MOST_SAMPLES ? (int64_t)affordable : MOST_SAMPLES;
    husk_status status = HUSK_OK;
    uint32_t number = 0;
    for (int64_t m = 0; m < c->count && !status; m++) {
        const bool has_corners = m == 0 || m == c->count / 2 || m == c->count - 1;
        status = husk__drawn_read(y, c->queue, c->images[m], c->count == y->shape[0], c->image);
        for (int64_t e = 0; e < y->image && !status; e++)
            if (!isfinite(c->image[e])) { // no sum is
                const int64_t index[5] = {c->images[m], e / c->outside, e % c->outside / c->out[2] / c->out[1],
                                          e / c->out[2] % c->out[1], e % c->out[2]};
                husk__conv_look_at(c, HUSK__OF_Y, index, c->image);
                break;
            }
        for (int64_t i = 0; i < (has_corners ? 81 : 0) + drawn && !status && !c->finding->is_wrong; i++) {
            int64_t index[5] = {c->images[m]};
            for (int64_t d = 1, corner = i; d < 5; d++, corner /= 3) {
                const int64_t places[3] = {0, y->shape[d] - 1, y->shape[d] / 2};
                index[d] = has_corners && i < 81 ? places[corner % 3] : husk__drawn_hash(105, number++) % y->shape[d];
            }
            husk__conv_look_at(c, HUSK__OF_Y, index, c->image);
        }
        if (c->finding->is_wrong)
            break;
    }
    return status;
}

// ---- a run ----

// How large numbers may be, so that sums are exact, or their errors less than half.
static void choose_draws(husk__conv_check *c, bool is_positive, bool is_sampled)
{
    const double unit = c->dtype == HUSK_F64 ? 0x1p-53 : 0x1p-24, direct = 4 + 2 * sqrt(c->terms);
    const bool is_smooth = !husk__conv_is_cut(c->activation);
    const double in_all = c->kind == HUSK__CONV_BACKWARD_WEIGHTS
                              ? c->terms / (double)c->operands[HUSK__OF_Y].shape[0] * (double)c->count
                              : c->terms;
    double most = is_smooth ? 0x1p16 : 0x1p23; // of the sum of the products' sizes
    c->tolerance = 0;
    c->scale = 1;
    if (c->factor > 1.01 * direct) {
        most = fmin(most, fmax(16, 0.2 / (c->factor * unit)));
        c->tolerance = 0.45;
    }
    if (c->stored == HUSK_F16 || c->stored == HUSK_BF16) // whole numbers that it has
        most = fmin(most, c->stored == HUSK_F16 ? 400 : 64);
    const double range = fmax(1, fmin(127, floor(sqrt(most / in_all))));
    const double kept = fmin(1, most / in_all);
    const double sum = fmin(in_all * range * range, 2 * most + 64) + 8, deviation = range * range * sqrt(in_all * kept);
    if (is_sampled && (is_smooth || c->activation == HUSK_ACT_RELU6)) // about 0, where it is bent
        c->scale = ldexp(1, (int)ceil(log2(fmax(1, deviation / 2))));
    else if (c->activation == HUSK_ACT_RELU6)
        c->scale = ldexp(1, (int)ceil(log2(fmax(1, sum / 6))));
    for (uint32_t o = 0; o < HUSK__CONV_OPERANDS; o++) {
        husk__draw *draw = &c->operands[o].draw;
        const bool is_small = o == HUSK__OF_BIAS || c->is_output[o]; // and what is added to
        *draw = (husk__draw){.stream = o + 1, .positive = is_positive, .kept = 1 << 15, .scale = 1};
        draw->range = is_small ? 8 : (uint32_t)range;
        if (o == HUSK__OF_BIAS || (o == HUSK__OF_W && c->kind == HUSK__CONV_FORWARD))
            draw->scale = c->scale;
        if (!c->is_output[o] && o == (c->kind == HUSK__CONV_BACKWARD_WEIGHTS ? HUSK__OF_Y : HUSK__OF_W))
            draw->kept = (uint32_t)fmax(8, ceil(kept * (1 << 15)));
    }
}

static const husk_tensor *tensor_of(const husk__conv_check *c, int operand)
{
    return c->operands[operand].is_there ? &c->operands[operand].tensor : NULL;
}

static husk_status run(husk__conv_check *c, bool is_positive, bool is_sampled)
{
    husk_status status = HUSK_OK;
    choose_draws(c, is_positive, is_sampled);
    for (int o = 0; o < HUSK__CONV_OPERANDS && !status; o++)
        if (c->operands[o].is_there) {
            const bool has_some = (o == HUSK__OF_X || o == HUSK__OF_Y) && c->count < c->operands[o].shape[0];
            status = husk__drawn_write(&c->operands[o], c->queue, !c->is_output[o] || c->accumulates,
                                       has_some ? c->images : NULL, c->count, &c->finding->failure);
        }
    if (status)
        return status;
    const husk_conv_params *params = &c->call->params.conv;
    if (c->kind == HUSK__CONV_FORWARD)
        return husk_conv_plan_run(c->call->plan, c->queue, tensor_of(c, HUSK__OF_X), tensor_of(c, HUSK__OF_W),
                                  tensor_of(c, HUSK__OF_BIAS), tensor_of(c, HUSK__OF_Y));
    status = c->kind == HUSK__CONV_BACKWARD_DATA
                 ? husk_conv_backward_data(c->queue, params, tensor_of(c, HUSK__OF_W), tensor_of(c, HUSK__OF_Y),
                                           tensor_of(c, HUSK__OF_X))
                 : husk_conv_backward_weights(c->queue, params, tensor_of(c, HUSK__OF_X), tensor_of(c, HUSK__OF_Y),
                                              tensor_of(c, HUSK__OF_W), tensor_of(c, HUSK__OF_BIAS));
    if (!status) {
        husk_plan *plan = (husk_plan *)husk_queue_plan(c->queue);
        husk_plan_retain(plan);
        husk_plan_release(c->finding->plan);
        c->finding->plan = plan;
    }
    return status;
}

static husk_status look_outside(husk__conv_check *c)
{
    husk_status status = HUSK_OK;
    for (int o = 0; o < HUSK__CONV_OPERANDS && !status && !c->finding->is_wrong; o++) {
        bool is_within = true;
        if (c->is_output[o] && c->operands[o].is_there)
            status = husk__drawn_is_within(&c->operands[o], c->queue, &is_within);
        if (is_within)
            continue;
        snprintf(c->finding->text, sizeof c->finding->text, "it writes beyond its output");
        c->finding->is_wrong = true;
    }
    return status;
}

static husk_status compare(husk__conv_check *c)
{
    const husk_act act = c->activation;
    const bool has_signs = act == HUSK_ACT_NONE || (act == HUSK_ACT_LEAKY_RELU && c->slope > 1e-6);
    husk_status status = HUSK_OK;
    if (c->finding->plan)
        c->factor = husk_plan_error_factor(c->finding->plan);
    if (act != HUSK_ACT_SIGMOID && act != HUSK_ACT_TANH) {
        status = run(c, !has_signs, false);
        if (!status && c->factor != husk_plan_error_factor(c->finding->plan)) { // now its bound is known
            c->factor = husk_plan_error_factor(c->finding->plan);
            status = run(c, !has_signs, false);
        }
        if (!status)
            status = look_outside(c);
        if (!status && !c->finding->is_wrong)
            status = husk__conv_compare_all(c);
    }
    if (status || c->finding->is_wrong || has_signs)
        return status;
    status = run(c, false, true);
    if (!status)
        status = look_outside(c);
    return status || c->finding->is_wrong ? status : compare_samples(c);
}

// ---- calls ----

static husk_status prepare(husk__conv_check *c)
{
    const int slots[3][HUSK__CONV_OPERANDS] = {
        {0, 1, 3, 2}, {2, 0, 1, -1}, {0, 2, 1, 3}}; // by kind, of HUSK__OF_X, HUSK__OF_W, HUSK__OF_Y, HUSK__OF_BIAS
    for (int o = 0; o < HUSK__CONV_OPERANDS; o++) {
        const int slot = slots[c->kind][o];
        husk__drawn_describe(&c->operands[o], slot < 0 ? NULL : husk__tensor_of(c->call, slot));
        c->is_output[o] = c->kind == HUSK__CONV_FORWARD         ? o == HUSK__OF_Y
                          : c->kind == HUSK__CONV_BACKWARD_DATA ? o == HUSK__OF_X
                                                                : o == HUSK__OF_W || o == HUSK__OF_BIAS;
    }
    c->accumulates = c->call->params.conv.accumulate != 0;
    c->dtype = c->operands[HUSK__OF_Y].tensor.dtype;
    c->stored = c->operands[c->kind == HUSK__CONV_FORWARD         ? HUSK__OF_Y
                            : c->kind == HUSK__CONV_BACKWARD_DATA ? HUSK__OF_X
                                                                  : HUSK__OF_W]
                    .tensor.dtype;
    if (c->kind == HUSK__CONV_BACKWARD_WEIGHTS && !c->operands[HUSK__OF_W].is_there)
        c->stored = c->operands[HUSK__OF_BIAS].tensor.dtype;
    if (c->kind == HUSK__CONV_FORWARD)
        c->dtype = c->operands[HUSK__OF_X].tensor.dtype;
    describe(c);
    c->terms = c->kind == HUSK__CONV_FORWARD         ? (double)(c->in_group * c->taps)
               : c->kind == HUSK__CONV_BACKWARD_DATA ? (double)(c->of_group * c->taps)
                                                     : (double)(c->operands[HUSK__OF_Y].shape[0] * c->outside);
    c->factor = 4 + 2 * sqrt(c->terms);
    const husk_status status = choose_images(c);
    return status ? status : allocate(c);
}

static husk_status check(int kind, const husk__call *call, husk_queue *queue, husk__finding *finding)
{
    husk__conv_check c = {.kind = kind, .call = call, .queue = queue, .finding = finding};
    finding->plan = NULL;
    finding->is_wrong = false;
    if (kind == HUSK__CONV_FORWARD) {
        finding->plan = call->plan;
        husk_plan_retain(call->plan);
    }
    husk_status status = prepare(&c);
    if (!status)
        status = compare(&c);
    for (int o = 0; o < HUSK__CONV_OPERANDS; o++)
        husk__drawn_release(&c.operands[o]);
    double *const rooms[] = {c.t, c.s, c.u, c.image, c.of_x, c.of_y, c.of_w, c.got, c.wanted};
    for (size_t r = 0; r < sizeof rooms / sizeof *rooms; r++)
        free(rooms[r]);
    free(c.images);
    return status;
}

static husk_status check_forward(const husk__call *call, husk_queue *queue, husk__finding *finding)
{
    return check(HUSK__CONV_FORWARD, call, queue, finding);
}

static husk_status check_backward_data(const husk__call *call, husk_queue *queue, husk__finding *finding)
{
    return check(HUSK__CONV_BACKWARD_DATA, call, queue, finding);
}

static husk_status check_backward_weights(const husk__call *call, husk_queue *queue, husk__finding *finding)
{
    return check(HUSK__CONV_BACKWARD_WEIGHTS, call, queue, finding);
}

static const char **variant_of(husk__node_params *params)
{
    return &params->conv.variant;
}

const husk__verifier husk__verify_conv = {"conv", variant_of, check_forward};
const husk__verifier husk__verify_conv_backward_data = {"conv_backward_data", variant_of, check_backward_data};
const husk__verifier husk__verify_conv_backward_weights = {"conv_backward_weights", variant_of, check_backward_weights};
