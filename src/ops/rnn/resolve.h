/* SPDX-License-Identifier: MIT */
/*
 * ops/rnn/resolve.h: from the arguments of a public call of recurrent layers to their problem, and the arguments of a
 * run against a plan.
 */
#ifndef HUSK_OPS_RNN_RESOLVE_H
#define HUSK_OPS_RNN_RESOLVE_H

#include "ops/rnn/problem.h"

/* ---- resolve.c: validation, defaults, memory ---- */

/* Options alone, into a problem without tensors. */
husk_status husk__rnn_read_params(const husk_rnn_params *given, husk_rnn_params *params, husk__rnn_problem *problem,
                                  const husk__scope *scope);

/* The caller's structs, each of its size. */
husk_status husk__rnn_read(const husk_rnn_inputs *given_inputs, const husk_rnn_outputs *given_outputs,
                           husk_rnn_inputs *inputs, husk_rnn_outputs *outputs, const husk__scope *scope);
/* Every argument but memory, in the header's order. */
husk_status husk__rnn_resolve(const husk_context *context, const husk_rnn_params *params, const husk_rnn_inputs *inputs,
                              const husk_rnn_outputs *outputs, husk__rnn_problem *problem, husk__preference *preference,
                              const husk__scope *scope);
/*
 * The limit of scratch memory: the params', or the default, to which the border's elements are added, as no cutting of
 * time makes them fewer. husk__rnn_resolve has set forward's.
 */
void husk__rnn_set_limit(const husk_context *context, const husk_rnn_params *params, int64_t border,
                         husk__rnn_problem *problem, husk__preference *preference);
/* The memory behind the tensors of a run, and what may not overlap. */
husk_status husk__rnn_bind(const husk__rnn_problem *problem, husk_queue *queue, const husk__rnn_run *run,
                           const husk__scope *scope);
husk_status husk__rnn_bind_weights(const husk__rnn_problem *problem, husk_queue *queue, const husk_rnn_weights *weights,
                                   const husk__scope *scope);

/* "weights[12].input_bias". */
const char *husk__rnn_weight_name(int64_t index, const char *part, char name[HUSK__RNN_NAME]);
/* One layer's weights in one direction; how far apart their rows lie. */
husk_status husk__rnn_resolve_weight(const husk_rnn_weights *weights, int64_t index, const husk__rnn_problem *problem,
                                     husk__rnn_rows *rows, const husk__scope *scope);
/* Packed weights and a reserve do not go together. */
husk_status husk__rnn_refuse_packed_training(const husk_rnn_inputs *inputs, const husk__rnn_problem *problem,
                                             const husk__scope *scope);

/* ---- plan.c: a run against its plan ---- */

/* The tensors of a run against the plan's; packed weights are not looked at. */
husk_status husk__rnn_check_run(const husk__rnn_problem *problem, const husk__rnn_run *run, const husk__scope *scope);
/* The plain weights of a run or a packing against the plan's. */
husk_status husk__rnn_check_weights(const husk__rnn_problem *problem, const husk_rnn_weights *weights,
                                    const husk__scope *scope);

#endif
