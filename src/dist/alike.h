/* SPDX-License-Identifier: MIT */
/*
 * dist/alike.h: graphs that are alike in all ranks. All of these are calls that all ranks make.
 */
#ifndef HUSK_DIST_ALIKE_H
#define HUSK_DIST_ALIKE_H

#include "dist/replica.h"

/* Refused where graphs or devices differ. */
husk_status husk__alike_compare(husk_parallel *own, const husk__dist_scope *scope);
/* Refused where parameters, states, masks or positions differ. */
husk_status husk__alike_compare_hashes(husk_parallel *own, const husk__dist_scope *scope);
/* Masks, parameters and states become rank 0's. */
husk_status husk__alike_take_graph(husk_parallel *own, const husk__dist_scope *scope);
husk_status husk__alike_take_position(husk_parallel *own, const husk__dist_scope *scope);
husk_status husk__alike_take_loss_scale(husk_parallel *own, const husk__dist_scope *scope);
/* Statistics become the means of all ranks'. */
husk_status husk__alike_take_means(husk_parallel *own, const husk__dist_scope *scope);

#endif
