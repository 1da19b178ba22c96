/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn_backward_problem.h: the gradients of recurrent layers with every default filled in; what rnn_backward.c (the
 * public call), rnn_backward_layers.c and the variants share.
 */
#ifndef HUSK_OPS_RNN_BACKWARD_PROBLEM_H
#define HUSK_OPS_RNN_BACKWARD_PROBLEM_H

#include "ops/rnn_problem.h"

/* Which gradients of one layer's weights in one direction are wanted, and how far apart their rows lie. */
typedef struct husk__rnn_wanted {
    bool input, hidden, input_bias, hidden_bias;
    husk__rnn_rows rows;
} husk__rnn_wanted;

typedef struct husk__rnn_backward_problem {
    husk__rnn_problem forward; /* y and reserve alone of its outputs */
    husk_tensor dy, dh_n, dc_n, dx, dh0, dc0; /* resolved, without memory */
    bool has_dy, has_dh_n, has_dc_n, has_dx, has_dh0, has_dc0;
    husk__rnn_wanted wanted[HUSK__RNN_MAX_WEIGHTS];
    uint32_t accumulate;
    /* As the caller has them, where tensors of f16 and bf16 are f32 and packed above: dy, dh_n, dc_n, dx, dh0, dc0. */
    husk_tensor given[6];
    husk__rnn_rows given_rows[HUSK__RNN_MAX_WEIGHTS];
} husk__rnn_backward_problem;

/* What a run works on. output_gradients and gradients are NULL where there is nothing. */
typedef struct husk__rnn_backward_run {
    const husk_rnn_inputs *inputs;
    const husk_rnn_outputs *outputs, *output_gradients;
    const husk_rnn_gradients *gradients;
} husk__rnn_backward_run;

/* Where things lie in a plan's scratch memory, in bytes; what is one direction's, in elements. All are one layer's. */
typedef struct husk__rnn_backward_layout {
    int64_t columns;  /* of the gates' gradients, in hidden sizes */
    int64_t previous_parts;
    int64_t panel_units, pitch, rows_pitch;
    uint64_t gradients, previous, rows, packed, below[2], border, total;
    int64_t gradients_direction, previous_direction, rows_direction, packed_direction;
} husk__rnn_backward_layout;

enum { HUSK__RNN_BACKWARD_PARTS = 4 };

typedef struct husk__rnn_backward_state {
    const husk__kernel *step, *pack; /* pack: NULL where weights are taken as they are */
    husk__rnn_backward_layout layout;
    husk__rnn_grid grid;
    bool is_far;
    husk_plan *products[HUSK__RNN_MAX_WEIGHTS][HUSK__RNN_BACKWARD_PARTS];
} husk__rnn_backward_state;

/* panel_units: what weights are packed for; 0: they are not packed. */
void husk__rnn_backward_lay_out(const husk__rnn_backward_problem *problem, int64_t panel_units,
                                husk__rnn_backward_layout *layout);
/* Everything but kernels and grid, which the variant has put into the state. */
husk_status husk__rnn_backward_prepare(husk_plan *plan, husk__rnn_backward_state *state, const husk__scope *scope);
void husk__rnn_backward_unprepare(husk_plan *plan);
husk_status husk__rnn_backward_run_layers(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                          const husk__scratch *scratch, const husk__scope *scope);
double husk__rnn_backward_flops(const husk__candidate *candidate);

/* The number that cl/lib/rnn_backward.clh has for the cell. */
int husk__rnn_backward_cell(const husk__rnn_problem *problem);

extern const husk__op husk__op_rnn_backward;
extern const husk__variant husk__rnn_backward_panel;
extern const husk__variant husk__rnn_backward_tile;

#endif
