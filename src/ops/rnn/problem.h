/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/problem.h: recurrent layers with every default filled in; what the files of this family share.
 */
#ifndef HUSK_OPS_RNN_PROBLEM_H
#define HUSK_OPS_RNN_PROBLEM_H

#include <husk/ops/gemm.h>
#include <husk/ops/rnn.h>

#include "base/checked.h"
#include "select/plan.h"

enum { HUSK__RNN_MAX_LAYERS = 16, HUSK__RNN_MAX_WEIGHTS = 2 * HUSK__RNN_MAX_LAYERS, HUSK__RNN_NAME = 48 };
enum { HUSK__RNN_SEQUENCES = 1 }; /* which dimension of x, y and the states */

/* How far apart the rows of one layer's weights lie. */
typedef struct husk__rnn_rows {
    int64_t input, hidden;
} husk__rnn_rows;

/* The tensors as the caller has them; of f32 they are the problem's own. */
typedef struct husk__rnn_given {
    husk_tensor x, y, h0, c0, h_n, c_n;
    husk__rnn_rows rows[HUSK__RNN_MAX_WEIGHTS];
} husk__rnn_given;

typedef struct husk__rnn_problem {
    husk_dtype dtype; /* of all but lengths and the reserve; tensors of f16 and bf16 are f32 and packed below */
    husk_dtype work;  /* of the reserve, scratch memory and packed weights: f64 of f64, else f32 */
    husk__rnn_given given;
    husk_rnn_cell cell;
    husk_gru_reset reset; /* RESET_AFTER for everything but a GRU */
    husk_precision precision;
    int64_t steps, batch, inputs, hidden, layers, directions, gates;
    husk_tensor x, y, lengths, h0, c0, h_n, c_n, reserve; /* resolved, without memory */
    bool has_lengths, has_h0, has_c0, has_h_n, has_c_n, has_reserve, has_input_bias, has_hidden_bias;
    husk__rnn_rows rows[HUSK__RNN_MAX_WEIGHTS]; /* packed rows where the caller gave packed weights */
    uint64_t workspace_limit, most_scratch; /* the limit, and what one buffer may have */
    bool limit_is_given; /* by the caller: it is for the plans inside, too */
} husk__rnn_problem;

/* What a run works on. */
typedef struct husk__rnn_run {
    const husk_rnn_inputs *inputs;
    const husk_rnn_outputs *outputs;
} husk__rnn_run;

/* f16 and bf16: what lies in memory is converted at the border. */
static inline bool husk__rnn_is_narrow(const husk__rnn_problem *problem)
{
    return problem->dtype != problem->work;
}

/* Bytes of an element of scratch memory, the reserve and packed weights. */
static inline uint32_t husk__rnn_size(const husk__rnn_problem *problem)
{
    return problem->work == HUSK_F64 ? 8 : 4;
}

/* Where a part of so many elements begins in scratch memory, and where the next one does. */
enum { HUSK__RNN_ALIGNMENT = 256 }; /* bytes */
uint64_t husk__rnn_reserve(uint64_t *next, uint32_t size, int64_t elements);

/* Elements of a vector: VW of cl/lib/vector.clh with the options below. */
static inline int64_t husk__rnn_vector_width(const husk__rnn_problem *problem, const husk_device_traits *traits)
{
    const int64_t width = traits->vector_width;
    return problem->work == HUSK_F64 && width > 4 ? width / 2 : width;
}

/* What every kernel is built with. */
static inline const char *husk__rnn_dtype_options(const husk__rnn_problem *problem)
{
    return problem->work == HUSK_F64 ? "-DDTYPE_F64 -DHALF_VECTORS" : "-DDTYPE_F32";
}

static inline int64_t husk__rnn_weight_count(const husk__rnn_problem *problem)
{
    return problem->layers * problem->directions;
}

/* Features that a layer reads. */
static inline int64_t husk__rnn_layer_inputs(const husk__rnn_problem *problem, int64_t layer)
{
    return layer == 0 ? problem->inputs : problem->directions * problem->hidden;
}

/* Elements between rows of a layer's packed input weights, as husk_tensor_make has them. */
static inline int64_t husk__rnn_packed_pitch(const husk__rnn_problem *problem, int64_t layer)
{
    return husk__max_i64(1, husk__rnn_layer_inputs(problem, layer));
}

static inline bool husk__rnn_has_two_passes(const husk__rnn_problem *problem)
{
    return problem->cell == HUSK_RNN_GRU && problem->reset == HUSK_GRU_RESET_BEFORE;
}

/*
 * What forward leaves for the gradients, in elements of the reserve: layer by layer, for each direction a matrix
 * [time * batch, kept * hidden], and below the top layer the outputs [time, batch, directions * hidden]. Kept are the
 * gates and, behind them, an LSTM's cell state, or Rn h' + dn for a GRU that resets after the product.
 */
