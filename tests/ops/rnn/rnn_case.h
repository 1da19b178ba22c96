/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/rnn_case.h: one configuration of recurrent layers, its tensors, and the four ways to run it; and the rooms
 * that test_rnn.c is made of.
 */
#ifndef HUSK_TESTS_OPS_RNN_RNN_CASE_H
#define HUSK_TESTS_OPS_RNN_RNN_CASE_H

#include "ref/rnn/rnn.h"
#include "support/support.h"

enum { RNN_MAX_LAYERS = 3, RNN_MAX_WEIGHTS = 2 * RNN_MAX_LAYERS, RNN_MAX_BATCH = 80 };

typedef struct rnn_shape {
    husk_dtype dtype; /* 0: f32 */
    husk_rnn_cell cell;
    husk_gru_reset reset;
    int64_t steps, batch, inputs, hidden, layers;
    bool bidirectional, has_lengths, has_h0, has_c0, has_h_n, has_c_n, has_input_bias, has_hidden_bias;
    test_layout x_layout;
    bool are_rows_apart;    /* weights, states and y have gaps between rows */
    const int32_t *lengths; /* NULL with has_lengths: drawn, 0 and steps among them */
    husk_precision precision;
    uint64_t seed;
} rnn_shape;

typedef struct rnn_case {
    rnn_shape shape;
    husk_rnn_params params;
    double product_factor; /* for rnn_case_check, as husk_ref_rnn's */
    test_tensor x, lengths, h0, c0, y, h_n, c_n;
    test_tensor tensors[RNN_MAX_WEIGHTS][4]; /* input, hidden, and their biases */
    husk_rnn_weights weights[RNN_MAX_WEIGHTS];
    husk_ref_rnn_weights ref_weights[RNN_MAX_WEIGHTS];
    int weight_count;
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs;
} rnn_case;

typedef enum rnn_way { RNN_IMMEDIATE, RNN_IMMEDIATE_PACKED, RNN_PLAN, RNN_PLAN_PACKED } rnn_way;
#define RNN_WAYS 4

/* The case must not move: its parts point at each other. */
void rnn_case_make(const rnn_shape *shape, rnn_case *c);
void rnn_case_release(rnn_case *c);
/* A configuration in words, as clbench spells it, for messages. */
void rnn_case_text(const rnn_case *c, rnn_way way, char *text, size_t capacity);

/* Run it by a variant (NULL: the library's choice); false when the variant refuses. */
bool rnn_case_run(rnn_case *c, const char *variant, rnn_way way);
/* Compare outputs as last fetched with the reference. */
void rnn_case_check(const rnn_case *c, const husk_ref_array *y, husk_ref_report *report);
/* Both, and count it. */
void rnn_case_verify(rnn_case *c, const char *variant, rnn_way way);

/* Layers of sizes as networks have them, by chance, as tensors without memory, which plans are made from. */
typedef struct rnn_description {
    husk_tensor x, y, state, input[RNN_MAX_LAYERS], hidden;
    husk_rnn_weights weights[RNN_MAX_WEIGHTS];
    husk_rnn_params params;
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs;
} rnn_description;

/* It must not move. */
void rnn_describe(husk_ref_random *random, rnn_description *d);
/* What came of planning it: the plan, or NULL where the device's buffers are too small for f16's and bf16's weights in
 * f32, and in packed form or their gradients. */
husk_plan *rnn_described_plan(const rnn_description *d, husk_status status, husk_plan *plan, const husk_error *error);

/* ---- the rooms ---- */

TCase *rnn_workspace(void); /* scratch memory: its default, limits, small buffers */
TCase *rnn_refusals(void);  /* bad input, and packed weights that do not fit */

#endif
