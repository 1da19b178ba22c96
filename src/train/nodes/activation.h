/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/activation.h: activations, also those that are part of a convolution or a product.
 */
#ifndef HUSK_TRAIN_NODES_ACTIVATION_H
#define HUSK_TRAIN_NODES_ACTIVATION_H

#include "train/graph/build.h"
#include "train/graph/schedule.h"

/* Whether the gradient of an activation can be had from what it wrote. */
bool husk__activation_from_result(const husk_activation_params *params);
/*
 * The output of the newest node, and with an activation another node that makes the value of it: what conv and gemm are
 * given as one is two, which compiling joins where it may.
 */
husk_value husk__graph_activated(husk__building *building, const husk_activation_params *params, husk_dtype dtype,
                                 int32_t rank, const int64_t *shape);
/* The gradient of what the node computes before the activation that it takes over, or of its output. */
husk_status husk__activation_gradient(husk__schedule *schedule, const husk__node *node, husk__slot *dz);

#endif
