/* SPDX-License-Identifier: MIT */
/*
 * ref/norm/norm.h: normalisation and its gradients, see husk/ops/norm.h.
 */
#ifndef HUSK_REF_NORM_NORM_H
#define HUSK_REF_NORM_NORM_H

#include <husk/ops/norm.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* What norm computes. */
typedef enum husk_ref_norm_output {
    HUSK_REF_NORM_Y,
    HUSK_REF_NORM_MEAN,
    HUSK_REF_NORM_RSTD,
    HUSK_REF_NORM_RUNNING_MEAN,
    HUSK_REF_NORM_RUNNING_VARIANCE
} husk_ref_norm_output;

/* A set's statistics. */
typedef struct husk_ref_norm_set {
    double mean, variance, rstd;
    double low;       /* f64: what the mean is beside `mean`, which double rounds */
    double magnitude; /* the mean of |x| */
    double deviation; /* the mean of |x - mean| */
} husk_ref_norm_set;

typedef struct husk_ref_norm {
    const husk_norm_params *params; /* NULL for the defaults */
    const husk_ref_array *x;
    const husk_ref_array *scale, *bias;                    /* or NULL */
    const husk_ref_array *running_mean, *running_variance; /* as they are before the call, or NULL */
    husk_ref_norm_set *sets;                               /* NULL, or from husk_ref_norm_prepare */
} husk_ref_norm;

/* An output as a function: the description names which. Both live as long as the function is used. */
typedef struct husk_ref_norm_question {
    const husk_ref_norm *op;
    husk_ref_norm_output output;
} husk_ref_norm_question;

/* Compute every set's statistics once. False when memory does not suffice; it works all the same without. */
bool husk_ref_norm_prepare(husk_ref_norm *op);
void husk_ref_norm_release(husk_ref_norm *op);
husk_ref_value husk_ref_norm_at(const husk_ref_norm *op, husk_ref_norm_output output, const int64_t *index);
husk_ref_function husk_ref_norm_function(const husk_ref_norm_question *question);
/* outputs: by husk_ref_norm_output, NULL for what is not wanted; y may be x. False without memory. */
bool husk_ref_norm_run(const husk_ref_norm *op, const husk_ref_array *const outputs[5]);

typedef enum husk_ref_norm_gradient {
    HUSK_REF_NORM_DX,
    HUSK_REF_NORM_DSCALE,
    HUSK_REF_NORM_DBIAS
} husk_ref_norm_gradient;

typedef struct husk_ref_norm_backward {
    const husk_norm_params *params;
    const husk_ref_array *x;
    const husk_ref_array *scale; /* or NULL */
    const husk_ref_array *mean;  /* NULL for RMS */
    const husk_ref_array *rstd;
    const husk_ref_array *dy;
    const husk_ref_array *before[3]; /* what is accumulated to, by husk_ref_norm_gradient; NULL: written */
    double *sums;                    /* NULL, or from husk_ref_norm_backward_prepare */
} husk_ref_norm_backward;

typedef struct husk_ref_norm_backward_question {
    const husk_ref_norm_backward *op;
    husk_ref_norm_gradient gradient;
} husk_ref_norm_backward_question;

bool husk_ref_norm_backward_prepare(husk_ref_norm_backward *op);
void husk_ref_norm_backward_release(husk_ref_norm_backward *op);
husk_ref_value husk_ref_norm_backward_at(const husk_ref_norm_backward *op, husk_ref_norm_gradient gradient,
                                         const int64_t *index);
husk_ref_function husk_ref_norm_backward_function(const husk_ref_norm_backward_question *question);
/* gradients: by husk_ref_norm_gradient, NULL for what is not wanted. False without memory. */
bool husk_ref_norm_backward_run(const husk_ref_norm_backward *op, const husk_ref_array *const gradients[3]);

/* Shapes of what belongs to x: the statistics (mean, rstd) and the parameters (scale, bias). Return the rank. */
int32_t husk_ref_norm_statistic_shape(const husk_norm_params *params, const husk_ref_array *x, int64_t *shape);
int32_t husk_ref_norm_parameter_shape(const husk_norm_params *params, const husk_ref_array *x, int64_t *shape);

HUSK_END_DECLS

#endif
