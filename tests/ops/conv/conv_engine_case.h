/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/conv_engine_case.h: convolutions by matrix engines, checked against the bound that their plan states.
 */
#ifndef HUSK_TESTS_OPS_CONV_CONV_ENGINE_CASE_H
#define HUSK_TESTS_OPS_CONV_CONV_ENGINE_CASE_H

#include "conv_backward_case.h"
#include "support/products.h"

/* The case's params with this product's precision and the variant. */
husk_conv_params conv_engine_params(const conv_backward_case *c, const test_product *p, const char *variant);
const char *conv_engine_text(const conv_backward_case *c, const test_product *p, const char *what);
/*
 * Of the plan that ran last, which has to be of the variant: a bound of its own, of the engine's product, which is
 * wider than a plain sum's or as wide.
 */
double conv_engine_bound(const test_product *p, const char *variant, double least);
/* One convolution with a bias, against the reference; false where the variant refuses. */
bool conv_engine_forward(conv_backward_case *c, const test_product *p, const char *variant, husk_act activation);

#endif
