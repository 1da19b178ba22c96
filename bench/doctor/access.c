// SPDX-License-Identifier: MIT
// Whose rights count, and whose Husk's own folders are.
#define _DEFAULT_SOURCE // setgroups
#include "doctor/access.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define PROBE_BYTES ((size_t)1 << 20) // a program's binary may take so much

void bench_doctor_take_user(bench_doctor *d)
{
    const char *claimed = getenv("HUSK_DOCTOR_USER");
    char *end = NULL;
    d->user = geteuid();
    if (!claimed) {
        const int count = getgroups(BENCH_DOCTOR_GROUPS - 1, d->groups);
        d->group_count = count > 0 ? (size_t)count : 0;
        d->groups[d->group_count++] = getegid();
        return;
    }
    d->user = (uid_t)strtoul(claimed, &end, 10);
    while ((*end == ':' || *end == ',') && d->group_count < BENCH_DOCTOR_GROUPS)
        d->groups[d->group_count++] = (gid_t)strtoul(end + 1, &end, 10);
}

bool bench_doctor_is_in_group(const bench_doctor *d, gid_t group)
{
    for (size_t i = 0; i < d->group_count; i++) {
        if (d->groups[i] == group)
            return true;
    }
    return false;
}

bool bench_doctor_become_user(void)
{
    bench_doctor d = {.root = ""};
    if (!getenv("HUSK_DOCTOR_USER"))
        return true;
    bench_doctor_take_user(&d);
    const gid_t group = d.group_count ? d.groups[0] : getegid();
    return setgroups(d.group_count, d.groups) == 0 && setgid(group) == 0 && setuid(d.user) == 0;
}

// ---- Husk's folders ----

// "$VARIABLE/husk" or "$HOME/.../husk"; false where neither is set.
static bool folder_path(const char *variable, const char *below_home, char path[BENCH_DOCTOR_PATH])
{
    const char *base = getenv(variable), *home = getenv("HOME");
    if (base && base[0] == '/')
        snprintf(path, BENCH_DOCTOR_PATH, "%.900s/husk", base);
    else if (home && *home)
        snprintf(path, BENCH_DOCTOR_PATH, "%.900s/%s/husk", home, below_home);
    else
        return false;
    return true;
}

// Writes and removes a file; 0, or what went wrong. A limit of file sizes would end the process by a signal.
static int try_to_write(const char *folder)
{
    char path[BENCH_DOCTOR_PATH + 32];
    snprintf(path, sizeof path, "%s/.doctor-XXXXXX", folder);
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    const int file = mkstemp(path);
    int error = file < 0 ? errno : 0;
    char *bytes = file >= 0 ? calloc(1, PROBE_BYTES) : NULL;
    for (size_t done = 0; bytes && !error && done < PROBE_BYTES;) {
        const ssize_t wrote = write(file, bytes + done, PROBE_BYTES - done);
        error = wrote < 0 ? errno : wrote == 0 ? ENOSPC : 0;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    if (file >= 0 && !error && fsync(file) != 0)
        error = errno;
    free(bytes);
    if (file >= 0) {
        close(file);
        unlink(path);
    }
    signal(SIGXFSZ, before);
    return error;
}

// The nearest folder above that is there.
static void nearest_above(char path[BENCH_DOCTOR_PATH])
{
    struct stat status;
    while (lstat(path, &status) != 0) {
        char *slash = strrchr(path, '/');
        if (!slash || slash == path) {
            strcpy(path, "/");
            return;
        }
        *slash = '\0';
    }
}

static void folder_is_bad(bench_doctor *d, const char *what, const char *path, const char *why, const char *todo)
{
    bench_doctor_advise(
        bench_doctor_find(d, BENCH_FINDING_PROBLEM, "folder_unusable", "%s cannot be kept: %.500s %s", what, path, why),
        "%s '%.500s'", todo, path);
}

void bench_doctor_folder(bench_doctor *d, const char *variable, const char *below_home, const char *what,
                         bool must_be_private)
{
    char path[BENCH_DOCTOR_PATH], above[BENCH_DOCTOR_PATH];
    struct stat status;
    if (!folder_path(variable, below_home, path)) {
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "folder_unusable",
                                              "%s cannot be kept: neither HOME nor %s is set", what, variable),
                            "set HOME");
        return;
    }
    const bool is_there = (must_be_private ? lstat : stat)(path, &status) == 0;
    if (is_there && S_ISLNK(status.st_mode))
        folder_is_bad(d, what, path, "is a link, which Husk does not follow", "put a folder in its place: rm");
    else if (is_there && !S_ISDIR(status.st_mode))
        folder_is_bad(d, what, path, "is no folder", "put a folder in its place: rm");
    else if (is_there && status.st_uid != d->user)
        folder_is_bad(d, what, path, "belongs to another user", "as root, give it to this user: chown -R USER");
    else if (is_there && must_be_private && (status.st_mode & 022))
        folder_is_bad(d, what, path, "may be written by others", "chmod 700");
    else {
        memcpy(above, path, sizeof above);
        nearest_above(above);
        const int error = try_to_write(above);
        if (error == ENOSPC || error == EDQUOT || error == EFBIG)
            folder_is_bad(d, what, path, "takes no file of 1 MiB: the disk, a quota or a limit is full",
                          "make room on the disk of");
        else if (error)
            folder_is_bad(d, what, path, strerror(error), "let this user write to");
        else
            bench_doctor_find(d, BENCH_FINDING_OK, "folder", "%s can be kept in %.500s", what, path);
    }
}
