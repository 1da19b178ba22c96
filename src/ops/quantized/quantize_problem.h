/* SPDX-License-Identifier: MIT */
/*
 * ops/quantized/quantize_problem.h: what quantize and dequantize share: floats and bytes of one shape, scales and
 * zero points.
 */
#ifndef HUSK_OPS_QUANTIZED_QUANTIZE_PROBLEM_H
#define HUSK_OPS_QUANTIZED_QUANTIZE_PROBLEM_H

#include <husk/ops/dequantize.h>

#include "select/plan.h"

typedef struct husk__quantize_problem {
    bool is_back; /* dequantize: x holds the bytes, y the floats */
    bool has_zero;
    husk_tensor x, y, scale, zero; /* scale and zero as views of x's shape: strides of 0 but along the channels */
} husk__quantize_problem;

extern const husk__op husk__op_quantize, husk__op_dequantize;
extern const husk__variant *const husk__quantize_variants[];

void husk__quantize_describe(const void *problem, husk__key *key);
void husk__quantize_classify(const void *problem, husk__text *text);
void husk__quantize_write_case(const void *problem, const void *arguments, husk__case *c);

/* Which of the two operators is called. */
typedef struct husk__quantize_operator {
    const husk__op *op;
    bool is_back;
    const char *params; /* the macro that makes its params */
} husk__quantize_operator;

/* The whole call, but for what is at its beginning. */
husk_status husk__quantize_call(husk_queue *queue, const husk__quantize_operator *called,
                                const husk_quantize_params *params, const husk_tensor *x, const husk_tensor *scale,
                                const husk_tensor *zero, const husk_tensor *y, const husk__scope *scope);
husk_status husk__quantize_prewarm(husk_queue *queue, const husk__quantize_operator *called, const husk__scope *scope);

#endif
