/* SPDX-License-Identifier: MIT */
/*
 * train/step/place.h: where what is not in the arena of a compiled graph lies.
 */
#ifndef HUSK_TRAIN_STEP_PLACE_H
#define HUSK_TRAIN_STEP_PLACE_H

#include "train/graph/compiled.h"

/* All parameters, those that are trained in the order in which their gradients are finished, and buckets of these. */
husk_status husk__order_parameters(husk_graph *graph, husk__compiled *own, const husk__train_scope *scope);
/* Inputs, what is kept of results, and a few numbers. */
void husk__place_outside(husk_graph *graph, husk__compiled *own);
/* A schedule's storages, where their values do. */
void husk__place_storages(husk_graph *graph, husk__compiled *own, husk__schedule *schedule);

#endif
