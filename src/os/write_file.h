/* SPDX-License-Identifier: MIT */
/*
 * os/write_file.h: files that are written whole or not at all.
 */
#ifndef HUSK_OS_WRITE_FILE_H
#define HUSK_OS_WRITE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Written to a temporary in the same folder, synced, then renamed. All or nothing. */
bool husk__write_file_atomically(const char *path, const void *bytes, size_t size);
/*
 * A file that a caller has named, as his umask has it: one that is there stays whole until the new one is, and keeps
 * its mode. What is no file, as /dev/stdout, or a link is written to where it is.
 */
bool husk__write_named_file(const char *path, const void *bytes, size_t size);
/*
 * Temporaries in the folder that are an hour old: whoever wrote them was killed. Only those of files whose names, of
 * length characters, are the caller's own.
 */
void husk__remove_old_temporaries(const char *folder, bool is_ours(const char *name, size_t length));
/*
 * Whether a file was written so many seconds ago, or earlier. So is one that was written as far ahead: a clock that was
 * set back must not keep it for ever. True where there is none.
 */
bool husk__is_old(const char *path, int64_t seconds);

#endif
