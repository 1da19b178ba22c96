// SPDX-License-Identifier: MIT
// The drivers (ICDs) that are registered: each is loaded and listed in a process of its own, since the loader skips
// what it cannot load without a word, and one that crashes or hangs takes every program with it.
#include "doctor/icd.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/json.h"
#include "doctor/vendors.h"
#include "system/interrupt.h"
#include "system/process.h"
#include "system/terminal.h"

// ---- which there are ----

// What the user does to be without a driver: the file is theirs, or a variable names the library.
static void format_removal(const json_t *icd, char text[BENCH_DOCTOR_PATH])
{
    const char *variable = bench_text_of(icd, "variable"), *library = bench_text_of(icd, "library");
    if (!strcmp(variable, "OCL_ICD_FILENAMES"))
        snprintf(text, BENCH_DOCTOR_PATH, "take %.500s out of OCL_ICD_FILENAMES", library);
    else if (variable[0])
        snprintf(text, BENCH_DOCTOR_PATH, "unset %.60s", variable);
    else
        snprintf(text, BENCH_DOCTOR_PATH, "remove %.500s", bench_text_of(icd, "file"));
}

static void note_twice(bench_doctor *d, const json_t *added)
{
    const char *file = bench_text_of(added, "file"), *library = bench_text_of(added, "library");
    char removal[BENCH_DOCTOR_PATH];
    size_t i;
    json_t *icd;
    format_removal(added, removal);
    json_array_foreach(d->icds, i, icd)
    {
        if (strcmp(bench_text_of(icd, "library"), library) != 0)
            continue;
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_NOTE, "icd_twice",
                              "%.300s and %.300s name the same library (%.200s): its devices may be there twice",
                              bench_text_of(icd, "file"), file, library),
            "%s", removal);
        return;
    }
}

// variable: the one that names the library itself; NULL: a file does.
static void add_icd(bench_doctor *d, const char *file, const char *variable, const char *library)
{
    char named[600];
    snprintf(named, sizeof named, variable ? "%.40s (%.500s)" : "%.500s", variable ? variable : file, library);
    bench_clean_line(named);
    json_t *icd =
        json_pack("{s:s, s:s, s:s?, s:s}", "file", named, "library", library, "variable", variable, "state", "unknown");
    if (icd) {
        note_twice(d, icd);
        json_array_append_new(d->icds, icd);
        return;
    }
    bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "icd_is_none",
                                          "%s: the library's name is no UTF-8, so that it was not examined", named),
                        "install its driver's package again");
}

// The first line of an .icd file is a library.
static void add_icd_file(bench_doctor *d, const char *path)
{
    char line[512] = "";
    FILE *file = fopen(path, "r");
    if (!file) {
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "icd_unreadable", "%.500s cannot be read", path),
            "chmod a+r %.500s", path);
        return;
    }
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    line[strcspn(line, " \t\r\n")] = '\0';
    if (line[0])
        add_icd(d, path, NULL, line);
    else
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "icd_empty", "%.500s names no library", path),
                            "install its driver's package again, or remove the file");
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void add_folder(bench_doctor *d, const char *folder)
{
    char *names[64];
    size_t count = 0;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory)) && count < 64;) {
        const size_t length = strlen(entry->d_name);
        if (length > 4 && !strcmp(entry->d_name + length - 4, ".icd") &&
            (names[count] = bench_copy_text(entry->d_name)))
            count++;
    }
    if (directory)
        closedir(directory);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++) {
        char path[BENCH_DOCTOR_PATH];
        snprintf(path, sizeof path, "%.500s/%.255s", folder, names[i]);
        add_icd_file(d, path);
        free(names[i]);
    }
}

