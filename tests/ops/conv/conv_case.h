/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/conv_case.h: one convolution of the tests: its numbers, its tensors, and how it is run and checked.
 */
#ifndef HUSK_TESTS_OPS_CONV_CONV_CASE_H
#define HUSK_TESTS_OPS_CONV_CONV_CASE_H

#include "ref/freivalds.h"
#include "support/support.h"

typedef struct conv_case {
    int32_t space;
    int64_t batch, groups, channels, filters; /* channels and filters of one group */
    int64_t in[3], filter[3];
    husk_conv_params params; /* everything but groups and variant */
    bool has_bias;
    test_layout x_layout, w_layout, y_layout;
    bool amid_nan;
    uint64_t seed;
    husk_dtype dtype;
    bool y_is_wide, bias_is_wide; /* f32 beside it */
} conv_case;

/* How it is run. */
typedef enum conv_way {
    CONV_CALL,        /* husk_conv, plain weights */
    CONV_CALL_PACKED, /* husk_conv, packed weights: which variant is theirs to say */
    CONV_PLAN,        /* husk_conv_plan_run, plain weights */
    CONV_PLAN_PACKED
} conv_way;
#define CONV_WAYS 4

typedef struct conv_tensors {
    test_tensor x, w, bias, y;
    husk_conv_params params; /* whole */
    int64_t shape[HUSK_MAX_RANK];
} conv_tensors;

/* "n=1 g=1 c=3 ..." */
const char *conv_case_text(const conv_case *c, conv_way way, char text[400]);
/* Whether there is an output at all. */
bool conv_case_is_valid(const conv_case *c);
double conv_case_products(const conv_case *c);

void conv_make(const conv_case *c, const char *variant, conv_tensors *t);
void conv_release(conv_tensors *t);
const husk_tensor *conv_bias(const conv_case *c, const conv_tensors *t);

/* The plan that computes it; NULL when the named variant refuses, which is counted. */
husk_plan *conv_plan(const conv_case *c, const conv_tensors *t, const char *variant);
husk_packed *conv_pack(husk_plan *plan, const conv_tensors *t);
void conv_run(const conv_case *c, conv_tensors *t, husk_plan *plan, conv_way way);
/* The reference, with the error bound of the plan's variant. Release it with husk_ref_conv_release. */
husk_ref_conv conv_reference(const conv_case *c, const conv_tensors *t, const husk_plan *plan);

/* Make, run, check, release. True unless the variant refused. */
bool conv_test(const conv_case *c, const char *variant, conv_way way);

#endif
