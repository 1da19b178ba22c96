/* SPDX-License-Identifier: MIT */
/*
 * ref/quantized/quantize.h: floats as integers of eight bits, see husk/ops/quantize.h.
 */
#ifndef HUSK_REF_QUANTIZED_QUANTIZE_H
#define HUSK_REF_QUANTIZED_QUANTIZE_H

#include <husk/ops/quantize.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_quantize {
    const husk_quantize_params *params; /* NULL for the defaults */
    const husk_ref_array *x, *scale, *zero; /* zero: NULL for none */
    husk_dtype dtype;                       /* of y: I8 or U8 */
} husk_ref_quantize;

void husk_ref_quantize_run(const husk_ref_quantize *op, const husk_ref_array *y);
husk_ref_value husk_ref_quantize_at(const husk_ref_quantize *op, const int64_t *index);
husk_ref_function husk_ref_quantize_function(const husk_ref_quantize *op);

/*
 * A quotient that is known up to an error, rounded, with the zero point and saturated: where both ends of what it may
 * be give one number, that, exactly; else the middle of the two, and a bound that allows both.
 */
husk_ref_value husk_ref_quantize_round(husk_dtype dtype, double quotient, double error, double zero);
/* The channel's element of scales or zero points (NULL: 0) for an element of a tensor at the index. */
double husk_ref_quantize_channel(const husk_ref_array *array, const husk_quantize_params *params, int32_t rank,
                                 const int64_t *index);

HUSK_END_DECLS

#endif
