/* SPDX-License-Identifier: MIT */
/*
 * train/step/update.h: the end of a step: the optimizer.
 */
#ifndef HUSK_TRAIN_STEP_UPDATE_H
#define HUSK_TRAIN_STEP_UPDATE_H

#include "train/graph/compiled.h"

/* What the optimizer does once, whatever has come before it. */
husk_status husk__run_update(husk_graph *graph, const husk__train_scope *scope);
/* The same as an update that counts; refused where batches are missing. */
husk_status husk__update(husk_graph *graph, const husk__train_scope *scope);

#endif
