// SPDX-License-Identifier: MIT
#include "conv_engine_case.h"

#include <stdio.h>
#include <string.h>

#include "ref/freivalds.h"

double conv_engine_bound(const test_product *p, const char *variant, double least)
{
    const husk_plan *plan = husk_queue_plan(test_queue());
    const double factor = husk_plan_error_factor(plan);
    ck_assert_msg(!strncmp(husk_plan_variant(plan), variant, strlen(husk_plan_variant(plan))), "%s, not %s",
                  husk_plan_variant(plan), variant);
    ck_assert_msg(factor >= least, "%s claims %g, less than a sum in f32 may err", p->engine, factor);
    return factor;
}

husk_conv_params conv_engine_params(const conv_backward_case *c, const test_product *p, const char *variant)
{
    husk_conv_params params = c->params;
    params.precision = p->precision;
    params.variant = variant;
    return params;
}

const char *conv_engine_text(const conv_backward_case *c, const test_product *p, const char *what)
{
    static char text[700];
    char own[500];
    snprintf(text, sizeof text, "%s precision %d %s %s", p->engine, (int)p->precision, what,
             conv_backward_text(c, own));
    return text;
}

bool conv_engine_forward(conv_backward_case *c, const test_product *p, const char *variant, husk_act activation)
{
    const int32_t rank = 2 + c->space;
    husk_conv_params params = conv_engine_params(c, p, variant);
    params.accumulate = 0;
    params.activation = activation;
    params.activation_slope = 0.25f;
    test_tensor x = test_input_of(c->dtype, rank, c->x, c->layouts[0], c->seed, 1.0f);
    test_tensor w = test_input_of(c->dtype, rank, c->w, c->layouts[1], c->seed + 1, 1.0f);
    test_tensor bias = test_input_of(c->dtype, 1, &c->y[1], TEST_PACKED, c->seed + 2, 1.0f);
    test_tensor y = test_output(c->is_wide ? HUSK_F32 : c->dtype, rank, c->y, c->layouts[2]);
    const bool ran =
        test_ran(husk_conv(test_queue(), &params, &x.tensor, &w.tensor, &bias.tensor, &y.tensor), "conv", variant);
    if (ran) {
        husk_ref_conv op = {.params = &params,
                            .x = &x.array,
                            .w = &w.array,
                            .bias = &bias.array,
                            .error_factor = conv_engine_bound(p, variant, 4.0)};
        husk_ref_report report = {0};
        test_fetch(&y);
        husk_ref_conv_prepare(&op);
        husk_ref_conv_check(&op, c->seed, &y.array, &report);
        test_accept("conv", variant, conv_engine_text(c, p, "forward"), &report);
        husk_ref_conv_release(&op);
    }
    test_release(&x);
    test_release(&w);
    test_release(&bias);
    test_release(&y);
    return ran;
}
