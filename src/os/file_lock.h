/* SPDX-License-Identifier: MIT */
/*
 * os/file_lock.h: locks between threads and processes.
 */
#ifndef HUSK_OS_FILE_LOCK_H
#define HUSK_OS_FILE_LOCK_H

#include <stdint.h>

/*
 * A lock of the byte at place in the file, which is made where it is missing, and stays empty. Ends with husk__unlock,
 * and with the process. -1, which may be unlocked as well: another one had it for all of the patience, the file cannot
 * be written or is no file, or the system has no such locks.
 */
int husk__lock(const char *path, uint32_t place, uint64_t patience_ns);
void husk__unlock(int lock);
/* The first place in [from, to) of the file that somebody else has locked; -1: none, or there is no such file. */
int64_t husk__find_lock(const char *path, uint32_t from, uint32_t to);

#endif