static inline int64_t husk__rnn_kept(const husk__rnn_problem *problem)
{
    return problem->gates + (problem->cell == HUSK_RNN_LSTM ||
                             (problem->cell == HUSK_RNN_GRU && problem->reset == HUSK_GRU_RESET_AFTER));
}

/* ---- problem.c: what follows from the sizes ---- */

/* Elements from one direction to the next, of one layer's outputs, and all of them. */
int64_t husk__rnn_reserve_direction(const husk__rnn_problem *problem);
int64_t husk__rnn_reserve_outputs(const husk__rnn_problem *problem);
int64_t husk__rnn_reserve_layer(const husk__rnn_problem *problem);
int64_t husk__rnn_reserve_count(const husk__rnn_problem *problem);
/* A layer's and direction's matrix, and a lower layer's outputs, in the reserve that a run was given. */
husk_tensor husk__rnn_reserve_gates(const husk__rnn_problem *problem, const husk_tensor *reserve, int64_t layer,
                                    int64_t direction);
husk_tensor husk__rnn_reserve_output(const husk__rnn_problem *problem, const husk_tensor *reserve, int64_t layer);

/* The same shape, packed, of f32. */
husk_tensor husk__rnn_as_f32(const husk_tensor *tensor);
/* Elements that a tensor's, all weights' or a whole run's stand-ins of f32 take; a run of f32 or f64 has none. */
int64_t husk__rnn_border_room(const husk_tensor *tensor);
int64_t husk__rnn_border_weights_room(const husk__rnn_problem *problem);
int64_t husk__rnn_border_total(const husk__rnn_problem *problem);

/* The same problem of so many of its sequences. */
husk__rnn_problem husk__rnn_part(const husk__rnn_problem *problem, int64_t sequences);
/* Whether the kernels' int is enough for all sizes. */
bool husk__rnn_fits_int(const husk__rnn_problem *problem, char reason[HUSK__REASON_CAPACITY]);

void husk__rnn_describe(const void *problem, husk__key *key);
void husk__rnn_classify(const void *problem, husk__text *text);
/* The case, but for packed and dir. */
void husk__rnn_begin_case(const husk__rnn_problem *problem, husk__case *c);

/* ---- what a plan holds ---- */

/* Where things lie in a plan's scratch memory, in bytes from its start. */
typedef struct husk__rnn_layout {
    int64_t sequences;   /* of the batch that are worked on at once */
    int64_t chunk;       /* time steps whose input products are held at once */
    bool gathers_x;      /* x cannot be read as a matrix of rows */
    bool gathers_chunks; /* the backward direction's inputs are put in the order of its steps */
    int64_t panel_units, pitch, weight_stride; /* elements; of packed weights, from one to the next */
    int64_t product_columns;                   /* elements of a row of products, at most */
    uint64_t products, products_direction, gathered, outputs[2], states, weights, input_weights, border, total;
} husk__rnn_layout;

/* How one layer's steps are launched. */
typedef struct husk__rnn_grid {
    size_t groups[2], items[3];
    int32_t group_panels, group_rows; /* of the panel variant */
    bool is_whole;                    /* one launch does all steps of a chunk */
    bool makes_inputs;                /* the first launch makes the products of the inputs too */
    size_t input_groups[2];           /* otherwise a launch of its own does */
    int32_t input_panels, input_rows; /* those of a group of it */
} husk__rnn_grid;

typedef struct husk__rnn_state {
    husk__rnn_problem problem; /* the plan's, or as many of its sequences as are worked on at once */
    const husk__kernel *step, *pack, *gather;
    int32_t unit_vectors, strip_vectors; /* of the panel variant; 0 for others */
    bool is_far;                         /* weights are more than the last cache holds */
    bool takes_few;                      /* so few rows of inputs that plain input weights go to gemm as they are */
    husk__rnn_layout layout;
    husk__rnn_grid grid;
    husk_plan *products[HUSK__RNN_MAX_WEIGHTS]; /* gemm plans */
} husk__rnn_state;

/* What everything but the public calls works on. */
static inline const husk__rnn_problem *husk__rnn_worked(const husk_plan *plan)
{
    return &((const husk__rnn_state *)plan->state)->problem;
}

/* ---- layout.c: where things lie ---- */

/*
 * Inside the problem's limit; where that is the default and too little for one sequence, inside of one buffer, as a
 * variant that is asked for by name need not know of it. The panel variant has input weights in panels as well.
 */
