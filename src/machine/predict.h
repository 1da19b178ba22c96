/* SPDX-License-Identifier: MIT */
/*
 * machine/predict.h: from cycles, bytes and work-groups to nanoseconds, for the cost functions of CPU variants.
 * Divisions of work, which may decide a result's bits, are made with the machine's typical rates; times for the choice
 * among variants with its measured ones.
 */
#ifndef HUSK_MACHINE_PREDICT_H
#define HUSK_MACHINE_PREDICT_H

#include <husk/machine.h>

/* Vector registers of AVX2 and SSE, for which the smaller tiles are; AVX-512 and NEON have 32. */
enum { HUSK__FEW_REGISTERS = 16 };

/* Nanoseconds of so many cycles of a core. */
static inline double husk__cycles_ns(const husk_machine_rates *rates, double cycles)
{
    return cycles / rates->clock_ghz;
}

/*
 * Nanoseconds of a launch of so many work-groups, each of which takes group_ns on a core. The other cores begin late:
 * where there are several groups a core they leave more of them to the first, and where there is little to do, all.
 */
double husk__launch_time(const husk_machine *machine, const husk_machine_rates *rates, double group_ns, int64_t groups);

/*
 * Bytes a nanosecond that one core reads while all of them read: of data of so many bytes, which the call before has
 * read, too.
 */
double husk__read_rate(const husk_machine *machine, const husk_machine_rates *rates, double bytes);

#endif
