/* SPDX-License-Identifier: MIT */
/*
 * os/thread.h: threads, as the system knows them: their numbers, their stacks, the CPUs they run on.
 */
#ifndef HUSK_OS_THREAD_H
#define HUSK_OS_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/* The system's number of the calling thread; 0 where there are none. */
long husk__thread_number(void);
/* The bytes of stack that a thread has whose maker asks for none; 0: the system does not say. */
size_t husk__thread_stack_bytes(void);
/*
 * The CPUs, in ascending order, that a thread may run on: the one of that number (a process's number is that of its
 * first thread), or with 0 the calling one. malloc'ed. NULL says why in errno: ENOSYS: the system does not tell; ESRCH:
 * there is no such thread; ENOMEM.
 */
int *husk__allowed_cpus(long thread, size_t *count);
/* Let the calling thread run on these alone. False says why in errno, and nothing has changed. */
bool husk__allow_cpus(const int *cpus, size_t count);

#endif
