/* SPDX-License-Identifier: MIT */
/*
 * ref/quantized/conv.h: convolution of bytes, see husk/ops/quantized_conv.h.
 */
#ifndef HUSK_REF_QUANTIZED_CONV_H
#define HUSK_REF_QUANTIZED_CONV_H

#include <husk/ops/quantized_conv.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_quantized_conv {
    const husk_quantized_conv_params *params;                 /* NULL for the defaults */
    const husk_ref_array *x, *w, *w_scale, *bias;             /* the last two NULL for none */
    const husk_ref_array *y;                                  /* dtype, rank and shape alone count */
    const husk_quantization *x_quantization, *y_quantization; /* NULL: scale 1, zero 0 */
} husk_ref_quantized_conv;

void husk_ref_quantized_conv_run(const husk_ref_quantized_conv *op, const husk_ref_array *out);
husk_ref_value husk_ref_quantized_conv_at(const husk_ref_quantized_conv *op, const int64_t *index);
husk_ref_function husk_ref_quantized_conv_function(const husk_ref_quantized_conv *op);

HUSK_END_DECLS

#endif
