// SPDX-License-Identifier: MIT
#include "os/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/environment.h"
#include "os/read_file.h"

static bool is_private(const struct stat *status)
{
    return status->st_uid == geteuid() && (status->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool husk__prepare_private_directory(const char *path)
{
    char parent[4096];
    if (!*path || strlen(path) >= sizeof parent)
        return false;
    strcpy(parent, path);
    for (char *at = parent + 1; *at; ++at) {
        if (*at != '/')
            continue;
        *at = 0;
        if (mkdir(parent, 0700) != 0 && errno != EEXIST)
            return false;
        *at = '/';
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return false;
    struct stat status;
    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode) && is_private(&status);
}

char *husk__read_private_file(const char *path, size_t *size)
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0)
        return NULL;
    struct stat status;
    char *bytes = NULL;
    if (fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode) && is_private(&status))
        bytes = husk__read_descriptor(descriptor, size);
    const int why = errno;
    close(descriptor);
    errno = why;
    return bytes;
}

// The variable's folder, else one below the home: base directories of freedesktop.org, version 0.8, where a path that
// is not absolute is as good as none.
static char *user_path(const char *variable, const char *below_home, const char *below)
{
    const char *base = husk__environment(variable), *between = "";
    if (!base || base[0] != '/') {
        base = husk__environment("HOME");
        between = below_home;
    }
    if (!base || base[0] != '/')
        return NULL;
    const size_t size = strlen(base) + strlen(between) + strlen("/husk") + strlen(below) + 1;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s%s/husk%s", base, between, below);
    return path;
}

char *husk__user_folder_path(void)
{
    return user_path("XDG_CACHE_HOME", "/.cache", "");
}

char *husk__user_data_path(const char *below)
{
    char slash[256];
    snprintf(slash, sizeof slash, "/%.250s", below);
    return user_path("XDG_DATA_HOME", "/.local/share", slash);
}

char *husk__user_folder(void)
{
    char *folder = husk__user_folder_path();
    if (folder && !husk__prepare_private_directory(folder)) {
        free(folder);
        folder = NULL;
    }
    return folder;
}
