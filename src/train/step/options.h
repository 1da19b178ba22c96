/* SPDX-License-Identifier: MIT */
/*
 * train/step/options.h: how a graph is to be compiled.
 */
#ifndef HUSK_TRAIN_STEP_OPTIONS_H
#define HUSK_TRAIN_STEP_OPTIONS_H

#include "train/graph/compiled.h"

/* The caller's options into own, with what they leave open filled in; refused where they break a rule. */
husk_status husk__read_options(const husk_graph *graph, husk__compiled *own, const husk_graph_options *options,
                               const husk__train_scope *scope);

#endif
