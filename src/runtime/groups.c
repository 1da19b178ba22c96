// SPDX-License-Identifier: MIT
#include "runtime/groups.h"

#include "base/checked.h"

// A thread that sleeps comes late: the one that is awake takes half of the groups at once, and both share the rest as
// they come. So groups of short work are small, for an even end; of long work, which waking does not delay, a few
// groups a core lose less at their borders.
enum { LEAST_TIME = 2000, LONG_TIME = 500000, GROUPS_PER_UNIT = 16, LONG_GROUPS_PER_UNIT = 4 };

int64_t husk__group_share(const husk_device_traits *traits, int64_t units, double unit_time)
{
    const double time = (double)units * unit_time;
    const int64_t per_unit = time < LONG_TIME ? GROUPS_PER_UNIT : LONG_GROUPS_PER_UNIT;
    const int64_t most = per_unit * (int64_t)traits->compute_units;
    if (time < HUSK__WAKING_TIME)
        return husk__max_i64(units, 1);
    const int64_t groups = time / LEAST_TIME < (double)most ? (int64_t)(time / LEAST_TIME) : most;
    return husk__max_i64(husk__divide_up(units, groups), 1);
}
