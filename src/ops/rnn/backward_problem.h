/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/backward_problem.h: the gradients of recurrent layers with every default filled in; what backward.c (the
 * public calls), the other rnn_backward_*.c and the variants share.
 */
#ifndef HUSK_OPS_RNN_BACKWARD_PROBLEM_H
#define HUSK_OPS_RNN_BACKWARD_PROBLEM_H

#include "ops/rnn/problem.h"

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

/* A call's structs, in this version's form. */
typedef struct husk__rnn_backward_call {
    husk_rnn_inputs inputs;
    husk_rnn_outputs outputs, output_gradients;
    husk_rnn_gradients gradients;
} husk__rnn_backward_call;

/* ---- backward_problem.c: validation and defaults ---- */

/* The caller's structs, each of its size. */
husk_status husk__rnn_backward_read(const husk_rnn_inputs *inputs, const husk_rnn_outputs *outputs,
                                    const husk_rnn_outputs *output_gradients, const husk_rnn_gradients *gradients,
                                    husk__rnn_backward_call *call, const husk__scope *scope);
/* Every argument but memory, in the header's order. */
husk_status husk__rnn_backward_resolve(const husk_context *context, const husk_rnn_params *params,
                                       const husk__rnn_backward_call *call, husk__rnn_backward_problem *problem,
                                       husk__preference *preference, const husk__scope *scope);
/* The memory behind them, and what may not overlap. */
husk_status husk__rnn_backward_bind(const husk__rnn_backward_problem *problem, husk_queue *queue,
                                    const husk__rnn_backward_run *run, const husk__scope *scope);
/* The tensors of a run against the plan's: backward_plan.c. */
husk_status husk__rnn_backward_check_run(const husk__rnn_backward_problem *problem, const husk__rnn_backward_run *run,
                                         const husk__scope *scope);
void husk__rnn_backward_describe(const void *problem, husk__key *key);
/* Everything of f16 and bf16 as f32, in elements: what forward's border has room for, and the gradients. */
int64_t husk__rnn_backward_border_total(const husk__rnn_backward_problem *problem);

enum { HUSK__RNN_BACKWARD_WEIGHT_PARTS = 4, HUSK__RNN_BACKWARD_NAME = 64 };

/* "gradients.weights[12].input_bias"; the parts are in the order of husk_rnn_weights. */
const char *husk__rnn_backward_weight_name(int64_t index, int part, char name[HUSK__RNN_BACKWARD_NAME]);

/* ---- backward_layout.c: what is needed, and where it lies ---- */

/*
 * Where things lie in a plan's scratch memory, in bytes; what is one direction's, in elements. All are one layer's, and
 * gradients and previous one chunk's of time steps.
 */
typedef struct husk__rnn_backward_layout {
    int64_t chunk, chunks; /* time steps at once, of the last chunk in time at most; chunks are 1 at least */
    int64_t at_once; /* directions of which a layer's steps are done together */
    int64_t columns; /* of the gates' gradients, in hidden sizes */
    int64_t previous_parts;
    int64_t panel_units, pitch, rows_pitch;
    uint64_t gradients, previous, rows, packed, below[2], border, total;
    int64_t gradients_direction, previous_direction, rows_direction, packed_direction;
} husk__rnn_backward_layout;

/*
 * Steps [begin, end) of a chunk, of all directions or of `count` from `direction` on. Chunk 0 is the first to be done,
 * the last in time of the forward direction and the first in time of the other.
 */
typedef struct husk__rnn_backward_span {
    int64_t chunk, begin, end, direction, count;
} husk__rnn_backward_span;

husk__rnn_backward_span husk__rnn_backward_span_of(const husk__rnn_backward_problem *problem,
                                                   const husk__rnn_backward_layout *layout, int64_t chunk,
                                                   int64_t direction);

/* panel_units: what weights are packed for; 0: they are not packed. As many steps at once as the limit allows. */
void husk__rnn_backward_lay_out(const husk__rnn_backward_problem *problem, int64_t panel_units,
                                husk__rnn_backward_layout *layout);
/* The lowest layer of which any gradient is wanted; those below are left out. */
int64_t husk__rnn_backward_lowest(const husk__rnn_backward_problem *problem);
/* Whether a layer's states before every step are needed: for the hidden weights. */
bool husk__rnn_backward_needs_previous(const husk__rnn_backward_problem *problem, int64_t layer);
/* What one launch of steps works on, for dividing it. */
husk__rnn_problem husk__rnn_backward_launched(const husk__rnn_backward_problem *problem,
                                              const husk__rnn_backward_layout *layout);

