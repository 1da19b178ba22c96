/* SPDX-License-Identifier: MIT */
/*
 * train/step/copies.h: flat tensors of a compiled graph, and the copies of parameters in a narrower dtype.
 */
#ifndef HUSK_TRAIN_STEP_COPIES_H
#define HUSK_TRAIN_STEP_COPIES_H

#include "train/graph/compiled.h"

/* The first bytes of a region or of a state, in husk__wide_dtype or, half of them, in the graph's dtype. */
husk_tensor husk__flat(const husk_graph *graph, husk_buffer *buffer, husk_dtype dtype, uint64_t bytes);
/* Parameters' copies, made anew where they may be old. */
husk_status husk__refresh_copies(husk_graph *graph, const husk__train_scope *scope);

#endif
