/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/gemm.h: products of matrices, for layers.
 */
#ifndef HUSK_TRAIN_NODES_GEMM_H
#define HUSK_TRAIN_NODES_GEMM_H

#include "train/graph/build.h"

/* husk_graph_gemm, and what a linear layer does. */
husk_value husk__graph_gemm(husk__building *building, const husk_gemm_params *params, float alpha, husk_value a,
                            husk_value b, husk_value bias);

#endif
