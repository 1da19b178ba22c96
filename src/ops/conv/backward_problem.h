/* SPDX-License-Identifier: MIT */
/*
 * ops/conv/backward_problem.h: what the gradients of convolution share. Their problem is that of the forward
 * convolution whose gradients they are: problem.x has the shape and strides of x or dx, problem.y of dy, problem.w of w
 * or dw; problem.bias is the transposed convolution's or dbias.
 */
#ifndef HUSK_OPS_CONV_BACKWARD_PROBLEM_H
#define HUSK_OPS_CONV_BACKWARD_PROBLEM_H

#include "ops/conv/problem.h"

typedef struct husk__conv_backward_data_arguments {
    const husk_tensor *w, *dy, *bias, *dx; /* bias may be NULL */
} husk__conv_backward_data_arguments;

typedef struct husk__conv_backward_weights_arguments {
    const husk_tensor *x, *dy, *dw, *dbias; /* dw or dbias may be NULL */
} husk__conv_backward_weights_arguments;

extern const husk__op husk__op_conv_backward_data, husk__op_conv_backward_weights;
extern const husk__variant husk__conv_backward_data_phases, husk__conv_backward_data_depthwise,
    husk__conv_backward_data_columns, husk__conv_backward_data_tiled, husk__conv_backward_data_matrix;
extern const husk__variant husk__conv_backward_weights_panels, husk__conv_backward_weights_depthwise,
    husk__conv_backward_weights_winograd, husk__conv_backward_weights_tiled, husk__conv_backward_weights_matrix;

/* ---- backward_launch.c ---- */

/* Products in the sum of one element of dx, and the factor of its bound. */
int64_t husk__conv_backward_data_products(const husk__conv_problem *problem);
double husk__conv_backward_data_error_factor(const husk__candidate *candidate);
/* The same of dw and dbias. */
int64_t husk__conv_backward_weights_products(const husk__conv_problem *problem);
double husk__conv_backward_weights_error_factor(const husk__candidate *candidate);
/* What the kernels that write dw or dbias, whose dtype is given, are told as `accumulate`: 1 to add, 2 for f32. */
int32_t husk__conv_backward_flags(const husk__conv_problem *problem, husk_dtype output);
/* Enqueue the bias' gradient by a kernel with the arguments of cl/conv/backward_weights_panels.cl's. */
husk_status husk__conv_backward_bias_launch(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                            const husk__range *range, const husk_tensor *dy, const husk_tensor *dbias,
                                            const husk__scope *scope);
/*
 * What cl/conv/backward_weights_panels.cl does for other variants of the CPU family, too: it adds slices, of sums that
 * lie in [slice][group][panel][row][width of the panel], rows being (channel, tap), to dw, and it makes dbias.
 */
husk_status husk__conv_backward_panels_get(husk_plan *plan, const husk__kernel **reduce, const husk__kernel **bias,
                                           const husk__scope *scope);
void husk__conv_backward_panels_layout(const husk__candidate *candidate, int64_t *panels, int64_t *rows,
                                       int64_t *width);
husk_status husk__conv_backward_panels_reduce(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                              const husk__conv_backward_weights_arguments *arguments, husk__arg parts,
                                              int64_t slices, const husk__scope *scope);
husk_status husk__conv_backward_panels_bias(const husk_plan *plan, husk_queue *queue, const husk__kernel *kernel,
                                            const husk__conv_backward_weights_arguments *arguments,
                                            const husk__scope *scope);
/* The W_STRIDES_PARAMS of cl/lib/filter_gradient.clh. */
enum { HUSK__CONV_W_ARGUMENTS = 6 };
size_t husk__conv_backward_w_arguments(husk__arg *list, const husk__conv_problem *problem);

#endif
