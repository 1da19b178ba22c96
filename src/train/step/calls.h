/* SPDX-License-Identifier: MIT */
/*
 * train/step/calls.h: a public call of a compiled graph, and calls of its schedules.
 */
#ifndef HUSK_TRAIN_STEP_CALLS_H
#define HUSK_TRAIN_STEP_CALLS_H

#include "train/graph/compiled.h"

/* A public call of a compiled graph begins: its scope, or the refusal. */
husk_status husk__step_begin(husk_graph *graph, const char *call, husk__train_scope *scope);
/* Refused where the graph was compiled without a loss. */
husk_status husk__needs_loss(const husk_graph *graph, const husk__train_scope *scope);
/* The queue's text as the scope's. */
husk_status husk__queue_failed(const husk_graph *graph, husk_status status, const husk__train_scope *scope);
/* The calls from first to before past. `call` names the public call in texts. */
husk_status husk__run_calls(husk_graph *graph, const husk__schedule *schedule, int32_t first, int32_t past,
                            const husk__train_scope *scope);
/* One of the numbers, a tensor of rank 0 of husk__wide_dtype. */
husk_tensor husk__number(const husk_graph *graph, int which);
/* Wait for such a tensor, and read it. */
husk_status husk__read_number(husk_graph *graph, const husk_tensor *tensor, double *number);

#endif