// A folder, one .icd file, or a library: what OCL_ICD_VENDORS may name.
static void collect(bench_doctor *d)
{
    struct stat status;
    const char *vendors = d->vendors;
    const size_t length = strlen(vendors);
    const char *ending = length > 4 ? vendors + length - 4 : "";
    if (stat(vendors, &status) == 0 && S_ISDIR(status.st_mode))
        add_folder(d, vendors);
    else if (!strcmp(ending, ".icd"))
        add_icd_file(d, vendors);
    else if (strstr(vendors, ".so"))
        add_icd(d, NULL, "OCL_ICD_VENDORS", vendors);
    const char *names = getenv("OCL_ICD_FILENAMES");
    char *copy = names ? bench_copy_text(names) : NULL, *position = NULL;
    for (char *name = copy ? strtok_r(copy, ":", &position) : NULL; name; name = strtok_r(NULL, ":", &position))
        add_icd(d, NULL, "OCL_ICD_FILENAMES", name);
    free(copy);
    if (json_array_size(d->icds) == 0)
        bench_doctor_advise(
            bench_doctor_find(d, BENCH_FINDING_PROBLEM, "no_icd",
                              "no OpenCL driver is registered: %.300s has no .icd file", vendors),
            "for the CPU: apt-get install pocl-opencl-icd (Debian, Ubuntu), dnf install pocl (Fedora), pacman -S pocl "
            "(Arch); for a GPU: its vendor's OpenCL driver");
}

// ---- each by itself ----

// dlopen's words name a library first: the driver's own, or one that it needs.
static void explain_loading(bench_doctor *d, const json_t *icd, const char *words)
{
    const char *file = bench_text_of(icd, "file"), *library = bench_text_of(icd, "library");
    const char *packages = bench_doctor_packages(library);
    char removal[BENCH_DOCTOR_PATH];
    format_removal(icd, removal);
    const bool is_missing = strstr(words, "cannot open shared object file") != NULL;
    const bool is_itself = !strncmp(words, library, strlen(library));
    json_t *finding = bench_doctor_find(
        d, BENCH_FINDING_PROBLEM, "icd_not_loaded",
        "%.600s: its library does not load, and the loader skips it without a word: %.500s", file, words);
    if (is_missing && is_itself && packages[0])
        bench_doctor_advise(finding, "install the package that has it: %s; or, where the driver is gone, %s", packages,
                            removal);
    else if (is_missing && is_itself)
        bench_doctor_advise(finding, "install the driver again, or, where it is gone, %s", removal);
    else if (is_missing)
        bench_doctor_advise(finding, "install the package that has %.*s, which the driver needs",
                            (int)strcspn(words, ":"), words);
    else
        bench_doctor_advise(finding, "install the driver again: it does not fit this system");
}

static void explain_nothing(bench_doctor *d, const char *file, const char *library)
{
    json_t *finding = bench_doctor_find(d, BENCH_FINDING_NOTE, "icd_without_device",
                                        "%.300s: %.200s loads, and has no device", file, library);
    if (strstr(library, "RusticlOpenCL") && !getenv("RUSTICL_ENABLE"))
        bench_doctor_advise(
            finding, "Mesa shows only what RUSTICL_ENABLE names: RUSTICL_ENABLE=radeonsi (AMD), iris (Intel), nouveau "
                     "(NVIDIA) or llvmpipe (CPU)");
    else if (strstr(library, "libpocl")) // it computes on the CPU, which is always there
        bench_doctor_advise(
            finding,
            "let POCL_CACHE_DIR, or HOME, name a folder that this user may write to; POCL_DEVICES, where it is "
            "set, has to name a device that PoCL has");
    else
        bench_doctor_advise(finding, "remove the package where its hardware is not here");
}

