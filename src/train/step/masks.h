/* SPDX-License-Identifier: MIT */
/*
 * train/step/masks.h: masks of a pruned graph.
 *
 * One byte for each element of the flat trained parameters: 0 where it is pruned. A zero of their dtype lies behind
 * them, for husk_where.
 */
#ifndef HUSK_TRAIN_STEP_MASKS_H
#define HUSK_TRAIN_STEP_MASKS_H

#include "train/graph/compiled.h"

/* Elements of the flat trained parameters. */
uint64_t husk__trained_elements(const husk_graph *graph);
/* Masks of a graph that prune nothing. */
husk_status husk__masks_create(husk_graph *graph, husk_buffer **masks, husk_error *error);
/* Elements of a flat buffer, laid out as the trained parameters, become zero where the graph's masks say so. */
husk_status husk__masks_apply(husk_graph *graph, husk_buffer *flat);
/* The same to the parameters and to what the optimizer keeps of them. */
husk_status husk__masks_apply_all(husk_graph *graph);

#endif
