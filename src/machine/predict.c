// SPDX-License-Identifier: MIT
#include "machine/predict.h"

#include <math.h>

#include "base/checked.h"

double husk__wake_ns(const husk_machine *machine, const husk_machine_rates *rates, int64_t groups)
{
    if (groups <= 1 || machine->cores <= 1)
        return 0.0;
    return rates->wake_ns / (double)husk__divide_up(groups, machine->cores);
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
