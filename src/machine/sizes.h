/* SPDX-License-Identifier: MIT */
/*
 * machine/sizes.h: what a machine is by the device's and the system's word.
 */
#ifndef HUSK_MACHINE_SIZES_H
#define HUSK_MACHINE_SIZES_H

#include <husk/machine.h>

#include "os/cpu_caches.h"

/* Everything but what is measured: rates are the typical ones. caches: zeros where the system tells nothing. */
void husk__machine_read(const husk_device_traits *traits, const husk__cpu_caches *caches, husk_machine *machine);

/* Whether rates can be a machine's: each is within a factor of this one's typical rate. */
bool husk__rates_are_plausible(const husk_machine *machine, const husk_machine_rates *rates);
/* Takes those that cannot be for the nearest that can; what is no number becomes typical. */
void husk__rates_confine(const husk_machine *machine, husk_machine_rates *rates);

/*
 * The rates by name, for files and for people; ends with a NULL name. The offset is that within husk_machine_rates, of
 * a double.
 */
typedef struct husk__rate {
    const char *name;
    size_t offset;
    double most_factor; /* a machine's is within it of what is typical */
} husk__rate;

extern const husk__rate husk__machine_rate_names[];

double *husk__rate_of(husk_machine_rates *rates, const husk__rate *rate);

#endif
