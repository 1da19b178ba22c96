/* SPDX-License-Identifier: MIT */
/*
 * select/tuning_file.h: the text of a tuning database, read with suspicion. docs/tuning.md has the format.
 */
#ifndef HUSK_SELECT_TUNING_FILE_H
#define HUSK_SELECT_TUNING_FILE_H

#include <stdbool.h>
#include <stddef.h>

#define HUSK__TUNING_SCHEMA "husk-tuning/1"

/* What the choice needs of an entry; the file has more. Texts lie in the file's text; none is NULL. */
typedef struct husk__tuning_entry {
    const char *device, *platform, *driver, *family; /* where it was measured */
    const char *op, *problem, *shape_class;          /* on what */
    const char *kernels;                             /* with which kernels */
    const char *state;                               /* "tuned", "kept" or "wrong" */
    const char *variant;                             /* "name:configuration" */
} husk__tuning_entry;

typedef struct husk__tuning_file {
    char *text;
    husk__tuning_entry *entries;
    size_t count;
    bool lacks_memory; /* why it is empty */
} husk__tuning_file;

enum { HUSK__TUNING_REASON = 120 };

/*
 * Read a copy of text. False, with file empty and reason saying where and why, for what is no database of this
 * schema. Entries that lack something are left out.
 */
bool husk__tuning_file_parse(const char *text, size_t size, husk__tuning_file *file, char reason[HUSK__TUNING_REASON]);
void husk__tuning_file_free(husk__tuning_file *file);

/* The databases that are compiled in, tuning/<device>.json; ends with a NULL name. */
typedef struct husk__tuning_default {
    const char *name;
    const char *text;
    size_t size;
} husk__tuning_default;

extern const husk__tuning_default husk__tuning_defaults[];

#endif
