/* SPDX-License-Identifier: MIT */
/*
 * ref/quantized/dequantize.h: integers of eight bits as floats, see husk/ops/dequantize.h.
 */
#ifndef HUSK_REF_QUANTIZED_DEQUANTIZE_H
#define HUSK_REF_QUANTIZED_DEQUANTIZE_H

#include <husk/ops/dequantize.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_dequantize {
    const husk_dequantize_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *scale, *zero; /* zero: NULL for none */
} husk_ref_dequantize;

void husk_ref_dequantize_run(const husk_ref_dequantize *op, const husk_ref_array *y);
husk_ref_value husk_ref_dequantize_at(const husk_ref_dequantize *op, const int64_t *index);
husk_ref_function husk_ref_dequantize_function(const husk_ref_dequantize *op);

HUSK_END_DECLS

#endif
