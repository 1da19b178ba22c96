/* SPDX-License-Identifier: MIT */
/*
 * cache_folder.h: a cache's folder for the length of a test, and what lies in it.
 */
#ifndef HUSK_TESTS_CACHE_FOLDER_H
#define HUSK_TESTS_CACHE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

/* A new folder under /tmp, and in it the place of a cache, which is not made. Valid until the next open. */
typedef struct cache_folder {
    char path[40];
    char cache[48];
} cache_folder;

void cache_folder_open(cache_folder *folder);
/* Everything in it goes, whatever its permissions. */
void cache_folder_close(cache_folder *folder);

/* How many entries lie there, and the path of one of them (NULL: nobody wants it); -1 without a folder. */
int cache_folder_entries(const cache_folder *folder, char *path, size_t size);
/* How many other files: temporaries of writes that have not ended. */
int cache_folder_temporaries(const cache_folder *folder);
/* Every temporary was written that long ago. */
void cache_folder_age(const cache_folder *folder, long seconds);

#endif
