/* SPDX-License-Identifier: MIT */
/*
 * ref/gemm/gemm.h: general matrix multiplication, see husk/ops/gemm.h.
 */
#ifndef HUSK_REF_GEMM_GEMM_H
#define HUSK_REF_GEMM_GEMM_H

#include <husk/ops/gemm.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_gemm {
    const husk_gemm_params *params; /* NULL for the defaults */
    float alpha;
    float beta;
    const husk_ref_array *a;
    const husk_ref_array *b;
    const husk_ref_array *bias; /* or NULL */
    const husk_ref_array *c;    /* C before the multiplication; its values are read only when beta is not 0 */
    double error_factor;        /* husk_plan_error_factor of the variant; 0: the header's 4 + 2 sqrt k */
} husk_ref_gemm;

/* out: C afterwards; may be op->c itself. */
void husk_ref_gemm_run(const husk_ref_gemm *op, const husk_ref_array *out);

/*
 * One element of C. Its bound is the header's on the sum, s = |alpha| sum |a b| + |beta c| + |bias|,
 *     e = (4 + 2 sqrt k) * 2^-24 * s
 * carried through the activation (husk_ref_activation_bound).
 */
husk_ref_value husk_ref_gemm_at(const husk_ref_gemm *op, const int64_t *index);
husk_ref_function husk_ref_gemm_function(const husk_ref_gemm *op);

/* What flushed products cost beyond husk_ref_sum_bound's part for them where alpha makes more of it. */
double husk_ref_gemm_flushed(double alpha, int64_t length, double magnitude);

/* m, n, k and batch, read off the arrays. */
typedef struct husk_ref_gemm_sizes {
    int64_t batch, m, n, k;
} husk_ref_gemm_sizes;
husk_ref_gemm_sizes husk_ref_gemm_get_sizes(const husk_ref_gemm *op);

/*
 * The matrices as the multiplication sees them, transposition and broadcasting undone: strides of op(A)
 * [batch, m, k] and op(B) [batch, k, n] and of the bias over [m, n].
 */
typedef struct husk_ref_gemm_strides {
    int64_t a[3], b[3], bias[2];
} husk_ref_gemm_strides;
husk_ref_gemm_strides husk_ref_gemm_get_strides(const husk_ref_gemm *op);

typedef enum husk_ref_gemm_gradient {
    HUSK_REF_GEMM_DA,
    HUSK_REF_GEMM_DB,
    HUSK_REF_GEMM_DBIAS,
    HUSK_REF_GEMM_DC
} husk_ref_gemm_gradient;

/* One of the gradients. */
typedef struct husk_ref_gemm_backward {
    const husk_gemm_params *params; /* NULL for the defaults */
    float alpha, beta;
    const husk_ref_array *a, *b; /* as the call: NULL where they are not read */
    const husk_ref_array *x, *y; /* as husk_activation_backward's; both may be NULL without an activation */
    const husk_ref_array *dy;
    husk_ref_gemm_gradient wanted;
    const husk_ref_array *before; /* the gradient before the call: its shape and strides; values for accumulate alone */
    double error_factor; /* of da and db; 0: the header's 4 + 2 sqrt K */
} husk_ref_gemm_backward;

void husk_ref_gemm_backward_run(const husk_ref_gemm_backward *op, const husk_ref_array *out);

/* One element, by its sum written out; the bound is the header's. Batches of stride 0 are one matrix. */
husk_ref_value husk_ref_gemm_backward_at(const husk_ref_gemm_backward *op, const int64_t *index);
husk_ref_function husk_ref_gemm_backward_function(const husk_ref_gemm_backward *op);
/* z = dy * activation'(x or y), and how far a right f32 computation may end from it. */
husk_ref_value husk_ref_gemm_backward_z(const husk_ref_gemm_backward *op, int64_t batch, int64_t row, int64_t column);
/* Whether the gradient is one matrix, of the sums over the batch. */
bool husk_ref_gemm_backward_adds_up(const husk_ref_gemm_backward *op);

HUSK_END_DECLS

#endif