// What the list says: platforms, and how many devices they have together.
static void explain_list(bench_doctor *d, json_t *icd, const json_t *platforms)
{
    char names[600] = "";
    json_int_t devices = 0;
    size_t i;
    const json_t *platform;
    const char *file = bench_text_of(icd, "file"), *library = bench_text_of(icd, "library");
    json_array_foreach(platforms, i, platform)
    {
        devices += json_integer_value(json_object_get(platform, "devices"));
        bench_append(names, sizeof names, "%s%.200s", i ? ", " : "", bench_text_of(platform, "name"));
    }
    json_object_set_new(icd, "state", json_string(devices ? "ok" : "empty"));
    json_object_set_new(icd, "platforms", json_deep_copy(platforms));
    if (devices)
        bench_doctor_find(d, BENCH_FINDING_OK, "icd", "%.300s: %s, %lld device%s", file, names, (long long)devices,
                          devices == 1 ? "" : "s");
    else
        explain_nothing(d, file, library);
}

static void explain_failure(bench_doctor *d, json_t *icd, bench_reply status, const char *reason)
{
    const char *file = bench_text_of(icd, "file");
    const bool hangs = status == BENCH_REPLY_TIMEOUT;
    json_object_set_new(icd, "state", json_string(hangs ? "hangs" : "crashes"));
    json_t *finding =
        bench_doctor_find(d, BENCH_FINDING_PROBLEM, hangs ? "icd_hangs" : "icd_crashes",
                          "%.600s: %.600s; every OpenCL program on this machine meets that", file, reason);
    char removal[BENCH_DOCTOR_PATH], off[600], words[2][600];
    format_removal(icd, removal);
    if (!bench_text_of(icd, "variable")[0]) {
        snprintf(off, sizeof off, "%.500s.off", file);
        bench_shell_word(file, words[0], sizeof words[0]);
        bench_shell_word(off, words[1], sizeof words[1]);
        snprintf(removal, sizeof removal, "mv %.500s %.500s", words[0], words[1]);
    }
    bench_doctor_advise(finding, "update or reinstall its driver; until then keep it out of the way: %s", removal);
}

static void examine(bench_doctor *d, json_t *icd)
{
    char reason[BENCH_REASON_TEXT] = "", removal[BENCH_DOCTOR_PATH], who[] = "the driver";
    json_t *reply = NULL;
    bench_process process;
    const char *file = bench_text_of(icd, "file"), *library = bench_text_of(icd, "library");
    const char *arguments[] = {"clbench", BENCH_PROBE_ARGUMENT, "icd", library, NULL};
    if (!bench_process_start(&process, arguments, NULL, reason)) {
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_NOTE, "not_examined",
                                              "%.600s could not be examined: %.300s", file, reason),
                            "make room for more processes (ulimit -u, memory), and call the doctor again");
        return;
    }
    memcpy(process.who, who, sizeof who);
    const bench_reply status = bench_process_receive(&process, d->patience, &reply, reason);
    if (bench_interrupted) {
        json_object_set_new(icd, "state", json_string("unknown")); // who waited had enough: it need not hang
    } else if (status != BENCH_REPLY_OK) {
        explain_failure(d, icd, status, reason);
    } else if (!strcmp(bench_text_of(reply, "answer"), "ok")) {
        explain_list(d, icd, json_object_get(reply, "platforms"));
    } else if (!strcmp(bench_text_of(reply, "stage"), "load")) {
        json_object_set_new(icd, "state", json_string("not loaded"));
        explain_loading(d, icd, bench_text_of(reply, "reason"));
    } else {
        json_object_set_new(icd, "state", json_string("no driver"));
        format_removal(icd, removal);
        bench_doctor_advise(bench_doctor_find(d, BENCH_FINDING_PROBLEM, "icd_is_none",
                                              "%.300s: %.200s is no OpenCL driver: %.300s", file, library,
                                              bench_text_of(reply, "reason")),
                            "let the driver's own library be named, or %s", removal);
    }
    json_decref(reply);
    bench_process_stop(&process);
}

void bench_doctor_icds(bench_doctor *d)
{
    size_t i;
    json_t *icd;
    collect(d);
    json_array_foreach(d->icds, i, icd)
    {
        if (bench_interrupted)
            return;
        bench_progress_show("doctor: %s", bench_text_of(icd, "file"));
        examine(d, icd);
    }
}
