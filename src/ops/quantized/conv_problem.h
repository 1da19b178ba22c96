/* SPDX-License-Identifier: MIT */
/*
 * ops/quantized/conv_problem.h: a convolution of bytes with every default filled in, shared by its variants.
 */
#ifndef HUSK_OPS_QUANTIZED_CONV_PROBLEM_H
#define HUSK_OPS_QUANTIZED_CONV_PROBLEM_H

#include <husk/ops/quantized_conv.h>

#include "ops/quantized/calls.h"
#include "ops/quantized/products.h"

/* Space is depth, height, width; fewer dimensions have leading extents of 1. Strides: n, c, d, h, w (w: k first). */
typedef struct husk__quantized_conv_problem {
    husk__quantized_tensors tensors; /* x, w and y */
    husk__products products; /* of the image as it lies in scratch memory, or, where it is taken as it is, of that */
    bool is_direct;          /* the latter */
    int64_t batch, groups, channels, filters; /* channels and filters of a group */
    int64_t in[3], out[3], filter[3], stride[3], pad[3], pad_end[3], dilation[3];
    int64_t x_strides[5], w_strides[5], y_strides[5];
} husk__quantized_conv_problem;

/* What must agree between packed weights and a plan that uses them. */
void husk__quantized_conv_describe_packed(const husk_plan *plan, husk__key *key);
double husk__quantized_conv_flops(const husk__candidate *candidate);
/* Strides n, c, d, h, w of a tensor of rank 3 to 5. */
void husk__quantized_conv_strides(const husk_tensor *tensor, int64_t strides[5]);
/* What products has of w's strides. */
void husk__quantized_conv_set_weights(husk__products *products, const int64_t strides[5], int64_t filters);

/* implicit_gemm: weights in panels. */
husk_status husk__quantized_conv_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                      husk_packed **packed, const husk__scope *scope);

/* depthwise: weights in quads of four rows, and their sums. */
husk_status husk__quantized_conv_depthwise_pack(const husk_plan *plan, husk_queue *queue, const husk_tensor *w,
                                                husk_packed **packed, const husk__scope *scope);

/* Whether the window's numbers, and all places it reaches, are ints. */
bool husk__quantized_conv_fits_int(const husk__quantized_conv_problem *problem, char reason[HUSK__REASON_CAPACITY]);

/* What kernels take of a window: extents of the image, filter, strides, padding, dilation, extents of the output. */
husk__arg *husk__quantized_conv_write_window(const husk__quantized_conv_problem *problem, const int64_t in[3],
                                             const int64_t pad[3], husk__arg *end);

/*
 * An image as it lies in scratch memory where it is laid out: bytes, a multiple of a cache line; from an image to the
 * next, and along depth, height and width; and the kernel's launch, see cl/lib/quantized_lay_out.clh.
 */
uint64_t husk__quantized_conv_laid_out_bytes(const husk__quantized_conv_problem *problem);
void husk__quantized_conv_laid_out_steps(const husk__quantized_conv_problem *problem, int64_t steps[4]);
husk_status husk__quantized_conv_lay_out(const husk_plan *plan, const husk__kernel *kernel, husk_queue *queue,
                                         const husk__quantized_run *given, const husk__scratch *scratch,
                                         const husk__scope *scope);

extern const husk__op husk__op_quantized_conv;
extern const husk__variant husk__quantized_conv_implicit_gemm, husk__quantized_conv_depthwise,
    husk__quantized_conv_grid;

#endif
