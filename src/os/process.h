/* SPDX-License-Identifier: MIT */
/*
 * os/process.h: this process.
 */
#ifndef HUSK_OS_PROCESS_H
#define HUSK_OS_PROCESS_H

#include <stdbool.h>

/* The system's number of it. */
long husk__process_number(void);
/* Have this called in every child that is forked from now on. False: there is no memory for it. */
bool husk__on_fork(void (*in_child)(void));

#endif
