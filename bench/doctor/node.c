// SPDX-License-Identifier: MIT
// Device files of GPUs and accelerators: which there are, and whether this user can open them. They are opened, in a
// process of its own, since what a file's bits say is neither all that decides nor proof of a driver behind it.
#include "doctor/node.h"

#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "doctor/access.h"
#include "doctor/machine.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "system/terminal.h"

#define MOST_NODES 128

// ---- which there are ----

// Names that are the beginning and a decimal number, or the beginning alone where numbered is false.
static const struct {
    const char *folder, *name;
    bool numbered;
} kinds[] = {
    {"/dev/dri", "renderD", true}, {"/dev", "nvidia", true}, {"/dev", "nvidiactl", false},
    {"/dev", "nvidia-uvm", false}, {"/dev", "kfd", false},   {"/dev", "dxg", false},
    {"/dev/accel", "accel", true},
};

static bool is_number(const char *text)
{
    return *text && strspn(text, "0123456789") == strlen(text);
}

static bool is_accelerator(const char *path)
{
    return !strncmp(path, "/dev/accel/", 11);
}

static int by_number(const void *a, const void *b)
{
    const unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

// Of a link to nothing, the link's.
static void take_status(const bench_doctor *d, const char *path, struct stat *status)
{
    char full[BENCH_DOCTOR_PATH];
    bench_doctor_path(d, full, "%s", path);
    if (stat(full, status) != 0 && lstat(full, status) != 0)
        memset(status, 0, sizeof *status);
}

static void add_node(bench_doctor *d, const char *path)
{
    char mode[16], owner[32];
    struct stat status;
    take_status(d, path, &status);
    snprintf(mode, sizeof mode, "%o", (unsigned)status.st_mode & 0777);
    snprintf(owner, sizeof owner, "%ld:%ld", (long)status.st_uid, (long)status.st_gid);
    json_array_append_new(d->nodes,
                          json_pack("{s:s, s:s, s:s, s:i}", "path", path, "mode", mode, "owner", owner, "error", 0));
}

static void add_numbered(bench_doctor *d, const char *folder, const char *name)
{
    char path[BENCH_DOCTOR_PATH];
    unsigned numbers[MOST_NODES];
    size_t count = 0;
    bench_doctor_path(d, path, "%s", folder);
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < MOST_NODES;) {
        if (!strncmp(entry->d_name, name, strlen(name)) && is_number(entry->d_name + strlen(name)))
            numbers[count++] = (unsigned)strtoul(entry->d_name + strlen(name), NULL, 10);
    }
    if (directory)
        closedir(directory);
    qsort(numbers, count, sizeof *numbers, by_number);
    for (size_t i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s%u", folder, name, numbers[i]);
        add_node(d, path);
    }
}

static void find_nodes(bench_doctor *d)
{
    char path[BENCH_DOCTOR_PATH];
    struct stat status;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        bench_doctor_path(d, path, "%s/%s", kinds[i].folder, kinds[i].name);
        if (kinds[i].numbered)
            add_numbered(d, kinds[i].folder, kinds[i].name);
        else if (lstat(path, &status) == 0)
            add_node(d, path + strlen(d->root));
    }
}

// ---- whether they open ----

// By the file's bits, as the system decides it for files without further lists.
static bool has_rights(const bench_doctor *d, const struct stat *status)
{
    const unsigned mode = status->st_mode;
    if (d->user == 0)
        return true;
    if (status->st_uid == d->user)
        return (mode >> 6 & 6) == 6;
    return ((bench_doctor_is_in_group(d, status->st_gid) ? mode >> 3 : mode) & 6) == 6;
}

