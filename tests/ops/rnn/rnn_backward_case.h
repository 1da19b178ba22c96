/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/rnn_backward_case.h: one configuration of recurrent layers' gradients: forward, with a reserve, and what goes
 * back; and the rooms that test_rnn_backward.c is made of.
 */
#ifndef HUSK_TESTS_OPS_RNN_RNN_BACKWARD_CASE_H
#define HUSK_TESTS_OPS_RNN_RNN_BACKWARD_CASE_H

#include "rnn_case.h"

/* RNN_CELLS: a GRU has two. */
enum { RNN_PARTS = 4, RNN_CELLS = 5, RNN_BACKWARD_VARIANTS = 6 };

/* The library's choice, NULL, and every configuration. */
extern const char *const rnn_backward_variants[RNN_BACKWARD_VARIANTS];

typedef struct rnn_backward_config {
    rnn_shape shape;
    uint32_t accumulate;
    bool has_dy, has_dh_n, has_dc_n;
    bool wants_x, wants_h0, wants_c0, wants[RNN_PARTS];
    test_layout dx_layout;
    const char *forward;
} rnn_backward_config;

typedef struct rnn_backward_case {
    rnn_backward_config config;
    rnn_case c;
    test_tensor reserve, dy, dh_n, dc_n, dx, dh0, dc0, d_weights[RNN_MAX_WEIGHTS][RNN_PARTS];
    husk_rnn_weights list[RNN_MAX_WEIGHTS];
    husk_ref_rnn forward;
    husk_rnn_outputs outputs, output_gradients;
    husk_rnn_gradients gradients;
} rnn_backward_case;

/* cell: husk_rnn_cell's, and 4 for a GRU that resets before the product; everything that is optional is there. */
rnn_shape rnn_backward_shape(int cell, int64_t steps, int64_t batch, int64_t inputs, int64_t hidden);
rnn_backward_config rnn_backward_everything(rnn_shape shape);

/* Runs forward. The case must not move. */
void rnn_backward_make(const rnn_backward_config *c, rnn_backward_case *t);
void rnn_backward_release(rnn_backward_case *t);
/* Every gradient that is wanted. */
void rnn_backward_each(rnn_backward_case *t, void (*action)(test_tensor *tensor));

/* The immediate call by a variant (NULL: the library's choice). */
husk_status rnn_backward_run(rnn_backward_case *t, const char *variant);

husk_ref_rnn_backward rnn_backward_reference_of(const rnn_backward_case *t);
/* One gradient as it was last fetched; bit: of husk_accumulate. */
void rnn_backward_compare(const rnn_backward_case *t, const husk_ref_rnn_backward *op,
                          const husk_ref_rnn_gradient *expected, const test_tensor *actual, uint32_t bit,
                          const char *variant, const char *what);
/* All gradients, fetched now. */
void rnn_backward_verify(rnn_backward_case *t, const husk_ref_rnn_gradients *expected, const char *variant);
/* Run and verify; counted. */
void rnn_backward_verify_variant(rnn_backward_case *t, const husk_ref_rnn_gradients *expected, const char *variant);
/* The same by every variant, and what forward kept. */
void rnn_backward_verify_all(const rnn_backward_config *c);

/* A hash of all gradients. */
uint64_t rnn_backward_bits(rnn_backward_case *t);

/* ---- the rooms ---- */

TCase *rnn_backward_reference(void); /* the reference is the gradient */
TCase *rnn_backward_plans(void);     /* explicit plans, and the limit of the workspace */
TCase *rnn_backward_plan_refusals(void);
TCase *rnn_backward_refusals(void);  /* bad input */

#endif
