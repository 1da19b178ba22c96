/* SPDX-License-Identifier: MIT */
/*
 * ref/attention/attention.h: scaled dot-product attention.
 */
#ifndef HUSK_REF_ATTENTION_ATTENTION_H
#define HUSK_REF_ATTENTION_ATTENTION_H

#include <husk/ops/attention.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_attention {
    const husk_attention_params *params; /* NULL for the defaults */
    const husk_ref_array *q, *k, *v;
    const husk_ref_array *mask; /* or NULL */
    double error_factor;        /* husk_plan_error_factor; 0: sums in f32 */
    struct husk_ref_attention_line *line; /* NULL, or what husk_ref_attention_prepare made */
} husk_ref_attention;

/*
 * Room for the weights of one row, so that neighbouring outputs do not compute them anew. False when memory does not
 * suffice. A prepared description is used by one thread at a time.
 */
bool husk_ref_attention_prepare(husk_ref_attention *op);
void husk_ref_attention_release(husk_ref_attention *op);

/* Both outputs; either may be NULL. False when memory does not suffice. */
bool husk_ref_attention_run(const husk_ref_attention *op, const husk_ref_array *y, const husk_ref_array *log_sum_exp);

/* Of a prepared description. */
husk_ref_value husk_ref_attention_at(const husk_ref_attention *op, const int64_t *index);
husk_ref_value husk_ref_attention_log_sum_exp_at(const husk_ref_attention *op, const int64_t *index);
husk_ref_function husk_ref_attention_function(const husk_ref_attention *op);
husk_ref_function husk_ref_attention_log_sum_exp_function(const husk_ref_attention *op);

/* ---- the gradient ---- */

typedef enum husk_ref_attention_by {
    HUSK_REF_ATTENTION_Q,
    HUSK_REF_ATTENTION_K,
    HUSK_REF_ATTENTION_V
} husk_ref_attention_by;

typedef struct husk_ref_attention_backward {
    husk_ref_attention forward; /* its inputs; nothing prepared */
    const husk_ref_array *y, *log_sum_exp, *dy;
    husk_ref_attention_by by;
    const husk_ref_array *before; /* the gradient before the call, for accumulate */
    struct husk_ref_attention_pairs *pairs; /* what husk_ref_attention_backward_prepare made */
} husk_ref_attention_backward;

/* As husk_ref_attention_prepare. */
bool husk_ref_attention_backward_prepare(husk_ref_attention_backward *op);
void husk_ref_attention_backward_release(husk_ref_attention_backward *op);
bool husk_ref_attention_backward_run(const husk_ref_attention_backward *op, const husk_ref_array *gradient);
/* Of a prepared description. */
husk_ref_value husk_ref_attention_backward_at(const husk_ref_attention_backward *op, const int64_t *index);
husk_ref_function husk_ref_attention_backward_function(const husk_ref_attention_backward *op);

/* ---- shared by both ---- */

/* One score: its value, -infinity where the key is not seen, and A of the header. */
typedef struct husk_ref_score {
    double value, magnitude;
} husk_ref_score;

husk_ref_score husk_ref_attention_score(const husk_ref_attention *op, const int64_t *row, int64_t key);
double husk_ref_attention_scale(const husk_ref_attention *op);
/* What the weight is multiplied with: 0, or 1 / (1 - dropout). */
double husk_ref_attention_kept(const husk_ref_attention *op, const int64_t *row, int64_t key);

HUSK_END_DECLS

#endif
