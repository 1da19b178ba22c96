/* SPDX-License-Identifier: MIT */
/*
 * machine/machine.h: what a context's device can do, for those that make blocks and predict times (husk/machine.h).
 */
#ifndef HUSK_MACHINE_MACHINE_H
#define HUSK_MACHINE_MACHINE_H

#include <husk/machine.h>

/*
 * Where measuring fails it has the rates of a typical device. NULL for want of host memory, but never where there was a
 * machine before: whoever makes a plan asks first.
 */
const husk_machine *husk__machine_of(husk_context *context);

#endif
