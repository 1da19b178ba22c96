// SPDX-License-Identifier: MIT
#include "conv_case.h"

#include <stdio.h>
#include <string.h>

static int64_t or_one(int64_t option)
{
    return option ? option : 1;
}

static int64_t pad_end(const conv_case *c, int32_t i)
{
    return c->params.pad[i] + c->params.pad_end_extra[i];
}

const char *conv_case_text(const conv_case *c, conv_way way, char text[400])
{
    static const char *const ways[] = {"call", "call packed", "plan", "plan packed"};
    int used = snprintf(text, 400, "seed=%llu n=%lld g=%lld c=%lld k=%lld", (unsigned long long)c->seed,
                        (long long)c->batch, (long long)c->groups, (long long)c->channels, (long long)c->filters);
    for (int32_t i = 0; i < c->space; ++i)
        used += snprintf(text + used, (size_t)(400 - used),
                         " [in=%lld filter=%lld stride=%lld pad=%lld:%lld dilation=%lld]", (long long)c->in[i],
                         (long long)c->filter[i], (long long)or_one(c->params.stride[i]), (long long)c->params.pad[i],
                         (long long)pad_end(c, i), (long long)or_one(c->params.dilation[i]));
    snprintf(text + used, (size_t)(400 - used), " bias=%d act=%s layouts=%d,%d,%d amid_nan=%d %s%s%s %s", c->has_bias,
             husk_act_name(c->params.activation), c->x_layout, c->w_layout, c->y_layout, c->amid_nan,
             husk_dtype_name(c->dtype), c->y_is_wide ? " y=f32" : "", c->bias_is_wide ? " bias=f32" : "", ways[way]);
    return text;
}

static int64_t out_extent(const conv_case *c, int32_t i)
{
    const int64_t reach = or_one(c->params.dilation[i]) * (c->filter[i] - 1) + 1;
    const int64_t padded = c->in[i] + c->params.pad[i] + pad_end(c, i);
    return padded < reach ? 0 : (padded - reach) / or_one(c->params.stride[i]) + 1;
}

bool conv_case_is_valid(const conv_case *c)
{
    for (int32_t i = 0; i < c->space; ++i)
        if (out_extent(c, i) < 1)
            return false;
    return true;
}

double conv_case_products(const conv_case *c)
{
    double products = (double)(c->batch * c->groups * c->channels * c->filters);
    for (int32_t i = 0; i < c->space; ++i)
        products *= (double)out_extent(c, i) * (double)c->filter[i];
    return products;
}

void conv_make(const conv_case *c, const char *variant, conv_tensors *t)
{
    const int32_t rank = 2 + c->space;
    int64_t x[5] = {c->batch, c->groups * c->channels}, w[5] = {c->groups * c->filters, c->channels};
    for (int32_t i = 0; i < c->space; ++i) {
        x[2 + i] = c->in[i];
        w[2 + i] = c->filter[i];
    }
    t->params = c->params;
    t->params.size = sizeof t->params;
    t->params.groups = c->groups;
    t->params.variant = variant;
    t->x = c->amid_nan && c->dtype == HUSK_F32 ? test_input_amid_nan(rank, x, c->x_layout, c->seed, 1.0f)
                                               : test_input_of(c->dtype, rank, x, c->x_layout, c->seed, 1.0f);
    t->w = test_input_of(c->dtype, rank, w, c->w_layout, c->seed + 1, 1.0f);
    t->bias = test_input_of(c->bias_is_wide ? HUSK_F32 : c->dtype, 1, w, TEST_PACKED, c->seed + 2, 1.0f);
    husk_error error = {0};
    test_ok_error(husk_conv_output_shape(&t->params, &t->x.tensor, &t->w.tensor, t->shape, &error), &error);
    for (int32_t i = 0; i < c->space; ++i)
        ck_assert_int_eq(t->shape[2 + i], out_extent(c, i));
    t->y = test_output(c->y_is_wide ? HUSK_F32 : c->dtype, rank, t->shape, c->y_layout);
}

void conv_release(conv_tensors *t)
{
    test_release(&t->x);
    test_release(&t->w);
    test_release(&t->bias);
    test_release(&t->y);
}

const husk_tensor *conv_bias(const conv_case *c, const conv_tensors *t)
{
    return c->has_bias ? &t->bias.tensor : NULL;
}

husk_plan *conv_plan(const conv_case *c, const conv_tensors *t, const char *variant)
{
    husk_plan *plan = NULL;
    husk_error error = {0};
    husk_status status = husk_conv_plan_create(test_context(), &t->params, &t->x.tensor, &t->w.tensor, conv_bias(c, t),
                                               &t->y.tensor, &plan, &error);
    if (!test_ran_error(status, &error, "conv", variant))
        ck_assert_ptr_null(plan);
    return plan;
}

husk_packed *conv_pack(husk_plan *plan, const conv_tensors *t)
{
    husk_packed *packed = NULL;
    test_ok(husk_conv_plan_pack(plan, test_queue(), &t->w.tensor, &packed));
    ck_assert_ptr_nonnull(packed);
    return packed;
}

void conv_run(const conv_case *c, conv_tensors *t, husk_plan *plan, conv_way way)
{
    const bool is_packed = way == CONV_CALL_PACKED || way == CONV_PLAN_PACKED;
    husk_packed *packed = is_packed ? conv_pack(plan, t) : NULL;
    const husk_tensor w = is_packed ? husk_packed_tensor(packed) : t->w.tensor;
    husk_conv_params params = t->params;
    if (way == CONV_CALL_PACKED)
        params.variant = NULL;
    if (way == CONV_PLAN || way == CONV_PLAN_PACKED)
        test_ok(husk_conv_plan_run(plan, test_queue(), &t->x.tensor, &w, conv_bias(c, t), &t->y.tensor));
    else
        test_ok(husk_conv(test_queue(), &params, &t->x.tensor, &w, conv_bias(c, t), &t->y.tensor));
    husk_packed_release(packed);
    test_fetch(&t->y);
}

husk_ref_conv conv_reference(const conv_case *c, const conv_tensors *t, const husk_plan *plan)
{
    husk_ref_conv op = {.params = &t->params,
                        .x = &t->x.array,
                        .w = &t->w.array,
                        .bias = c->has_bias ? &t->bias.array : NULL,
                        .error_factor = husk_plan_error_factor(plan)};
    int64_t edge = 0;
    if (sscanf(husk_plan_variant(plan), "winograd_%lldx", (long long *)&edge) == 1)
        for (int32_t i = 0; i < c->space; ++i)
            op.tile[i] = c->filter[i] == 3 ? edge : 1;
    husk_ref_conv_prepare(&op);
    return op;
}

bool conv_test(const conv_case *c, const char *variant, conv_way way)
{
    conv_tensors t;
    char text[400];
    conv_make(c, variant, &t);
    husk_plan *plan = conv_plan(c, &t, variant);
    if (plan) {
        conv_run(c, &t, plan, way);
        husk_ref_conv op = conv_reference(c, &t, plan);
        husk_ref_report report = {0};
        husk_ref_conv_check(&op, c->seed, &t.y.array, &report);
        test_accept("conv", variant ? husk_plan_variant(plan) : NULL, conv_case_text(c, way, text), &report);
        husk_ref_conv_release(&op);
    }
    husk_plan_release(plan);
    conv_release(&t);
    return plan != NULL;
}
