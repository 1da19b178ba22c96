/* SPDX-License-Identifier: MIT */
/*
 * train/step/finite.h: looking for what is not finite.
 */
#ifndef HUSK_TRAIN_STEP_FINITE_H
#define HUSK_TRAIN_STEP_FINITE_H

#include "train/graph/compiled.h"

/* Keep the statistics as they are before a forward, so that it can be made once more; or have them again. */
husk_status husk__copy_statistics(husk_graph *graph, bool is_back, const husk__train_scope *scope);
/* Refused where the loss of the last forward is not finite, with the first tensor that is not. */
husk_status husk__check_finite(husk_graph *graph, const husk__train_scope *scope);

#endif
