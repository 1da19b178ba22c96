/* SPDX-License-Identifier: MIT */
/*
 * os/amx.h: the tile registers (AMX) of the CPU that this process runs on.
 */
#ifndef HUSK_OS_AMX_H
#define HUSK_OS_AMX_H

#include <stdbool.h>

/* Whether CPUID says that there are tiles, and products of bf16 and of bytes: no CPU has the one without the other. */
bool husk__cpu_has_amx(void);

/*
 * Asks the operating system for the process's permission to use tiles, once: they enlarge what it has to save of
 * every thread. All threads have it from then on. NULL if it is given, or else why not.
 */
const char *husk__permit_amx(void);

#endif
