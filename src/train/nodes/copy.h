/* SPDX-License-Identifier: MIT */
/*
 * train/nodes/copy.h: the copy that makes a view packed, and that in another dtype; arguments that are cast.
 */
#ifndef HUSK_TRAIN_NODES_COPY_H
#define HUSK_TRAIN_NODES_COPY_H

#include "train/graph/build.h"

/* A copy of x, packed, in this tensor's dtype. Without a name it is part of something else. */
husk_value husk__graph_copied(husk__building *building, const char *name, husk_value x, const husk_tensor *tensor);
/* value in another dtype: that which was made before, or a new one. */
husk_value husk__graph_cast(husk__building *building, husk_value value, husk_dtype dtype);
husk_value husk__graph_cast_before(const husk_graph *graph, husk_value value, husk_dtype dtype);

/* An argument, as husk__graph_number's, in the graph's dtype: a wider value is replaced by one that is cast to it. */
bool husk__graph_computed(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor);
/* The same for what may be absent: then the rank is -1. */
bool husk__graph_optional(husk__building *building, husk_value *value, const char *argument, husk_tensor *tensor);
/* The same in husk__wide_dtype; absent where it may be. */
bool husk__graph_wide(husk__building *building, husk_value *value, const char *argument, bool may_be_absent,
                      husk_tensor *tensor);

#endif
