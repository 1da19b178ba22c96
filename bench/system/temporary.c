// SPDX-License-Identifier: MIT
#include "system/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char prefix[] = "/clbench-files-";

bool bench_temporary_folder(char *path, size_t size, char reason[BENCH_REASON_TEXT])
{
    const char *place = getenv("TMPDIR");
    // It becomes a word of a command.
    const bool is_plain = place && place[0] == '/' && !strpbrk(place, " \t\n\"'\\$`*?[]{}();&|<>#~!");
    const int length = snprintf(path, size, "%s%sXXXXXX", is_plain ? place : "/tmp", prefix);
    if (length < 0 || (size_t)length >= size)
        snprintf(path, size, "/tmp%sXXXXXX", prefix);
    return mkdtemp(path) || bench_explain(reason, BENCH_REASON_TEXT, "%s: %s", path, strerror(errno));
}

static void empty(const char *path, int depth)
{
    DIR *folder = opendir(path);
    if (!folder)
        return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        char below[1024];
        struct stat status;
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
            continue;
        const int length = snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        if (length < 0 || (size_t)length >= sizeof below || lstat(below, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && depth > 0)
            empty(below, depth - 1);
        if (S_ISDIR(status.st_mode))
            rmdir(below);
        else
            unlink(below);
    }
    closedir(folder);
}

void bench_temporary_remove(const char *path)
{
    if (!strstr(path, prefix))
        return;
    empty(path, 16);
    rmdir(path);
}
