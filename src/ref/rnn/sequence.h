/* SPDX-License-Identifier: MIT */
/*
 * ref/rnn/sequence.h: one sequence of the batch on its way through time and layers.
 */
#ifndef HUSK_REF_RNN_SEQUENCE_H
#define HUSK_REF_RNN_SEQUENCE_H

#include "ref/rnn/problem.h"

HUSK_BEGIN_DECLS

/* What a sequence results in. */
typedef enum husk_ref_rnn_output { HUSK_REF_RNN_Y, HUSK_REF_RNN_H_N, HUSK_REF_RNN_C_N } husk_ref_rnn_output;
typedef void (*husk_ref_rnn_emit)(void *user, husk_ref_rnn_output which, const int64_t index[3],
                                  husk_ref_rnn_number value);

/* One sequence of the batch on its way through the layers. */
typedef struct husk_ref_rnn_sequence {
    const husk_ref_rnn *op;
    const husk_ref_array *observed; /* y as the device computed it, or NULL */
    const int64_t *units;           /* of the top layer; NULL: all */
    int64_t unit_count;
    husk_ref_rnn_emit emit;
    void *user;
    int64_t steps, batch, input, hidden, layers, directions; /* T, B, I, H, L, D */
    int64_t width;                                           /* features of a row below: max(I, D H) */
    double *rows, *rows_error;                               /* [T][width]: what the layer reads */
    double *above, *above_error;                             /* [T][width]: what it writes for the next one */
    double *state;                                           /* two states of 4 H */
    husk_ref_rnn_number *kept;                               /* of a step, where there is a reserve; or NULL */
    double *memory;                                          /* the caller frees it */
} husk_ref_rnn_sequence;

/* op, and memory for it; what is observed, units and emit are the caller's. False when memory does not suffice. */
bool husk_ref_rnn_sequence_create(const husk_ref_rnn *op, husk_ref_rnn_sequence *s);
/* Sequence b of the batch. */
bool husk_ref_rnn_sequence_run(husk_ref_rnn_sequence *s, int64_t b);

HUSK_END_DECLS

#endif
