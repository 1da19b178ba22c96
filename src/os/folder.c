// SPDX-License-Identifier: MIT
#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 // realpath
#endif
#include "os/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

bool husk__is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool ends_with(const char *name, const char *ending)
{
    size_t length = strlen(name), wanted = strlen(ending);
    return length > wanted && strcmp(name + length - wanted, ending) == 0;
}

char **husk__list_directory(const char *path, const char *ending, size_t *count)
{
    DIR *directory = opendir(path);
    char **names = directory ? malloc(sizeof *names) : NULL;
    bool is_whole = names != NULL;
    *count = 0;
    for (struct dirent *entry; is_whole && (entry = readdir(directory));) {
        size_t size = strlen(path) + strlen(entry->d_name) + 2;
        if (!ends_with(entry->d_name, ending))
            continue;
        char **more = realloc(names, (*count + 1) * sizeof *names);
        char *name = malloc(size);
        names = more ? more : names;
        is_whole = more && name;
        if (!is_whole) {
            free(name);
            break;
        }
        snprintf(name, size, "%s/%s", path, entry->d_name);
        names[(*count)++] = name;
    }
    if (directory)
        closedir(directory);
    if (is_whole) {
        qsort(names, *count, sizeof *names, compare_names);
        return names;
    }
    while (*count > 0)
        free(names[--*count]);
    free(names);
    return NULL;
}

husk__folder *husk__folder_open(const char *path)
{
    return (husk__folder *)opendir(path);
}

const char *husk__folder_next(husk__folder *folder)
{
    const struct dirent *entry = readdir((DIR *)folder);
    return entry ? entry->d_name : NULL;
}

void husk__folder_close(husk__folder *folder)
{
    closedir((DIR *)folder);
}

char *husk__absolute_path(const char *path)
{
    return realpath(path, NULL);
}

bool husk__is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

bool husk__is_open_to_user(const char *path)
{
    return access(path, R_OK | W_OK) == 0;
}

int husk__try_folder(char *path)
{
    struct stat status;
    while (stat(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (errno != ENOENT && errno != ENOTDIR)
            return errno;
        if (!slash || slash == path) // below the root, or the current folder
            strcpy(path, slash ? "/" : ".");
        else
            *slash = 0;
    }
    if (!S_ISDIR(status.st_mode))
        return ENOTDIR;
    return access(path, W_OK | X_OK) == 0 ? 0 : errno;
}

bool husk__free_bytes(const char *path, uint64_t *bytes)
{
    struct statvfs system;
    if (statvfs(path, &system) != 0 || system.f_blocks == 0) // some that are none on a disk know of no blocks
        return false;
    const uint64_t blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
    const uint64_t size = system.f_frsize ? system.f_frsize : system.f_bsize;
    *bytes = blocks > UINT64_MAX / size ? UINT64_MAX : blocks * size;
    if (system.f_files > 0 && (geteuid() == 0 ? system.f_ffree : system.f_favail) == 0)
        *bytes = 0; // no file more
    return true;
}
