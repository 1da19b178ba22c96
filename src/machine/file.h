/* SPDX-License-Identifier: MIT */
/*
 * machine/file.h: measured rates on disk, a file a device and driver.
 *
 *     husk-machine/1
 *     device NAME
 *     driver NAME, N units, vectors of N floats
 *     clock_ghz 3.41
 *     ...              the other rates of husk/machine.h, in its order
 *
 * What is wrong with a file in any way is as if it were not there.
 */
#ifndef HUSK_MACHINE_FILE_H
#define HUSK_MACHINE_FILE_H

#include <husk/machine.h>

#include "base/error.h"
#include "base/text.h"

/* The file's name. False: there is no folder for it, or, with errno ENOMEM, no memory. */
bool husk__machine_path(const husk_device_traits *traits, husk__text *path);
/* Which device and driver the rates are of, as the file has it: two lines. False for want of memory. */
bool husk__machine_header(const husk_device_traits *traits, husk__text *header);

/* The text of a file for this header. */
void husk__machine_write(const char *header, husk_machine_rates rates, husk__text *text);
/* False for what is no such text, or not for this header. */
bool husk__machine_parse(const char *text, const char *header, husk_machine_rates *rates);

/*
 * While one measures, others that want the same wait for it, some seconds at most, so that processes that begin
 * together choose alike. -1: none to be had, one goes on without. To be ended by husk__unlock.
 */
int husk__machine_lock(const husk_device_traits *traits);

/* From and to the file of a device. False where there are none that could be this machine's. */
bool husk__machine_load(const husk_device_traits *traits, const husk_machine *machine, husk_machine_rates *rates);
husk_status husk__machine_store(const husk_device_traits *traits, const husk_machine_rates *rates,
                                const husk__scope *scope);

#endif