void husk__rnn_lay_out(const husk__rnn_problem *problem, int64_t panel_units, bool is_panel, husk__rnn_layout *layout);
/* Whether reading plain input weights once is faster than packing and multiplying them by panels. */
bool husk__rnn_takes_few(const husk__rnn_problem *problem);
/* Whether this run's inputs are multiplied by the panel variant's own kernel, not by gemm. */
bool husk__rnn_has_own_inputs(const husk__rnn_state *state, const husk__rnn_run *run);
/* What a run executes, with what parts and chunks that overlap compute twice. */
double husk__rnn_flops(const husk__rnn_problem *problem, const husk__rnn_layout *layout);
/* The panel variant's: how many elements a layer's input weights have in panels, and where packed ones begin. */
int64_t husk__rnn_input_panels(const husk__rnn_problem *problem, const husk__rnn_layout *layout, int64_t layer);
int64_t husk__rnn_input_panels_at(const husk__rnn_problem *problem, const husk__rnn_layout *layout, int64_t layer);

/* ---- layers.c: how layers follow each other ---- */

/* Everything but the step kernel and the grid, which the variant has put into the state. */
husk_status husk__rnn_prepare(husk_plan *plan, husk__rnn_state *state, const husk__scope *scope);
void husk__rnn_unprepare(husk_plan *plan);
/* All layers, of as many sequences as the state's problem has. */
husk_status husk__rnn_run_layers(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                 const husk__scratch *scratch, const husk__scope *scope);

/* ---- sequences.c: a batch in parts, where scratch memory has no room for it ---- */

/* A plan's state with layout and problem; the rest is husk__rnn_prepare's and the variant's. */
husk_status husk__rnn_state_create(husk_plan *plan, int64_t panel_units, bool is_panel, const husk__scope *scope);
/* The variants' run. */
husk_status husk__rnn_run_sequences(const husk_plan *plan, husk_queue *queue, const void *arguments,
                                    const husk__scratch *scratch, const husk__scope *scope);

/* ---- step.c ---- */

/* One layer and the time steps whose input products are there. */
typedef struct husk__rnn_launch {
    int64_t layer, first_step, steps;
    int64_t inputs_first, inputs_first_reverse; /* time of the first product row, by direction */
    bool inputs_by_step;
    bool has_own_inputs; /* the panel variant's products, in panels */
    const husk_tensor *y;
    husk__arg packed;
    husk__arg input_packed; /* has_own_inputs alone, as the next two */
    int64_t input_packed_stride; /* elements, from a direction to the next */
    husk_tensor x;               /* rows of the chunk, where the first launch makes the products */
} husk__rnn_launch;

husk_status husk__rnn_launch_steps(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                   const husk__scratch *scratch, const husk__rnn_launch *launch,
                                   const husk__scope *scope);

/* The products of one direction's rows of inputs, by the panel variant's own kernel. */
husk_status husk__rnn_launch_inputs(const husk_plan *plan, husk_queue *queue, const husk__rnn_run *run,
                                    const husk__scratch *scratch, const husk__rnn_launch *launch, int64_t direction,
                                    const husk_tensor *rows, const husk__scope *scope);

/* ---- divide.c: how the panel variants of forward and backward divide their work ---- */

/* Hidden units in so many panels, and sequences, among the cores: groups, group_panels, group_rows, is_whole. */
void husk__rnn_divide(const husk__rnn_problem *problem, int64_t panels, uint32_t cores, husk__rnn_grid *grid);
/* The products of the inputs, which forward's panel kernel makes itself: the grid's input_* and makes_inputs. */
void husk__rnn_divide_inputs(const husk__rnn_problem *problem, const husk__rnn_layout *layout, uint32_t cores,
                             husk__rnn_grid *grid);
/* Hidden weights are more than the last cache holds. */
bool husk__rnn_is_far(const husk__rnn_problem *problem, const husk_device_traits *traits);

/* ---- pack.c ---- */

/* Flags of packed weights. */
enum { HUSK__RNN_PACKED_INPUT_BIAS = 1, HUSK__RNN_PACKED_HIDDEN_BIAS = 2 };

void husk__rnn_describe_packed(const husk_plan *plan, husk__key *key);
/* One layer's hidden weights and biases in one direction into panels at a byte offset of a buffer. */
husk_status husk__rnn_pack_hidden(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                  const husk_buffer *to, uint64_t byte_offset, const husk__scope *scope);
husk_status husk__rnn_pack(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                           husk_packed **packed, const husk__scope *scope);
/*
 * The panel variant's: hidden weights and, where has_input, input weights of one layer and direction with their biases
 * into panels at byte offsets of a buffer.
 */
husk_status husk__rnn_pack_panels(const husk_plan *plan, husk_queue *queue, const husk_rnn_weights *weights,
                                  const husk_buffer *to, uint64_t byte_offset, bool has_input,
                                  uint64_t input_byte_offset, const husk__scope *scope);
/* The input weights and bias of packed weights, as gemm takes them; packed input weights are in *input. */
void husk__rnn_packed_inputs(const husk_plan *plan, const husk_packed *packed, int64_t index, husk_tensor *input,
                             husk_tensor *bias);

/* ---- the rows ---- */

extern const husk__op husk__op_rnn;
extern const husk__variant husk__rnn_panel;
extern const husk__variant husk__rnn_tile;

#endif
