// SPDX-License-Identifier: MIT
#include "machine/predict.h"

#include <math.h>

#include "base/checked.h"

double husk__launch_time(const husk_machine *machine, const husk_machine_rates *rates, double group_ns, int64_t groups)
{
    const double alone = group_ns * (double)groups, cores = (double)husk__min_i64(groups, machine->cores);
    if (cores <= 1.0)
        return rates->launch_ns + alone;
    const int64_t rounds = husk__divide_up(groups, machine->cores);
    const double late = rates->wake_ns * (rounds == 1 ? 1.0 : (cores - 1.0) / cores);
    return rates->launch_ns + fmin(alone, group_ns * (double)rounds + late);
}

double husk__read_rate(const husk_machine *machine, const husk_machine_rates *rates, double bytes)
{
    const double cores = machine->cores;
    if (bytes <= cores * (double)machine->l2)
        return rates->l2_rate;
    if (bytes <= (double)machine->l3)
        return rates->l3_rate;
    return fmin(rates->memory_rate, rates->memory_rate_all / cores);
}
