/* SPDX-License-Identifier: MIT */
/*
 * husk/plan.h: an operator fixed to options, shapes, layouts and dtypes on a device, and weights packed for it.
 *
 * Each operator's header has its own ..._plan_create and ..._plan_run; what all plans share is here. Plans
 * and packed weights are immutable and shared by threads. They keep their context alive.
 */
#ifndef HUSK_PLAN_H
#define HUSK_PLAN_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

typedef struct husk_plan husk_plan;

HUSK_API void husk_plan_retain(husk_plan *plan);
HUSK_API void husk_plan_release(husk_plan *plan);
/* The variant that was chosen, such as "winograd_4x4", and its configuration, such as "12x32". */
HUSK_API const char *husk_plan_variant(const husk_plan *plan);
HUSK_API const char *husk_plan_configuration(const husk_plan *plan);
/*
 * Bytes of scratch memory a run takes from its queue, with what the plans inside a composite take (those of rnn, and of
 * the gradients of rnn, gemm, reduce, and of convolution by its data): at most the params' workspace_limit. Where they
 * give none, the limit is the larger of 64 MiB and twice the tensors' bytes, those of f16 and bf16 counted as the f32
 * that they are computed in, for every operator (rnn and its gradients add that f32 itself); a plan inside a composite
 * has that of its own tensors. A variant that needs more counts as unsupported, unless the params ask for it by name,
 * or nobody gave a limit and all variants that are made for this class of device need more: then those are taken that
 * need the least, or up to a quarter more. One that needs more at once than a buffer may have (max_allocation of
 * husk/device.h) is unsupported in any case.
 */
HUSK_API uint64_t husk_plan_workspace(const husk_plan *plan);
/*
 * Floating-point operations a run executes: fewer than the operator's own count for Winograd, more where it repeats.
 * 0: not counted (attention and its gradient).
 */
HUSK_API double husk_plan_executed_flops(const husk_plan *plan);
/*
 * The derived error bound of the variant: |error| <= factor * 2^-24 * sum of |products|, per output element.
 * 0 where the operator's header states its bound otherwise.
 */
HUSK_API double husk_plan_error_factor(const husk_plan *plan);

/*
 * The plan that the last immediate call (husk_gemm, husk_softmax, ...) on this queue made or found, to see what was
 * chosen. It is the queue's, until its next call; retain it to keep it longer, though not longer than the queue. NULL
 * before the first call.
 */
HUSK_API const husk_plan *husk_queue_plan(const husk_queue *queue);

HUSK_API void husk_packed_retain(husk_packed *packed);
HUSK_API void husk_packed_release(husk_packed *packed);
/* Device memory the packed weights take, in bytes. */
HUSK_API uint64_t husk_packed_size(const husk_packed *packed);
/* A tensor that stands for the packed weights wherever the plain ones would be passed. */
HUSK_API husk_tensor husk_packed_tensor(const husk_packed *packed);

/*
 * The variants that operator op ("gemm", "conv", ...) has, in the order in which they are documented.
 * NULL past the end or for an unknown operator.
 */
HUSK_API const char *husk_op_variant(const char *op, size_t index);
/*
 * The configurations that a variant can be asked for by "name:configuration", whether or not this device can
 * run them. NULL past the end or for an unknown operator or variant.
 */
HUSK_API const char *husk_op_configuration(const char *op, const char *variant, size_t index);
/* The operators; NULL past the end. */
HUSK_API const char *husk_op_name(size_t index);

HUSK_END_DECLS

#endif
