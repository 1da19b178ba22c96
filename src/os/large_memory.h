/* SPDX-License-Identifier: MIT */
/*
 * os/large_memory.h: memory for large blocks.
 */
#ifndef HUSK_OS_LARGE_MEMORY_H
#define HUSK_OS_LARGE_MEMORY_H

#include <stdint.h>

/*
 * To be ended by free; NULL where there is none. Where the system has them it lies in large pages: what is read far
 * apart then finds its addresses translated.
 */
void *husk__large_memory(uint64_t bytes);

#endif
