// SPDX-License-Identifier: MIT
#include "select/grid.h"

#include <stdio.h>

const husk__configuration husk__grid_menu[HUSK__GRID_CONFIGURATIONS] = {
    {.name = "256", .options = "-DWG=256", .values = {256}},
    {.name = "64", .options = "-DWG=64", .values = {64}},
};

int32_t husk__grid_items(const husk__configuration *configuration)
{
    return configuration->values[0];
}

bool husk__grid_supports(const husk__candidate *candidate, char reason[HUSK__REASON_CAPACITY])
{
    const int32_t items = husk__grid_items(candidate->configuration);
    snprintf(reason, HUSK__REASON_CAPACITY, "needs work-groups of %d", items);
    return (uint64_t)items <= candidate->traits->work_group;
}

double husk__grid_cost(const husk__candidate *candidate)
{
    return 256.0 - husk__grid_items(candidate->configuration);
}
