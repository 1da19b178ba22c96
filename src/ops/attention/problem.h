/* SPDX-License-Identifier: MIT */
/*
 * ops/attention/problem.h: what attention and its gradient share.
 */
#ifndef HUSK_OPS_ATTENTION_PROBLEM_H
#define HUSK_OPS_ATTENTION_PROBLEM_H

#include <husk/ops/attention.h>

#include "select/plan.h"

/* cl/lib/attention.clh has the same numbers. */
typedef enum husk__attention_mask {
    HUSK__ATTENTION_MASK_NONE,
    HUSK__ATTENTION_MASK_ADDED,
    HUSK__ATTENTION_MASK_BOOLEAN
} husk__attention_mask;

/* Dimensions of q, k, v, y and of the mask, written out to four. */
enum { HUSK__ATTENTION_BATCH, HUSK__ATTENTION_HEADS, HUSK__ATTENTION_LENGTH, HUSK__ATTENTION_COLUMNS };

/*
 * Resolved, without buffers; the gradient's problem begins with it. The mask has [batch, heads, queries, keys] with
 * strides of 0 where it is broadcast. What dropout draws belongs to a run.
 */
typedef struct husk__attention_problem {
    husk_causal causal;
    float scale; /* as it was given; husk__attention_scale says what 0 means */
    husk_precision precision; /* resolved */
    bool drops;
    husk__attention_mask mask_kind;
    husk_tensor q, k, v, mask, y, log_sum_exp; /* log_sum_exp of rank 0: not wanted */
} husk__attention_problem;

/* What a run of either operator is given of the common inputs. */
typedef struct husk__attention_inputs {
    const husk_tensor *q, *k, *v, *mask;
    uint64_t seed, offset;
    float dropout;
} husk__attention_inputs;

/* What a run of the operator itself is given. */
typedef struct husk__attention_arguments {
    husk__attention_inputs inputs;
    const husk_tensor *y, *log_sum_exp;
} husk__attention_arguments;

void husk__attention_describe(const void *problem, husk__key *key);
void husk__attention_classify(const void *problem, husk__text *text);
/* The case up to its dtype, and what it leaves out of the common tensors. inputs: a run's, or NULL. */
void husk__attention_begin_case(const husk__attention_problem *problem, const husk__attention_inputs *inputs,
                                husk__case *c);

/* params, q, k, v and mask: everything about them but overlaps. */
husk_status husk__attention_check(husk_queue *queue, const husk_attention_params *params,
                                  const husk__attention_inputs *inputs, const husk__scope *scope);
/* A tensor of the operator's, [batch, heads, length, columns] of q's dtype, whose columns lie side by side. */
husk_status husk__attention_check_tensor(const husk_tensor *tensor, const char *name, const husk_tensor *q,
                                         const int64_t *shape, const char *other, const husk__scope *scope);
/* [batch, heads, queries] of f32, or f64 beside f64. */
husk_status husk__attention_check_sums(const husk_tensor *log_sum_exp, const husk_tensor *q, const husk__scope *scope);
husk_status husk__attention_bind(husk_queue *queue, const husk__attention_inputs *inputs, const husk__scope *scope);
/* params, which NULL leaves at the defaults. */
husk_status husk__attention_read(husk_attention_params *options, const husk_attention_params *params,
                                 const husk__scope *scope);
/* Everything of the problem that these say; y and log_sum_exp are the caller's to fill in. */
husk__attention_problem husk__attention_resolve(husk_context *context, const husk_attention_params *params,
                                                const husk__attention_inputs *inputs);
void husk__attention_resolve_tensor(husk_tensor *tensor, const husk_tensor *given);

/* Without the logarithm's base, in the precision that kernels of q's dtype compute in. */
double husk__attention_scale(const husk__attention_problem *problem);

/* ATTENTION_PARAMS of cl/lib/attention.clh; a tensor's own arguments. */
enum { HUSK__ATTENTION_ARGS = 30, HUSK__ATTENTION_TENSOR_ARGS = 4 };
husk__arg *husk__attention_write_args(const husk__attention_problem *problem, const husk__attention_inputs *inputs,
                                      husk__arg *arguments);
