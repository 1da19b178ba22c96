// SPDX-License-Identifier: MIT
// Whose files they are: the device files of GPUs, and Husk's own folders.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "doctor.h"

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

static bool is_in_group(const bench_doctor *d, gid_t group)
{
    for (size_t i = 0; i < d->group_count; i++) {
        if (d->groups[i] == group)
            return true;
    }
    return false;
}

// By the file's bits, as the system decides it for files without further lists.
static bool has_rights(const bench_doctor *d, const struct stat *status, unsigned wanted)
{
    const unsigned mode = status->st_mode;
    if (d->user == 0)
        return true;
    if (status->st_uid == d->user)
        return (mode >> 6 & wanted) == wanted;
    return ((is_in_group(d, status->st_gid) ? mode >> 3 : mode) & wanted) == wanted;
}

bool bench_doctor_may_open(const bench_doctor *d, const char *path)
{
    char full[BENCH_DOCTOR_PATH];
    struct stat status;
    bench_doctor_path(d, full, "%s", path);
    if (stat(full, &status) != 0)
        return false;
    // An access list may give what the bits do not: the system's word, where it is about this very process.
    return has_rights(d, &status, 6) || (d->user == geteuid() && access(full, R_OK | W_OK) == 0);
}

static void group_name(gid_t group, char *name, size_t size)
{
    const struct group *entry = getgrgid(group);
    if (entry)
        snprintf(name, size, "%s", entry->gr_name);
    else
        snprintf(name, size, "%ld", (long)group);
}

// One finding for all files that one group would open.
static void tell_closed(bench_doctor *d, const char *path, const struct stat *status)
{
    char name[64];
    group_name(status->st_gid, name, sizeof name);
    json_t *finding = bench_doctor_find(
        d, BENCH_FINDING_PROBLEM, "device_file_closed",
        "%s (mode %o, group %s) is not open to this user (%ld), so that no driver can use it", path,
        (unsigned)status->st_mode & 0777, name, (long)d->user);
    const bool helps = (status->st_mode >> 3 & 6) == 6 && status->st_gid != 0;
    if (helps && d->in_container)
        bench_doctor_advise(finding, "start the container with --group-add %s (its number here is %ld)", name,
                            (long)status->st_gid);
    else if (helps)
        bench_doctor_advise(
            finding,
            "join its group (render or video on most systems): usermod -aG %s USER as root, then log in again",
            name);
    else
        bench_doctor_advise(
            finding,
            "give it back to the group render with mode 660: udevadm trigger as root, or chgrp and chmod");
}

static void examine_file(bench_doctor *d, const char *path, size_t *closed)
{
    char full[BENCH_DOCTOR_PATH];
    struct stat status;
    bench_doctor_path(d, full, "%s", path);
    if (stat(full, &status) != 0 || bench_doctor_may_open(d, path))
        return;
    tell_closed(d, path, &status);
    ++*closed;
}

size_t bench_doctor_closed_files(bench_doctor *d)
{
    char folder[BENCH_DOCTOR_PATH];
    size_t closed = 0;
    static const char *const files[] = {"/dev/kfd", "/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia-uvm"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        examine_file(d, files[i], &closed);
    bench_doctor_path(d, folder, "/dev/dri");
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char path[300];
        snprintf(path, sizeof path, "/dev/dri/%.255s", entry->d_name);
        if (!strncmp(entry->d_name, "renderD", 7))
            examine_file(d, path, &closed);
    }
    if (directory)
        closedir(directory);
    return closed;
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

static void folder_is_bad(bench_doctor *d, const char *what, const char *path, const char *why,
                          const char *todo)
{
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "folder_unusable",
                                          "%s cannot be kept: %.500s %s", what, path, why),
                        "%s '%.500s'", todo, path);
}

void bench_doctor_folder(bench_doctor *d, const char *variable, const char *below_home, const char *what,
                         bool must_be_private)
{
    char path[BENCH_DOCTOR_PATH], above[BENCH_DOCTOR_PATH];
    struct stat status;
    if (!folder_path(variable, below_home, path)) {
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "folder_unusable",
                                              "%s cannot be kept: neither HOME nor %s is set", what,
                                              variable),
                            "set HOME");
        return;
    }
    const bool is_there = (must_be_private ? lstat : stat)(path, &status) == 0;
    if (is_there && S_ISLNK(status.st_mode))
        folder_is_bad(d, what, path, "is a link, which Husk does not follow",
                      "put a folder in its place: rm");
    else if (is_there && !S_ISDIR(status.st_mode))
        folder_is_bad(d, what, path, "is no folder", "put a folder in its place: rm");
    else if (is_there && status.st_uid != d->user)
        folder_is_bad(d, what, path, "belongs to another user",
                      "as root, give it to this user: chown -R USER");
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
