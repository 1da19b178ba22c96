/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/dropout.h: random numbers of dropout.
 */
#ifndef HUSK_TRAIN_NODES_DROPOUT_H
#define HUSK_TRAIN_NODES_DROPOUT_H

#include <stdint.h>

#include <husk/train/graph.h>

/* The stream of a node's random numbers in this batch. */
uint64_t husk__dropout_offset(const husk_graph *graph, int32_t node);

#endif