husk__arg *husk__attention_write_tensor(const husk_tensor *resolved, const husk_tensor *given, husk__arg *arguments);
/* y, log_sum_exp and whether it is there. */
enum { HUSK__ATTENTION_OUTPUT_ARGS = 2 * HUSK__ATTENTION_TENSOR_ARGS + 1 };
husk__arg *husk__attention_write_outputs(const husk__attention_problem *problem, const husk__attention_arguments *given,
                                         husk__arg *arguments);

/* ---- the CPU family's configurations, which forward and backward share ---- */

enum {
    HUSK__ATTENTION_TILE_M,
    HUSK__ATTENTION_TILE_NV,
    HUSK__ATTENTION_MOST_COLUMNS,
    HUSK__ATTENTION_PANEL_FLOATS,
    HUSK__ATTENTION_STATE_FLOATS,
    HUSK__ATTENTION_LINE
};
enum { HUSK__ATTENTION_BLOCKS = 2 };
extern const husk__configuration husk__attention_blocks_menu[HUSK__ATTENTION_BLOCKS];
extern const husk__configuration husk__attention_backward_blocks_menu[HUSK__ATTENTION_BLOCKS];
/* Lanes of the kernels' vectors, and -D options of the dtype: vectors of doubles are as long as those of floats. */
int32_t husk__attention_lanes(const husk_device_traits *traits, husk_dtype dtype);
const char *husk__attention_options(husk_dtype dtype);
/* A configuration on a device, in a dtype; rooms are as large in any. */
typedef struct husk__attention_tile {
    int64_t rows, columns, lanes;   /* of a register tile; of a vector */
    int64_t panel_room, state_room; /* accumulators */
} husk__attention_tile;
husk__attention_tile husk__attention_tile_of(const husk__configuration *configuration, const husk_device_traits *traits,
                                             husk_dtype dtype);
bool husk__attention_supports_blocks(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__attention_cost_blocks(const husk__candidate *candidate);
/*
 * Rows a work-group takes of `rows` in each of `units`, `room` at most: so many that cores have little to wait for at
 * the end. A work-group has room for the sums of so many rows, of `columns` f32 each. Both are whole tiles, so that
 * every row falls into the same tile however many cores there are, and sums have one order.
 */
int64_t husk__attention_unit_rows(const husk__attention_tile *tile, const husk_device_traits *traits, int64_t units,
                                  int64_t rows, int64_t room);
int64_t husk__attention_room(const husk__attention_tile *tile, int64_t columns);
/*
 * Rows of the other side that are packed at a time: `turned` columns in turned panels, `plain` columns in each of
 * `plain_count` operands in plain ones. And those of a share, `most` at most, where all shares are about as large.
 */
int64_t husk__attention_chunk(const husk__attention_tile *tile, int64_t rows, int64_t turned, int64_t plain_padded,
                              int64_t plain_panels);
int64_t husk__attention_share(int64_t rows, int64_t most, int64_t tile);
int64_t husk__attention_padded(const husk__attention_tile *tile, int64_t columns);

/* Few queries of each head on many keys. */
extern const husk__variant husk__attention_ranges;

/* ---- the GPU family's ---- */

/* values[HUSK__ATTENTION_SIDE]: work-items of a group in either dimension. */
enum { HUSK__ATTENTION_SIDE };
enum { HUSK__ATTENTION_SIDES = 2 };
extern const husk__configuration husk__attention_workgroup_menu[HUSK__ATTENTION_SIDES];
/* Whether a launch has a work-group of so many items for each tile of `rows` rows of a side's heads, and each block. */
bool husk__attention_can_launch(const husk_tensor *heads, int64_t rows, int64_t blocks, int64_t items,
                                char reason[HUSK__REASON_CAPACITY]);
bool husk__attention_supports_workgroup(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__attention_cost_workgroup(const husk__candidate *candidate);
/*
 * Predicted nanoseconds of work-groups that each take so many queries of a head and columns of y at most, and compute
 * the scores of their queries anew for each part of the columns; efficiency: their share of a unit's arithmetic.
 */
double husk__attention_cost_groups(const husk__candidate *candidate, int64_t rows, int64_t columns, double efficiency);

/* Both products by cl/lib/fragment.clh: plain arithmetic, and matrix engines. */
extern const husk__variant husk__attention_tiled, husk__attention_matrix;

#endif
