/* SPDX-License-Identifier: MIT */
/*
 * ref/quantized/gemm.h: multiplication of matrices of bytes, see husk/ops/quantized_gemm.h.
 */
#ifndef HUSK_REF_QUANTIZED_GEMM_H
#define HUSK_REF_QUANTIZED_GEMM_H

#include <husk/ops/quantized_gemm.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_quantized_gemm {
    const husk_quantized_gemm_params *params;             /* NULL for the defaults */
    const husk_ref_array *a, *b, *b_scale, *bias;         /* the last two NULL for none */
    const husk_ref_array *c;                              /* dtype, rank and shape alone count */
    const husk_quantization *a_quantization, *c_quantization; /* NULL: scale 1, zero 0 */
} husk_ref_quantized_gemm;

void husk_ref_quantized_gemm_run(const husk_ref_quantized_gemm *op, const husk_ref_array *out);
husk_ref_value husk_ref_quantized_gemm_at(const husk_ref_quantized_gemm *op, const int64_t *index);
husk_ref_function husk_ref_quantized_gemm_function(const husk_ref_quantized_gemm *op);

/* What becomes of an exact sum in an output of the dtype: scale and bias of its channel; slope of the activation. */
husk_ref_value husk_ref_quantized_finish(int64_t sum, int64_t terms, husk_dtype dtype, double scale, double bias,
                                         husk_act act, float slope, const husk_quantization *c_quantization);

HUSK_END_DECLS

#endif
