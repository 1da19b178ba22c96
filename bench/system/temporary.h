/* SPDX-License-Identifier: MIT */
/* bench/system/temporary.h: a folder for files that nobody else is to see, and that are gone when it is removed. */
#ifndef BENCH_SYSTEM_TEMPORARY_H
#define BENCH_SYSTEM_TEMPORARY_H

#include "common/text.h"

/* Below TMPDIR, or /tmp; its path has no blanks, so that it may be a word of a command. False: reason. */
bool bench_temporary_folder(char *path, size_t size, char reason[BENCH_REASON_TEXT]);
/* With all that is in it; a path that bench_temporary_folder did not make is left alone. */
void bench_temporary_remove(const char *path);

#endif
