/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/norm.h: normalisations, for layers.
 */
#ifndef HUSK_TRAIN_NODES_NORM_H
#define HUSK_TRAIN_NODES_NORM_H

#include "train/graph/build.h"

/* The shapes of a normalisation's scale and statistics for this x; false: refused. */
bool husk__norm_shapes(husk__building *building, const husk_norm_params *params, const husk_tensor *x,
                       husk_tensor *scale, husk_tensor *statistics);

#endif
