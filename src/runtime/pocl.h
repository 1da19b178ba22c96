/* SPDX-License-Identifier: MIT */
/*
 * runtime/pocl.h: what is known of PoCL, which computes on most CPUs.
 */
#ifndef HUSK_RUNTIME_POCL_H
#define HUSK_RUNTIME_POCL_H

#include <stdbool.h>

#include <husk/device.h>

#include "base/error.h"

bool husk__is_pocl(const husk_device_traits *traits);
/* Whether the device's compiler ends the process where a kernel has inline assembly: HUSK_QUIRK_ASSEMBLY. */
bool husk__breaks_on_assembly(const husk_device_traits *traits);
/* Whether a function that is for another CPU than the device's, and is not to be inlined, is known to stay one. */
bool husk__keeps_functions(const husk_device_traits *traits);
/* Why a platform that is there may have no device, and what to do; to be freed. NULL: no reason is known. */
char *husk__explain_no_device(const char *platform_name, bool *lacks_memory);
/* IO before anything is compiled where PoCL's folder has no room for it. */
husk_status husk__refuse_full_folder(const husk_device_traits *traits, const husk__scope *scope);
/* UNSUPPORTED where the stacks of PoCL's threads are too small for kernels. */
husk_status husk__refuse_small_stacks(const husk_device_traits *traits, const husk__scope *scope);

#endif
