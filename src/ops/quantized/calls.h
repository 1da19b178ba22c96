/* SPDX-License-Identifier: MIT */
/*
 * ops/quantized/calls.h: what the public calls of quantized_gemm and quantized_conv do alike: bytes times weights that
 * may be packed, to an output that has a quantization of its own where it is bytes. In ops/quantized/calls.c.
 */
#ifndef HUSK_OPS_QUANTIZED_CALLS_H
#define HUSK_OPS_QUANTIZED_CALLS_H

#include <husk/ops/quantize.h>

#include "select/plan.h"

/* Resolved, without memory; what a run is compared with. Each operator's problem begins with them. */
typedef struct husk__quantized_tensors {
    husk_tensor input, weights, output, scale, bias;
    bool has_scale, has_bias;
    bool is_packed; /* the caller gave packed weights: their strides mean nothing */
} husk__quantized_tensors;

/* As the caller gives them: scale, bias and quantizations may be NULL. */
typedef struct husk__quantized_arguments {
    const husk_tensor *input, *weights, *scale, *bias, *output;
    const husk_quantization *input_quantization, *output_quantization;
} husk__quantized_arguments;

/* What a run works on: scale and bias are NULL where there are none. */
typedef struct husk__quantized_run {
    const husk_tensor *input, *weights, *scale, *bias, *output;
    husk_quantization input_quantization, output_quantization;
} husk__quantized_run;

/* An operator, and what it calls its arguments. */
typedef struct husk__quantized_calls {
    const husk__op *op;
    const char *input, *weights, *scale, *output, *input_quantization, *output_quantization;
    bool (*is_empty)(const void *problem);
    /* Packs the weights as the plan's variant wants them; HUSK_UNSUPPORTED where it takes them as they are. */
    husk_status (*pack)(const husk_plan *plan, husk_queue *queue, const husk_tensor *weights, husk_packed **packed,
                        const husk__scope *scope);
} husk__quantized_calls;

/* The weights: i8, plain or packed for this operator. */
husk_status husk__quantized_check_weights(const husk__quantized_calls *calls, const husk_tensor *weights,
                                          const husk__scope *scope);
/* The tensors of a problem. They have been checked. */
void husk__quantized_keep(const husk__quantized_arguments *given, husk__quantized_tensors *tensors);
/* The caller's word, and that of packed weights. */
husk__preference husk__quantized_preference(const char *variant, uint64_t workspace_limit,
                                            const husk__quantized_arguments *given,
                                            const husk__quantized_tensors *tensors);

/* The public calls, from the resolved problem on; plan is what the caller has passed. */
husk_status husk__quantized_call(husk_queue *queue, const husk__quantized_calls *calls, const void *problem,
                                 const husk__preference *preference, const husk__quantized_arguments *given,
                                 const husk__scope *scope);
husk_status husk__quantized_plan_run(const husk_plan *plan, husk_queue *queue, const husk__quantized_calls *calls,
                                     const husk__quantized_arguments *given, const husk__scope *scope);
husk_status husk__quantized_plan_pack(const husk_plan *plan, husk_queue *queue, const husk__quantized_calls *calls,
                                      const husk_tensor *weights, husk_packed **packed, const husk__scope *scope);

#endif
