/* SPDX-License-Identifier: MIT */
/*
 * dist/together.h: what all ranks do together.
 */
#ifndef HUSK_DIST_TOGETHER_H
#define HUSK_DIST_TOGETHER_H

#include "dist/rank.h"

/* Together: bytes of every rank, one behind the other. */
husk_status husk__dist_gather(husk_dist *dist, const void *own, size_t bytes, void *all, const char *what,
                              const husk__dist_scope *scope);
/* Together: rank 0's bytes. */
husk_status husk__dist_broadcast(husk_dist *dist, void *data, size_t bytes, const char *what,
                                 const husk__dist_scope *scope);

#endif
