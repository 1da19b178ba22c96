/* SPDX-License-Identifier: MIT */
/*
 * os/folder.h: folders: what is in them, and what may be put there.
 */
#ifndef HUSK_OS_FOLDER_H
#define HUSK_OS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool husk__is_directory(const char *path);
/*
 * The paths of the files in a folder whose names end so, in the names' order; malloc'ed, as the list is. NULL where the
 * folder cannot be read, or there is no memory for all of them; an empty list is none.
 */
char **husk__list_directory(const char *path, const char *ending, size_t *count);

/* A walk through all names in a folder, in its own order, "." and ".." among them. NULL where it cannot be read. */
typedef struct husk__folder husk__folder;
husk__folder *husk__folder_open(const char *path);
/* NULL behind the last one. It lives until the next one is asked for. */
const char *husk__folder_next(husk__folder *folder);
void husk__folder_close(husk__folder *folder);

/* Of what is there, without links. NULL: it cannot be told, or there is no memory. To be freed. */
char *husk__absolute_path(const char *path);

/* Whether there is a file, and whether this user may read it and write to it. */
bool husk__is_there(const char *path);
bool husk__is_open_to_user(const char *path);
/*
 * 0 where the folder is there and may be written to, or may be made in the nearest one above that is there; else errno,
 * and the path is cut to that one.
 */
int husk__try_folder(char *path);
/* Room for this user's files where the path lies, which is there. False: it cannot be told. */
bool husk__free_bytes(const char *path, uint64_t *bytes);

#endif
