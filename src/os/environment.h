/* SPDX-License-Identifier: MIT */
/*
 * os/environment.h: the variables that a process is started with.
 */
#ifndef HUSK_OS_ENVIRONMENT_H
#define HUSK_OS_ENVIRONMENT_H

/* The variable's value, or NULL when it is unset or empty. */
const char *husk__environment(const char *name);

#endif
