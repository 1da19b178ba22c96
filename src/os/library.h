/* SPDX-License-Identifier: MIT */
/*
 * os/library.h: shared libraries.
 */
#ifndef HUSK_OS_LIBRARY_H
#define HUSK_OS_LIBRARY_H

/*
 * NULL where a library of this name can be loaded, else the system's reason, which lives until the next such question
 * of this thread. The library does not stay, unless it was loaded before.
 */
const char *husk__try_library(const char *name);

#endif
