/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_compat_quantized.h: what differs between oneDNN 2.x and 3.x in products of bytes.
 *
 * In 2.x the scales of an output's channels and the zero points are attributes' own numbers, and the bias is added
 * before the scales; in 3.x attributes have masks alone, the numbers are arguments of each execution, the scales belong
 * to the weights, and the bias is added after them.
 */
#ifndef BENCH_BASELINE_ONEDNN_COMPAT_QUANTIZED_H
#define BENCH_BASELINE_ONEDNN_COMPAT_QUANTIZED_H

#include "baseline/onednn_compat.h"

#if DNNL_VERSION_MAJOR >= 3

enum {
    ONEDNN_SCALES_FOLLOW_BIAS = 0,
    ONEDNN_SCALES_ARGUMENT = DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, /* 0: no argument */
    ONEDNN_ZERO_ARGUMENT = DNNL_ARG_ATTR_ZERO_POINTS                  /* together with what it is the zero point of */
};

/* mask_of_output, mask_of_weights: bit d set: a scale for each index of dimension d. */
static inline dnnl_status_t onednn_attr_scales(dnnl_primitive_attr_t attr, int64_t count, int mask_of_output,
                                               int mask_of_weights, const float *scales)
{
    (void)count, (void)mask_of_output, (void)scales;
    return dnnl.primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, mask_of_weights);
}

static inline dnnl_status_t onednn_attr_zero_point(dnnl_primitive_attr_t attr, int argument, const int32_t *zero)
{
    (void)zero;
    return dnnl.primitive_attr_set_zero_points_mask(attr, argument, 0);
}

#else /* 2.x */

enum { ONEDNN_SCALES_FOLLOW_BIAS = 1, ONEDNN_SCALES_ARGUMENT = 0, ONEDNN_ZERO_ARGUMENT = 0 };

static inline dnnl_status_t onednn_attr_scales(dnnl_primitive_attr_t attr, int64_t count, int mask_of_output,
                                               int mask_of_weights, const float *scales)
{
    (void)mask_of_weights;
    return dnnl.primitive_attr_set_output_scales(attr, count, mask_of_output, scales);
}

static inline dnnl_status_t onednn_attr_zero_point(dnnl_primitive_attr_t attr, int argument, const int32_t *zero)
{
    return dnnl.primitive_attr_set_zero_points(attr, argument, 1, 0, zero);
}

#endif

#endif
