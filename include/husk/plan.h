/* SPDX-License-Identifier: MIT */
/** @file
 * A plan is an operator with fixed options, shapes, layouts and dtypes on a device. Packed weights belong to plans.
 *
 * Each operator's header declares its own `..._plan_create` and `..._plan_run`. This header has what all plans share.
 *
 * Plans and packed weights are immutable, may be shared by threads, and keep their context alive.
 */
#ifndef HUSK_PLAN_H
#define HUSK_PLAN_H

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/** An operator with fixed options, shapes, layouts and dtypes. */
typedef struct husk_plan husk_plan;

/** Add a reference. */
HUSK_API void husk_plan_retain(husk_plan *plan);
/** Drop a reference. */
HUSK_API void husk_plan_release(husk_plan *plan);
/** The chosen variant, such as "winograd_4x4". */
HUSK_API const char *husk_plan_variant(const husk_plan *plan);
/** The chosen variant's configuration, such as "12x2v". */
HUSK_API const char *husk_plan_configuration(const husk_plan *plan);
/**
 * Bytes of scratch memory that a run takes from its queue.
 *
 * They include what the plans inside a composite take. Composites are rnn, the gradients of rnn, gemm and reduce, and
 * the data gradient of convolution.
 *
 * @par Limit
 * The limit is the params' workspace_limit. If that is 0, the default for every operator is the larger of 64 MiB and
 * twice the tensors' bytes:
 * - f16 and bf16 tensors count as the f32 in which they are computed. rnn and its gradients add the bytes of this f32
 *   to the default.
 * - A plan inside a composite has the default of its own tensors.
 *
 * @par Variants above the limit
 * A variant that needs more counts as unsupported. There are two exceptions:
 * - The params name the variant.
 * - No limit was given, and all variants for this class of device need more. Then the library chooses among those that
 *   need the least, or up to a quarter more than that.
 *
 * @par
 * A variant that needs more in one piece than a buffer may have (husk_device_traits::max_allocation) is always
 * unsupported.
 */
HUSK_API uint64_t husk_plan_workspace(const husk_plan *plan);
/**
 * Floating-point operations that a run executes. Winograd's algorithm executes fewer than the operator's own count;
 * variants that repeat work execute more. 0 means that they are not counted, as for attention and its gradient.
 */
HUSK_API double husk_plan_executed_flops(const husk_plan *plan);
/**
 * Nanoseconds that the plan's variant predicts for a run. Predictions are made to compare the variants of one operator;
 * some are no times yet (docs/tuning.md).
 */
HUSK_API double husk_plan_predicted_ns(const husk_plan *plan);
/**
 * The factor of the variant's derived error bound for each output element:
 *
 *     |error| <= factor * 2^-24 * sum of |products|
 *
 * 0 if the operator's header states its bound in another form.
 */
HUSK_API double husk_plan_error_factor(const husk_plan *plan);

/**
 * The plan that the last immediate call on this queue (husk_gemm(), husk_softmax() and so on) made or found. It shows
 * what was chosen. NULL before the first call.
 *
 * The plan belongs to the queue and is valid until its next call. Retain it to keep it longer, though not longer than
 * the queue.
 */
HUSK_API const husk_plan *husk_queue_plan(const husk_queue *queue);

/** Add a reference. */
HUSK_API void husk_packed_retain(husk_packed *packed);
/** Drop a reference. */
HUSK_API void husk_packed_release(husk_packed *packed);
/** Bytes of device memory that the packed weights take. */
HUSK_API uint64_t husk_packed_size(const husk_packed *packed);
/** A tensor that stands for the packed weights. Pass it in place of the plain weights. */
HUSK_API husk_tensor husk_packed_tensor(const husk_packed *packed);

/**
 * The name of an operator's variant, in the order of their documentation. NULL past the end, and for an unknown
 * operator.
 *
 * @param op the operator, such as "gemm" or "conv"
 */
HUSK_API const char *husk_op_variant(const char *op, size_t index);
/**
 * A configuration with which a variant can be requested as "name:configuration", whether or not this device can run it.
 * NULL past the end, and for an unknown operator or variant.
 */
HUSK_API const char *husk_op_configuration(const char *op, const char *variant, size_t index);
/** The name of an operator; NULL past the end. */
HUSK_API const char *husk_op_name(size_t index);

HUSK_END_DECLS

#endif
