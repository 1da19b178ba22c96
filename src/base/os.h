/* SPDX-License-Identifier: MIT */
/*
 * base/os.h: the operating system: clocks, environment, files.
 */
#ifndef HUSK_BASE_OS_H
#define HUSK_BASE_OS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Monotonic nanoseconds. */
uint64_t husk__now_ns(void);

/* The variable's value, or NULL when it is unset or empty. */
const char *husk__environment(const char *name);

/* The bytes of stack that a thread has whose maker asks for none; 0: the system does not say. */
size_t husk__thread_stack_bytes(void);

/* Room for this user's files where the path lies, which is there. False: it cannot be told. */
bool husk__free_bytes(const char *path, uint64_t *bytes);

/* "64", "16K", "512M", "1G" (powers of 1024). False for anything else. */
bool husk__parse_size(const char *text, uint64_t *value);

/* What is larger is none of the files that are read whole: kernels, binaries, tuning databases. */
enum { HUSK__MOST_FILE_BYTES = 256 << 20 };

/*
 * A whole file, zero-terminated, malloc'ed; NULL when it cannot be read, and for what is no file: a pipe is not waited
 * for. Nothing is allocated for a file that is too large, and errno is EFBIG, not ENOMEM. size may be NULL.
 */
char *husk__read_file(const char *path, size_t *size);

/* The first bytes of a file that does not know its size, such as /proc/cpuinfo. As husk__read_file otherwise. */
char *husk__read_stream(const char *path, size_t most);

bool husk__is_directory(const char *path);
/*
 * The paths of the files in a folder whose names end so, in the names' order; malloc'ed, as the list is. NULL where the
 * folder cannot be read, or there is no memory for all of them; an empty list is none.
 */
char **husk__list_directory(const char *path, const char *ending, size_t *count);

/*
 * Memory for a large block, to be ended by free; NULL where there is none. Where the system has them it lies in large
 * pages: what is read far apart then finds its addresses translated.
 */
void *husk__large_memory(uint64_t bytes);

/*
 * Cache folders and files: private to the user. The folder is made with mode 0700 where it is missing, and
 * refused (false) when it is a link, someone else's, or writable by others. The path does not end with a slash, behind
 * which a link would be followed.
 */
bool husk__prepare_private_directory(const char *path);
/* Of what is there, without links. NULL: it cannot be told, or there is no memory. To be freed. */
char *husk__absolute_path(const char *path);
/* As husk__read_file, but refuses links, other owners' files, and files others may write. */
char *husk__read_private_file(const char *path, size_t *size);
/*
 * Whether a file was written so many seconds ago, or earlier. So is one that was written as far ahead: a clock that was
 * set back must not keep it for ever. True where there is none.
 */
bool husk__is_old(const char *path, int64_t seconds);
/* Written to a temporary in the same folder, synced, then renamed. All or nothing. */
bool husk__write_file_atomically(const char *path, const void *bytes, size_t size);
/*
 * A file that a caller has named, as his umask has it: one that is there stays whole until the new one is, and keeps
 * its mode. What is no file, as /dev/stdout, or a link is written to where it is.
 */
bool husk__write_named_file(const char *path, const void *bytes, size_t size);
/*
 * A lock between threads and processes: of the byte at place in the file, which is made where it is missing, and stays
 * empty. Ends with husk__unlock, and with the process. -1, which may be unlocked as well: another one had it for all of
 * the patience, the file cannot be written or is no file, or the system has no such locks.
 */
int husk__lock(const char *path, uint32_t place, uint64_t patience_ns);
void husk__unlock(int lock);
/* The first place in [from, to) of the file that somebody else has locked; -1: none, or there is no such file. */
int64_t husk__find_lock(const char *path, uint32_t from, uint32_t to);
/*
 * Temporaries in the folder that are an hour old: whoever wrote them was killed. Only those of files whose names, of
 * length characters, are the caller's own.
 */
void husk__remove_old_temporaries(const char *folder, bool is_ours(const char *name, size_t length));

/* The system's numbers of this process and of the calling thread; the thread's is 0 where there are none. */
long husk__process_number(void);
long husk__thread_number(void);
/*
 * The CPUs, in ascending order, that a thread may run on: the one of that number (a process's number is that of its
 * first thread), or with 0 the calling one. malloc'ed. NULL says why in errno: ENOSYS: the system does not tell; ESRCH:
 * there is no such thread; ENOMEM.
 */
int *husk__allowed_cpus(long thread, size_t *count);
/* Let the calling thread run on these alone. False says why in errno, and nothing has changed. */
bool husk__allow_cpus(const int *cpus, size_t count);

#endif
