/* SPDX-License-Identifier: MIT */
/*
 * train/step/loss_scale.h: the loss scale of a compiled graph that has one.
 */
#ifndef HUSK_TRAIN_STEP_LOSS_SCALE_H
#define HUSK_TRAIN_STEP_LOSS_SCALE_H

#include "train/graph/compiled.h"

/* husk_grad_scale's state, a tensor of HUSK__SCALES numbers. */
husk_tensor husk__scale_state(const husk_graph *graph);
/* One of its numbers. */
husk_tensor husk__scale_number(const husk_graph *graph, int which);
husk_status husk__write_scale(husk_graph *graph, const husk_loss_scale *scale);

#endif
