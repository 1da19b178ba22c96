/* SPDX-License-Identifier: MIT */
/* select/grid.h: variants for GPUs that go through their elements in work-groups of 256 work-items, or of 64. */
#ifndef HUSK_SELECT_GRID_H
#define HUSK_SELECT_GRID_H

#include "select/op.h"

enum { HUSK__GRID_CONFIGURATIONS = 2 };

/* -DWG for the kernels. */
extern const husk__configuration husk__grid_menu[HUSK__GRID_CONFIGURATIONS];

/* Work-items of a group, which come first in a configuration's values: in this menu, and in others of that kind. */
int32_t husk__grid_items(const husk__configuration *configuration);
/* Whether the device has such work-groups; and a cost by which it takes the larger ones. */
bool husk__grid_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY]);
double husk__grid_cost(const husk__candidate *candidate);

/* What such variants' rows have in common: `static const husk__variant grid = {HUSK__GRID_VARIANT, .prepare = ...`. */
#define HUSK__GRID_VARIANT                                                                                        \
    .name = "grid", .family = HUSK__FAMILY_GPU, .configurations = husk__grid_menu,                                \
    .configuration_count = HUSK__GRID_CONFIGURATIONS, .supports = husk__grid_supports, .cost = husk__grid_cost

#endif