// What open() says: 0, or errno; ETIMEDOUT where it does not come back.
static int try_node(const bench_doctor *d, const char *path)
{
    char full[BENCH_DOCTOR_PATH], reason[BENCH_REASON_TEXT];
    struct stat status;
    json_t *reply = NULL;
    bench_process process;
    bench_doctor_path(d, full, "%s", path);
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "open", full, NULL};
    bench_reply answer = BENCH_REPLY_DIED;
    if (bench_process_start(&process, arguments, NULL, reason)) {
        answer = bench_process_receive(&process, d->patience, &reply, reason);
        bench_process_stop(&process);
    }
    const json_t *error = json_object_get(reply, "error");
    const int said = (int)json_integer_value(error);
    const bool is_said = json_is_integer(error);
    json_decref(reply);
    if (is_said)
        return said;
    if (answer == BENCH_REPLY_TIMEOUT && !bench_interrupted)
        return ETIMEDOUT;
    // The test's user cannot be become: then what the bits say.
    if (stat(full, &status) != 0)
        return errno;
    return has_rights(d, &status) ? 0 : EACCES;
}

void bench_doctor_nodes(bench_doctor *d)
{
    size_t i;
    json_t *node;
    find_nodes(d);
    json_array_foreach(d->nodes, i, node)
    {
        const char *path = bench_text_of(node, "path");
        if (bench_interrupted)
            return;
        bench_progress_show("doctor: %s", path);
        json_object_set_new(node, "error", json_integer(try_node(d, path)));
    }
}

static int error_of(const json_t *node)
{
    return (int)json_integer_value(json_object_get(node, "error"));
}

bool bench_doctor_has_node(const bench_doctor *d, const char *name, bool numbered)
{
    const size_t length = strlen(name);
    size_t i;
    const json_t *node;
    json_array_foreach(d->nodes, i, node)
    {
        const char *path = bench_text_of(node, "path");
        const bool is_it = !strncmp(path, name, length) && (numbered ? is_number(path + length) : !path[length]);
        const int error = error_of(node);
        if (is_it && error != ENOENT && error != ELOOP) // a link to nothing is none
            return true;
    }
    return false;
}

// ---- what that means ----

// The bits explain it, or they do not: then something else decides.
static void advise_denied(const bench_doctor *d, json_t *finding, const struct stat *status, const char *group)
{
    const bool group_helps = (status->st_mode >> 3 & 6) == 6 && status->st_gid != 0;
    if (has_rights(d, status))
        bench_doctor_advise(finding,
                            "its mode would allow it: look for an access list (getfacl), a mount with nodev, and what "
                            "SELinux or AppArmor say in the system's log");
    else if (group_helps && d->in_container)
        bench_doctor_advise(finding, "start the container with --group-add %ld (the group %s here)",
                            (long)status->st_gid, group);
    else if (group_helps)
        bench_doctor_advise(finding, "join the group %s: usermod -aG %s USER as root, then log in again", group, group);
    else
        bench_doctor_advise(finding,
                            "no group would help: give it to the group render with mode 660, by udevadm trigger as "
                            "root, or by chgrp and chmod");
}

static void advise_refused(const bench_doctor *d, json_t *finding, const char *paths)
{
    if (d->in_container)
        bench_doctor_advise(finding,
                            "start the container with --device %.*s (NVIDIA: --gpus all); one that could open it "
                            "before has to be started again",
                            (int)strcspn(paths, ","), paths);
    else
        bench_doctor_advise(finding, "let the service's unit have DeviceAllow=%.*s rw, or the container --device",
                            (int)strcspn(paths, ","), paths);
}

static void advise_unbound(json_t *finding, const char *paths)
{
    const char *module = strstr(paths, "/nvidia-uvm") ? "nvidia-uvm"
                         : strstr(paths, "/nvidia")   ? "nvidia"
                         : strstr(paths, "/kfd")      ? "amdgpu"
                         : is_accelerator(paths)      ? "the accelerator's driver"
                                                      : "the card's driver (amdgpu, i915, xe or nouveau)";
    bench_doctor_advise(finding,
                        "load %s by modprobe, and see in dmesg whether it takes the card; the file of a card that is "
                        "gone may be removed",
                        module);
}

