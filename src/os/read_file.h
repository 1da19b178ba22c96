/* SPDX-License-Identifier: MIT */
/*
 * os/read_file.h: files that are read whole.
 */
#ifndef HUSK_OS_READ_FILE_H
#define HUSK_OS_READ_FILE_H

#include <stddef.h>

/* What is larger is none of the files that are read whole: kernels, binaries, tuning databases. */
enum { HUSK__MOST_FILE_BYTES = 256 << 20 };

/*
 * A whole file, zero-terminated, malloc'ed; NULL when it cannot be read, and for what is no file: a pipe is not waited
 * for. Nothing is allocated for a file that is too large, and errno is EFBIG, not ENOMEM. size may be NULL.
 */
char *husk__read_file(const char *path, size_t *size);
/* The same of an open file, which stays open. */
char *husk__read_descriptor(int descriptor, size_t *size);

/* The first bytes of a file that does not know its size, such as /proc/cpuinfo. As husk__read_file otherwise. */
char *husk__read_stream(const char *path, size_t most);

#endif
