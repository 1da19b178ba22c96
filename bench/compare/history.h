/* SPDX-License-Identifier: MIT */
/*
 * bench/compare/history.h: every result of a run, kept as a file in the user's data folder:
 * $XDG_DATA_HOME/husk/history, or ~/.local/share/husk/history.
 */
#ifndef BENCH_COMPARE_HISTORY_H
#define BENCH_COMPARE_HISTORY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/text.h"

#define BENCH_PATH_TEXT 4096

/* False: reason says that there is no such folder (neither variable is set). Nothing is made. */
bool bench_history_folder(char folder[BENCH_PATH_TEXT], char reason[BENCH_REASON_TEXT]);

/*
 * Keep a document: written beside its name and renamed, so that it is whole at any moment. Its name is when it was
 * started; a run that went on with one (--resume) takes its place. False: reason.
 */
bool bench_history_keep(const json_t *document, char reason[BENCH_REASON_TEXT]);

/* The names of what is kept, oldest first, in one allocation: free(names). NULL: there are none, or memory is short. */
char **bench_history_names(size_t *count);

/*
 * What a word on the command line stands for: "last" is the newest, "last~2" the one that was newest two runs before; a
 * name that `clbench history` shows; anything else, and what exists as a file, is itself. Where like is not NULL,
 * "last" means: older than that, of the same device and driver, and with a case in common. False: reason.
 */
bool bench_history_resolve(const char *word, const json_t *like, char path[BENCH_PATH_TEXT],
                           char reason[BENCH_REASON_TEXT]);

/* Whether a word means a result by its age. */
bool bench_history_is_last(const char *word);

#endif
