/* SPDX-License-Identifier: MIT */
/*
 * bench/tune/database.h: a tuning database as clbench writes it; docs/tuning.md has the format. An entry is a JSON
 * object of texts and numbers; what identifies it is device, platform, driver, family, op and problem, and for one
 * that says "wrong" its variant.
 */
#ifndef BENCH_TUNE_DATABASE_H
#define BENCH_TUNE_DATABASE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "cases/case.h"

typedef struct bench_database {
    char path[4096];
    bool is_own;     /* in the user's own folder, where the library reads what others cannot write to, and no links */
    json_t *entries; /* an array */
} bench_database;

/* Whether a database may be there, or comes to be there. False: reason; what is there is no plain file, or not read. */
bool bench_database_check(const char *path, bool is_own, char reason[BENCH_REASON_TEXT]);
/* The file's entries; none where there is no file. A damaged file is said in reason, and there are none, too. */
void bench_database_open(bench_database *database, const char *path, char reason[BENCH_REASON_TEXT]);
/*
 * Written to a temporary, synced and renamed, folders made where they lack. What others have written since it was
 * opened is taken over (bench_database_merge); a file there that is no database is kept beside it, as PATH.refused, and
 * nothing is written where it cannot be. Of a link what it names is replaced.
 */
bool bench_database_save(bench_database *database, char reason[BENCH_REASON_TEXT]);
void bench_database_close(bench_database *database);

/* Entries of a file. NULL: reason says why it cannot be read, or is no database. */
json_t *bench_database_read(const char *path, char reason[BENCH_REASON_TEXT]);
/* The same of text in memory; name stands for the file in what is said. */
json_t *bench_database_parse(const char *text, size_t size, const char *name, char reason[BENCH_REASON_TEXT]);
/* One entry a line, so that people can compare versions. */
bool bench_database_print(FILE *file, const json_t *entries);
/* As other outputs (bench/system/output.h), folders made where they lack. "-" is stdout. */
bool bench_database_write(const char *path, const json_t *entries, char reason[BENCH_REASON_TEXT]);

/* Put an entry in the place of the one with its identity, whatever that says. The reference is taken over. */
void bench_database_put(json_t *entries, json_t *entry);
/*
 * Put entries that are not there; of two with one identity the later measured stays, of two measured at one time the
 * one that gains more. The number of entries taken.
 */
size_t bench_database_merge(json_t *entries, const json_t *more);

/* Where the user's database is: HUSK_TUNING, where that names a file or a folder, else (true) the device's own path. */
bool bench_database_path(const char *device_path, const char *preference, char *path, size_t size);
/* Same device, platform, driver and family as in the key. */
bool bench_database_is_of(const json_t *entry, const json_t *key);
/*
 * What is worth shipping of the device's entries: what was tuned or computed wrongly, and what vetoes a class of those.
 * A new reference.
 */
json_t *bench_database_essence(const json_t *entries, const json_t *key);

/* The text under a key, "" where there is none. */
const char *bench_entry_text(const json_t *entry, const char *key);

#endif
