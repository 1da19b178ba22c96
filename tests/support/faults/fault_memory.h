/* SPDX-License-Identifier: MIT */
/*
 * faults/fault_memory.h: between the static libraries, with the test itself, and the system's allocator (--wrap,
 * tests/CMakeLists.txt). What the driver and other shared libraries allocate is not seen.
 */
#ifndef HUSK_TESTS_FAULT_MEMORY_H
#define HUSK_TESTS_FAULT_MEMORY_H

/* The allocation of this number fails, counted from now; 0: none. */
void fault_plan_allocation(long number);
/* Allocations since the plan was made. */
long fault_allocations(void);
/* Blocks that were allocated and are not freed. */
long fault_blocks(void);

#endif
