/* SPDX-License-Identifier: MIT */
/*
 * machine/measure.h: a CPU device's rates, measured.
 */
#ifndef HUSK_MACHINE_MEASURE_H
#define HUSK_MACHINE_MEASURE_H

#include <husk/machine.h>

#include "base/error.h"

/*
 * Measure in a context of its own, whose memory and statistics are nobody else's, in about 0.1 s and what the driver
 * compiles. *rates is unchanged where that fails. Rates beyond what is plausible are taken for the nearest that is.
 */
husk_status husk__machine_measure(const husk_device *device, const husk_machine *machine, husk_machine_rates *rates,
                                  const husk__scope *scope);

#endif
