// SPDX-License-Identifier: MIT
#include "cache_folder.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

void cache_folder_open(cache_folder *folder)
{
    strcpy(folder->path, "/tmp/husk-cache-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder->path));
    snprintf(folder->cache, sizeof folder->cache, "%s/cache", folder->path);
}

void cache_folder_close(cache_folder *folder)
{
    char command[200];
    snprintf(command, sizeof command, "chmod -R u+rwx %s; rm -rf %s", folder->path, folder->path);
    ck_assert_int_eq(system(command), 0);
}

static bool is_none_of_them(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "lock") == 0;
}

static bool is_entry(const char *name)
{
    const size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".bin") == 0;
}

// Of the files that are entries, or of those that are not: their number, and what is to be done with each.
static int walk(const cache_folder *folder, bool entries, void (*visit)(const char *path, void *user), void *user)
{
    int count = 0;
    DIR *opened = opendir(folder->cache);
    if (!opened)
        return -1;
    for (struct dirent *entry; (entry = readdir(opened));) {
        char path[400];
        if (is_none_of_them(entry->d_name) || is_entry(entry->d_name) != entries)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder->cache, entry->d_name);
        if (visit)
            visit(path, user);
        count++;
    }
    closedir(opened);
    return count;
}

typedef struct text {
    char *bytes;
    size_t size;
} text;

static void keep(const char *path, void *user)
{
    const text *wanted = user;
    snprintf(wanted->bytes, wanted->size, "%s", path);
}

int cache_folder_entries(const cache_folder *folder, char *path, size_t size)
{
    return walk(folder, true, path ? keep : NULL, &(text){path, size});
}

int cache_folder_temporaries(const cache_folder *folder)
{
    return walk(folder, false, NULL, NULL);
}

static void age(const char *path, void *user)
{
    struct timespec then = {.tv_sec = time(NULL) - *(long *)user};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, (const struct timespec[]){then, then}, AT_SYMLINK_NOFOLLOW), 0);
}

void cache_folder_age(const cache_folder *folder, long seconds)
{
    walk(folder, false, age, &seconds);
}