// What errno means for a device file, and what is to be done where that is the same for all.
static const struct {
    int error;
    const char *means, *todo;
} meanings[] = {
    {EACCES, "permission denied (EACCES)", NULL},
    {EPERM, "refused whatever its mode (EPERM), as the control group of a container's devices does", NULL},
    {ENXIO, "no kernel driver is bound behind it (ENXIO)", NULL},
    {ENODEV, "no kernel driver is bound behind it (ENODEV)", NULL},
    {ENOENT, "it is a link to nothing (ENOENT)",
     "remove it, or run udevadm trigger as root; a container has to be given what it points to"},
    {ELOOP, "it is a link to itself (ELOOP)", "remove it, and run udevadm trigger as root"},
    {EISDIR, "it is a folder (EISDIR), as docker's -v makes one where the device was missing",
     "remove the folder, load the card's driver, and give the device by --device instead of -v"},
    {EBUSY, "another program has it alone (EBUSY)", "end that program: fuser -v names it"},
    {EIO, "the card does not answer its driver (EIO)", "look into dmesg, and restart the machine"},
    {ETIMEDOUT, "its kernel driver does not come back", "look into dmesg, and restart the machine"},
};

void bench_doctor_tell_node(bench_doctor *d, const char *paths, const struct stat *status, int error)
{
    const struct group *entry = getgrgid(status->st_gid);
    const char *means = strerror(error), *todo = "look into dmesg for what its kernel driver says";
    char group[64];
    snprintf(group, sizeof group, "%ld", (long)status->st_gid);
    if (entry)
        snprintf(group, sizeof group, "%s", entry->gr_name);
    for (size_t i = 0; i < sizeof meanings / sizeof *meanings; i++) {
        if (meanings[i].error == error) {
            means = meanings[i].means;
            todo = meanings[i].todo;
        }
    }
    json_t *finding =
        bench_doctor_find(d, is_accelerator(paths) ? BENCH_FINDING_NOTE : BENCH_FINDING_PROBLEM, "device_file_closed",
                          "%s (mode %o, group %s) cannot be opened by this user (%ld): %s", paths,
                          (unsigned)status->st_mode & 0777, group, (long)d->user, means);
    if (todo)
        bench_doctor_advise(finding, "%s", todo);
    else if (error == EACCES)
        advise_denied(d, finding, status, group);
    else if (error == EPERM)
        advise_refused(d, finding, paths);
    else
        advise_unbound(finding, paths);
}

static bool are_alike(const json_t *a, const json_t *b)
{
    const char *path = bench_text_of(a, "path"), *other = bench_text_of(b, "path");
    return error_of(a) == error_of(b) && is_accelerator(path) == is_accelerator(other) &&
           !strcmp(bench_text_of(a, "mode"), bench_text_of(b, "mode")) &&
           !strcmp(bench_text_of(a, "owner"), bench_text_of(b, "owner"));
}

// One finding for all that fail alike, by the first of them.
static void tell_alike(bench_doctor *d, size_t first)
{
    char paths[1024] = "";
    struct stat status;
    const json_t *node = json_array_get(d->nodes, first), *other;
    size_t i;
    json_array_foreach(d->nodes, i, other)
    {
        if (!are_alike(node, other))
            continue;
        if (i < first)
            return; // it is told
        bench_append(paths, sizeof paths, "%s%s", paths[0] ? ", " : "", bench_text_of(other, "path"));
    }
    take_status(d, bench_text_of(node, "path"), &status);
    bench_doctor_tell_node(d, paths, &status, error_of(node));
}

size_t bench_doctor_tell_nodes(bench_doctor *d, bool is_missed)
{
    char open[1024] = "";
    size_t closed = 0, i;
    const json_t *node;
    json_array_foreach(d->nodes, i, node)
    {
        const char *path = bench_text_of(node, "path");
        if (!error_of(node)) {
            bench_append(open, sizeof open, "%s%s", open[0] ? ", " : "", path);
            continue;
        }
        closed += is_missed && !is_accelerator(path);
        // Files that are closed to somebody whose GPUs are all there are no matter.
        if (is_missed || is_accelerator(path))
            tell_alike(d, i);
    }
    if (open[0])
        bench_doctor_find(d, BENCH_FINDING_OK, "device_files", "this user can open %s", open);
    return closed;
}
