/* SPDX-License-Identifier: MIT */
/*
 * ref/rnn/problem.h: the description of a recurrent layer, and where its sequences and its reserve lie.
 */
#ifndef HUSK_REF_RNN_PROBLEM_H
#define HUSK_REF_RNN_PROBLEM_H

#include "ref/rnn/step.h"

HUSK_BEGIN_DECLS

typedef struct husk_ref_rnn {
    const husk_rnn_params *params;
    const husk_ref_array *x;
    const husk_ref_array *lengths; /* I32, or NULL */
    const husk_ref_array *h0;      /* or NULL */
    const husk_ref_array *c0;      /* or NULL */
    const husk_ref_rnn_weights *weights;
    const husk_ref_array *reserve; /* husk_ref_rnn_run fills it, of F64 or F32; or NULL */
    double product_factor;         /* husk_plan_error_factor: F of ref/rnn/rnn.h; 0: sums in f32 alone */
} husk_ref_rnn;

int64_t husk_ref_rnn_directions(const husk_rnn_params *params);
/* How many steps sequence b takes. */
int64_t husk_ref_rnn_length(const husk_ref_rnn *op, int64_t b);

/* One sequence's first state in one layer and direction; where none is given, values stay as they are. */
void husk_ref_rnn_load_initial(const husk_ref_array *initial, const int64_t index[3], int64_t hidden, double *values);

/*
 * Where the reserve has what one layer and direction keep, rows [T * B][kept * H], and a lower layer's outputs
 * [T][B][D H].
 */
int64_t husk_ref_rnn_reserve_gates(const husk_ref_rnn *op, int64_t layer, int64_t direction);
int64_t husk_ref_rnn_reserve_output(const husk_ref_rnn *op, int64_t layer);

HUSK_END_DECLS

#endif
