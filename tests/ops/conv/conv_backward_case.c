// SPDX-License-Identifier: MIT
#include "conv_backward_case.h"

#include <stdio.h>
#include <string.h>

static int64_t or_one(int64_t option)
{
    return option ? option : 1;
}

static int64_t pad_end(const conv_backward_case *c, int32_t i)
{
    return c->params.pad[i] + c->params.pad_end_extra[i];
}

bool conv_backward_resolve(conv_backward_case *c)
{
    c->params.size = sizeof c->params;
    c->params.groups = c->groups;
    c->x[0] = c->y[0] = c->batch;
    c->x[1] = c->groups * c->channels;
    c->w[0] = c->y[1] = c->groups * c->filters;
    c->w[1] = c->channels;
    for (int32_t i = 0; i < c->space; ++i) {
        const int64_t reach = or_one(c->params.dilation[i]) * (c->filter[i] - 1) + 1;
        const int64_t padded = c->in[i] + c->params.pad[i] + pad_end(c, i);
        if (padded < reach)
            return false;
        c->x[2 + i] = c->in[i] + c->longer[i];
        c->w[2 + i] = c->filter[i];
        c->y[2 + i] = (padded - reach) / or_one(c->params.stride[i]) + 1;
    }
    return true;
}

double conv_backward_products(const conv_backward_case *c)
{
    double products = (double)(c->batch * c->groups * c->channels * c->filters);
    for (int32_t i = 0; i < c->space; ++i)
        products *= (double)c->y[2 + i] * (double)c->filter[i];
    return products;
}

const char *conv_backward_text(const conv_backward_case *c, char text[500])
{
    int used = snprintf(text, 500, "seed=%llu n=%lld g=%lld c=%lld k=%lld", (unsigned long long)c->seed,
                        (long long)c->batch, (long long)c->groups, (long long)c->channels, (long long)c->filters);
    for (int32_t i = 0; i < c->space; ++i)
        used += snprintf(text + used, (size_t)(500 - used),
                         " [in=%lld+%lld filter=%lld stride=%lld pad=%lld:%lld dilation=%lld out=%lld]",
                         (long long)c->in[i], (long long)c->longer[i], (long long)c->filter[i],
                         (long long)or_one(c->params.stride[i]), (long long)c->params.pad[i], (long long)pad_end(c, i),
                         (long long)or_one(c->params.dilation[i]), (long long)c->y[2 + i]);
    snprintf(text + used, (size_t)(500 - used), " layouts=%d,%d,%d accumulate=%u %s%s", c->layouts[0], c->layouts[1],
             c->layouts[2], (unsigned)c->params.accumulate, husk_dtype_name(c->dtype), c->is_wide ? " to f32" : "");
    return text;
}

static void draw_space(husk_ref_random *random, conv_backward_case *c)
{
    static const int64_t limits[] = {0, 200, 36, 9};
    for (int32_t i = 0; i < c->space; ++i) {
        c->in[i] = test_pick_size(random, c->space == 3 ? 4 : 16, limits[c->space]);
        c->filter[i] =
            c->space == 1 ? TEST_PICK(random, 1, 2, 3, 5, 9, 31) : TEST_PICK(random, 1, 1, 2, 3, 3, 3, 4, 5, 7);
        c->params.stride[i] = TEST_PICK(random, 0, 1, 1, 2, 2, 3, 4);
        c->params.dilation[i] = TEST_PICK(random, 0, 1, 1, 1, 2, 3);
        c->params.pad[i] = test_one_in(random, 2) ? 0 : husk_ref_random_below(random, c->filter[i] + 2);
        c->params.pad_end_extra[i] = test_one_in(random, 2) ? 0 : TEST_PICK(random, 0, 1, 2, 4) - c->params.pad[i];
    }
}

conv_backward_case conv_backward_draw(husk_ref_random *random, double most_products, bool is_depthwise)
{
    for (;;) {
        conv_backward_case c = {.space = (int32_t)TEST_PICK(random, 1, 2, 2, 2, 3)};
        c.batch = TEST_PICK(random, 1, 1, 1, 2, 3);
        c.groups = test_one_in(random, 3) ? TEST_PICK(random, 2, 3, 4, 17) : 1;
        c.channels = test_pick_size(random, 8, 40);
        c.filters = test_pick_size(random, test_one_in(random, 2) ? 13 : 16, 70);
        if (is_depthwise || test_one_in(random, 6)) {
            c.groups = test_pick_size(random, 16, 50);
            c.channels = 1;
            c.filters = TEST_PICK(random, 1, 1, 1, 2, 3);
        }
        draw_space(random, &c);
        for (int i = 0; i < 3; ++i)
            c.layouts[i] = test_one_in(random, 2)   ? TEST_PACKED
                           : test_one_in(random, 2) ? TEST_CHANNELS_LAST
                                                    : test_pick_layout(random);
        c.params.accumulate = test_one_in(random, 3) ? HUSK_ACCUMULATE_ALL : 0;
        c.seed = (uint64_t)husk_ref_random_below(random, 1 << 30);
        if (test_tier_is("dtypes")) {
            c.dtype = test_dtype((int64_t)c.seed);
            c.is_wide = c.seed % 5 == 0 && c.dtype != HUSK_F64;
        }
        if (conv_backward_resolve(&c) && conv_backward_products(&c) <= most_products)
            return c;
    }
}

conv_backward_case conv_backward_draw_meeting(husk_ref_random *random, double most_products)
{
    for (;;) {
        const conv_backward_case c = conv_backward_draw(random, most_products, false);
        bool meets = true;
        for (int32_t i = 0; i < c.space; ++i) {
            bool here = false;
            for (int64_t o = 0; o < c.y[2 + i]; ++o) {
                const int64_t at =
                    o * or_one(c.params.stride[i]) - c.params.pad[i] + c.filter[i] / 2 * or_one(c.params.dilation[i]);
                here = here || (at >= 0 && at < c.in[i]);
            }
            meets = meets && here;
        }
        if (meets)
            return c;
    }
}

conv_backward_case conv_backward_plain(int64_t channels, int64_t filters, int64_t extent, int64_t filter, int64_t pad,
                                       int64_t stride)
{
    conv_backward_case c = {.space = 2,
                            .batch = 1,
                            .groups = 1,
                            .channels = channels,
                            .filters = filters,
                            .in = {extent, extent},
                            .filter = {filter, filter},
                            .params = {.pad = {pad, pad}, .stride = {stride, stride}},
                            .seed = 5};
    if (test_tier_is("dtypes"))
        c.dtype = test_dtype(channels + filters);
    conv_backward_resolve(&c);
    return c;
}

void conv_backward_arrays_make(const conv_backward_case *c, conv_backward_arrays *a)
{
    const int32_t rank = 2 + c->space;
    a->x = test_array(rank, c->x, c->seed, 1.0);
    a->w = test_array(rank, c->w, c->seed + 1, 1.0);
    a->y = test_array(rank, c->y, 0, 0);
    a->dy = test_array(rank, c->y, c->seed + 2, 1.0);
    a->op = (husk_ref_conv){.params = &c->params, .x = &a->x, .w = &a->w};
    conv_backward_forward(a);
}

void conv_backward_arrays_release(conv_backward_arrays *a)
{
    test_array_release(&a->x);
    test_array_release(&a->w);
    test_array_release(&a->y);
    test_array_release(&a->dy);
}

void conv_backward_forward(void *arrays)
{
    conv_backward_arrays *a = arrays;
    husk_ref_conv_run(&a->op, &a->y);
}