/* The number that cl/lib/rnn_backward.clh has for the cell. */
enum {
    HUSK__RNN_BACKWARD_TANH,
    HUSK__RNN_BACKWARD_RELU,
    HUSK__RNN_BACKWARD_LSTM,
    HUSK__RNN_BACKWARD_GRU_AFTER,
    HUSK__RNN_BACKWARD_GRU_BEFORE
};
int husk__rnn_backward_cell(const husk__rnn_problem *problem);

/* Scratch memory [steps, batch, features] from a byte offset and elements beyond it on; without memory if NULL. */
husk_tensor husk__rnn_backward_scratch(const husk__rnn_problem *problem, const husk__scratch *scratch,
                                       uint64_t byte_offset, int64_t beyond, int64_t steps, int64_t features,
                                       int64_t row);
/* What a layer's gradient by its inputs is written to, for the layer below. */
static inline uint64_t husk__rnn_backward_below(const husk__rnn_backward_layout *layout, int64_t layer)
{
    return layout->below[layer % 2];
}

/* ---- what a plan holds ---- */

enum { HUSK__RNN_BACKWARD_PRODUCTS = 4 };

/* gemm's plans of one layer and direction: of the first chunk and of those that add to its sums. */
typedef struct husk__rnn_backward_products {
    husk_plan *first[HUSK__RNN_BACKWARD_PRODUCTS], *others[HUSK__RNN_BACKWARD_PRODUCTS];
} husk__rnn_backward_products;

typedef struct husk__rnn_backward_state {
    const husk__kernel *step, *pack; /* pack: NULL where weights are taken as they are */
    husk__rnn_backward_layout layout;
    husk__rnn_grid grid;
    bool is_far;
    husk__rnn_backward_products products[HUSK__RNN_MAX_WEIGHTS];
} husk__rnn_backward_state;

/* ---- backward_products.c: the multiplications over a chunk's steps ---- */

husk_status husk__rnn_backward_plan_products(husk_plan *plan, husk__rnn_backward_state *state,
                                             const husk__scope *scope);
void husk__rnn_backward_release_products(husk__rnn_backward_state *state);
/* Those of one layer and direction. */
husk_status husk__rnn_backward_multiply(const husk_plan *plan, husk_queue *queue, const husk__rnn_backward_run *run,
                                        const husk__scratch *scratch, int64_t index,
                                        const husk__rnn_backward_span *span);

/* ---- backward_steps.c: the launches ---- */

husk_status husk__rnn_backward_pack(const husk_plan *plan, husk_queue *queue, const husk__rnn_backward_run *run,
                                    const husk__scratch *scratch, int64_t layer, const husk__rnn_backward_span *span,
                                    const husk__scope *scope);
husk_status husk__rnn_backward_run_steps(const husk_plan *plan, husk_queue *queue, const husk__rnn_backward_run *run,
                                         const husk__scratch *scratch, int64_t layer,
                                         const husk__rnn_backward_span *span, const husk__scope *scope);

/* ---- backward_layers.c: how layers, directions and chunks follow each other; what variants have in common ---- */

/* Everything but kernels and grid, which the variant has put into the state. */
husk_status husk__rnn_backward_prepare(husk_plan *plan, husk__rnn_backward_state *state, const husk__scope *scope);
void husk__rnn_backward_unprepare(husk_plan *plan);
husk_status husk__rnn_backward_run_layers(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                          const husk__scratch *scratch, const husk__scope *scope);
double husk__rnn_backward_flops(const husk__candidate *candidate);

/* ---- backward_border.c: f16 and bf16 ---- */

typedef husk_status (*husk__rnn_backward_runner)(const husk_plan *plan, husk_queue *queue,
                                                 const husk__rnn_backward_run *run, const husk__scratch *scratch,
                                                 const husk__scope *scope);
/* Tensors in, `runner` on their stand-ins, gradients out. */
husk_status husk__rnn_backward_run_narrow(const husk_plan *plan, husk_queue *queue, const husk__rnn_backward_run *run,
                                          const husk__scratch *scratch, husk__rnn_backward_runner runner,
                                          const husk__scope *scope);

/* ---- the rows ---- */

extern const husk__op husk__op_rnn_backward;
extern const husk__variant husk__rnn_backward_panel;
extern const husk__variant husk__rnn_backward_tile;

#endif
