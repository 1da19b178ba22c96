/* SPDX-License-Identifier: MIT */
/*
 * ops/lookup/lookups.h: indices of which each has a row, whose last dimension is the columns; and what operators that
 * write a row for each index share. Their kernels are cl/lookup/NAME_vector.cl and cl/lookup/NAME_grid.cl.
 */
#ifndef HUSK_OPS_LOOKUP_LOOKUPS_H
#define HUSK_OPS_LOOKUP_LOOKUPS_H

#include "runtime/walk.h"
#include "select/plan.h"

/* A variant's state: everything a launch needs but the buffers. */
typedef struct husk__lookup_launch {
    const husk__kernel *kernel;
    husk__walk_values walk;
    int64_t share, span; /* vector: indices and columns a work-group takes */
    bool streams;
    husk__range range;
} husk__lookup_launch;

/* The indices' dimensions in row-major order, with the strides of indices and of rows. Tensors are resolved. */
husk__walk_values husk__lookup_walk(const husk_tensor *indices, const husk_tensor *rows);
/* EMBEDDING_INDICES of cl/lib/embedding.clh. walk lives until the launch. */
enum { HUSK__LOOKUP_INDICES_ARGS = 3 + 4 };
husk__arg *husk__lookup_write_indices(const husk_tensor *indices, const husk__walk_values *walk, husk__arg *end);

/* Groups of one work-item, for husk__grid_items. */
extern const husk__configuration husk__lookup_vector_menu[1];
husk_status husk__lookup_prepare(husk_plan *plan, const husk_tensor *indices, const husk_tensor *rows,
                                 const husk__scope *scope);
/* The arguments that kernels end with, which are three. */
husk__arg *husk__lookup_write_share(const husk__lookup_launch *launch, husk__arg *end);

#endif
