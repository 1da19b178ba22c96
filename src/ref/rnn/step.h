/* SPDX-License-Identifier: MIT */
/*
 * ref/rnn/step.h: one step of one layer in one direction, with bounds of its errors (ref/rnn/rnn.h).
 */
#ifndef HUSK_REF_RNN_STEP_H
#define HUSK_REF_RNN_STEP_H

#include <husk/ops/rnn.h>

#include "ref/ref.h"

HUSK_BEGIN_DECLS

/* A value and the error it may carry. */
typedef struct husk_ref_rnn_number {
    double value, error;
} husk_ref_rnn_number;

/* One layer's weights in one direction, as husk_rnn_weights. */
typedef struct husk_ref_rnn_weights {
    const husk_ref_array *input;
    const husk_ref_array *hidden;
    const husk_ref_array *input_bias;  /* or NULL */
    const husk_ref_array *hidden_bias; /* or NULL */
} husk_ref_rnn_weights;

/* A state of one sequence in one layer and direction: H values each with their error bounds; c LSTM alone. */
typedef struct husk_ref_rnn_state {
    double *h, *h_error;
    double *c, *c_error;
} husk_ref_rnn_state;

/*
 * One step: from x (I_l values; x_error may be NULL for zeros) and the previous state, compute the units
 * units[0 .. unit_count) of the next state (all H of them, if units is NULL). Other entries of next are left
 * alone. False when memory does not suffice (RESET_BEFORE needs scratch).
 */
bool husk_ref_rnn_step(const husk_rnn_params *params, const husk_ref_rnn_weights *weights, const double *x,
                       const double *x_error, const husk_ref_rnn_state *previous, const int64_t *units,
                       int64_t unit_count, const husk_ref_rnn_state *next);

/*
 * The same, with a matrix engine's product_factor (ref/rnn/problem.h). kept receives what training keeps, [kept][H], or
 * is NULL.
 */
bool husk_ref_rnn_step_and_keep(const husk_rnn_params *params, const husk_ref_rnn_weights *weights, const double *x,
                                const double *x_error, const husk_ref_rnn_state *previous, const int64_t *units,
                                int64_t unit_count, const husk_ref_rnn_state *next, double product_factor,
                                husk_ref_rnn_number *kept);

/* Numbers of a unit that training keeps: gates and, behind them, an LSTM's c, or q = Rn h' + dn of RESET_AFTER. */
int64_t husk_ref_rnn_kept(const husk_rnn_params *params);

/* A state in memory of 4 H numbers. */
husk_ref_rnn_state husk_ref_rnn_state_at(double *memory, int64_t hidden);

HUSK_END_DECLS

#endif
