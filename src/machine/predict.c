// SPDX-License-Identifier: MIT
#include "machine/predict.h"

#include <math.h>

#include "base/checked.h"

enum { KEPT_ROUNDS = 50 };

double husk__launch_time(const husk_machine *machine, const husk_machine_rates *rates, double group_ns, int64_t groups)
{
    const double alone = group_ns * (double)groups, cores = (double)husk__min_i64(groups, machine->cores);
    if (cores <= 1.0)
        return rates->launch_ns + alone;
    const int64_t rounds = husk__divide_up(groups, machine->cores);
    const double late = rates->wake_ns * (rounds == 1 ? 1.0 : (cores - 1.0) / cores);
    return rates->launch_ns + fmin(alone, group_ns * (double)rounds + late);
}

// The share of reads that the last cache answers, where data of `times` its size are read again and again and what is
// dropped for a new line is any line: one stays there with the probability e^-(lines that miss meanwhile / its lines).
static double share_kept(double times)
{
    double kept = 0.0; // grows to the least solution of kept = e^-((1 - kept) times)
    for (int i = 0; i < KEPT_ROUNDS; ++i)
        kept = exp((kept - 1.0) * times);
    return kept;
}

double husk__read_rate(const husk_machine *machine, const husk_machine_rates *rates, double bytes)
{
    const double cores = machine->cores;
    if (bytes <= cores * (double)machine->l2)
        return rates->l2_rate;
    if (bytes <= (double)machine->l3)
        return rates->l3_rate;
    const double memory = fmin(rates->memory_rate, rates->memory_rate_all / cores);
    if (machine->l3 == 0)
        return memory;
    const double kept = share_kept(bytes / (double)machine->l3);
    return 1.0 / (kept / rates->l3_rate + (1.0 - kept) / memory);
}
