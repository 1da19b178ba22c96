/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_quantized.h: what oneDNN's products of bytes share: types, scales, zero points.
 *
 * out = (in - zero) w, scaled by channel, with bias and activation: oneDNN does that with attributes. The scales that
 * it is given hold the input's scale and, where nothing stands between, the quantized output's: which a user would
 * work out once.
 */
#ifndef BENCH_BASELINE_ONEDNN_QUANTIZED_H
#define BENCH_BASELINE_ONEDNN_QUANTIZED_H

#include "baseline/onednn_op.h"

/* One product: its channels, and how it is scaled. */
typedef struct onednn_quantized {
    int64_t channels;
    husk_dtype out;         /* I32: the sums as they are, no scales */
    husk_quantization from; /* of the input */
    husk_quantization to;   /* of the output, where that is quantized; else {1, 0} */
    husk_act act;
    int mask_of_output, mask_of_weights; /* the channel's dimension, as a bit; groups have one as well */
    /*
     * Not NULL: oneDNN's bias has nothing but the input's zero point. The scales multiply and the bias is added after
     * it, both of this shape; the bias, where has_late_bias says that there is one, is operands->bias.
     */
    const onednn_md *late;
    bool has_late_bias;
} onednn_quantized;

dnnl_data_type_t onednn_quantized_type(husk_dtype dtype);

/* operands->scales and scaled_bias, in make_operands. */
bool onednn_quantized_make(const onednn_quantized *q, onednn_operands *operands);
/* Whether a bias with the input's zero point in it has to come before scales and bias, by `late`. */
bool onednn_quantized_zero_comes_first(void);
/*
 * What the input's zero point makes of the weights' sums by channel, into `into`, the new scaled_bias: together with
 * the one before, or, where it comes first, alone, and bias is the one before.
 */
void onednn_quantized_fold_zero(const onednn_quantized *q, onednn_operands *operands, float *into, const int64_t *sums);

/* has_zero: the input's zero point is the primitive's business. */
const_dnnl_primitive_attr_t onednn_quantized_attr(onednn_program *program, const onednn_quantized *q, bool has_zero,
                                                  const onednn_operands *operands);

enum { ONEDNN_QUANTIZED_ARGUMENTS = 3 };

/* The arguments that 3.x wants beside tensors; those of 2.x have no memory. */
void onednn_quantized_arguments(onednn_program *program, const onednn_quantized *q, bool has_zero,
                                const onednn_operands *operands, dnnl_exec_arg_t arguments[ONEDNN_QUANTIZED_ARGUMENTS]);

#endif
