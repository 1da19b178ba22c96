/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/conv_backward_case.h: what the tests of convolution's gradients share: configurations by chance, and F64
 * arrays for finite differences.
 */
#ifndef HUSK_TESTS_OPS_CONV_CONV_BACKWARD_CASE_H
#define HUSK_TESTS_OPS_CONV_CONV_BACKWARD_CASE_H

#include "ref/conv/conv.h"
#include "support/support.h"

typedef struct conv_backward_case {
    int32_t space;
    int64_t batch, groups, channels, filters; /* of one group */
    int64_t in[3], filter[3];
    int64_t longer[3]; /* elements of x past those that y is made of: of the transposed convolution alone */
    husk_conv_params params; /* without variant */
    test_layout layouts[3];  /* of x, w and y, or their gradients */
    uint64_t seed;
    husk_dtype dtype; /* of the inputs */
    bool is_wide;     /* the gradients are f32 all the same */
    /* derived */
    int64_t x[5], w[5], y[5]; /* shapes */
} conv_backward_case;

/* Shapes from the numbers above; false where there is no output. */
bool conv_backward_resolve(conv_backward_case *c);
double conv_backward_products(const conv_backward_case *c);
/* At most so many products; depthwise: one channel a group. */
conv_backward_case conv_backward_draw(husk_ref_random *random, double most_products, bool is_depthwise);
/* One whose every dimension has a position of y that meets x in the middle of the filter. */
conv_backward_case conv_backward_draw_meeting(husk_ref_random *random, double most_products);
conv_backward_case conv_backward_plain(int64_t channels, int64_t filters, int64_t extent, int64_t filter, int64_t pad,
                                       int64_t stride);
const char *conv_backward_text(const conv_backward_case *c, char text[500]);

/* x, w, y = conv(x, w), dy in double. Released by conv_backward_release. */
typedef struct conv_backward_arrays {
    husk_ref_conv op;
    husk_ref_array x, w, y, dy;
} conv_backward_arrays;
void conv_backward_arrays_make(const conv_backward_case *c, conv_backward_arrays *a);
void conv_backward_arrays_release(conv_backward_arrays *a);
/* For test_differences: y from x and w of conv_backward_arrays. */
void conv_backward_forward(void *arrays);

#endif
