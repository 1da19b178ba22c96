/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/views.h: views of values, for layers.
 */
#ifndef HUSK_TRAIN_NODES_VIEWS_H
#define HUSK_TRAIN_NODES_VIEWS_H

#include "train/graph/build.h"

husk_value husk__graph_reshape(husk__building *building, husk_value x, int32_t rank, const int64_t *shape);

#endif
