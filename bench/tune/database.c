// SPDX-License-Identifier: MIT
#define _XOPEN_SOURCE 700 // realpath
#include "tune/database.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "system/input.h"
#include "system/output.h"
#include "system/terminal.h"

#define SCHEMA "husk-tuning/1"
#define LARGEST_FILE ((size_t)1 << 30)

const char *bench_entry_text(const json_t *entry, const char *key)
{
    const char *text = json_string_value(json_object_get(entry, key));
    return text ? text : "";
}

static bool is_wrong(const json_t *entry)
{
    return !strcmp(bench_entry_text(entry, "state"), "wrong");
}

static bool agree(const json_t *a, const json_t *b, const char *const *keys)
{
    for (; *keys; keys++) {
        if (strcmp(bench_entry_text(a, *keys), bench_entry_text(b, *keys)))
            return false;
    }
    return true;
}

static bool is_same(const json_t *a, const json_t *b)
{
    static const char *const place[] = {"device", "platform", "driver", "family", "op", NULL};
    static const char *const problem[] = {"problem", NULL}, *const variant[] = {"variant", NULL};
    return is_wrong(a) == is_wrong(b) && agree(a, b, place) && agree(a, b, is_wrong(a) ? variant : problem);
}

bool bench_database_is_of(const json_t *entry, const json_t *key)
{
    static const char *const keys[] = {"device", "platform", "driver", "family", NULL};
    return agree(entry, key, keys);
}

// ---- files ----

// Which of the entries is no object; all of them are: their number.
static size_t first_stranger(const json_t *entries)
{
    size_t i = 0;
    while (i < json_array_size(entries) && json_is_object(json_array_get(entries, i)))
        i++;
    return i;
}

// What was loaded as JSON, or why that failed: its entries. Takes over root.
static json_t *take_entries(json_t *root, const json_error_t *error, const char *path, char reason[BENCH_REASON_TEXT])
{
    json_t *entries = json_object_get(root, "entries"), *taken = NULL;
    const size_t stranger = first_stranger(entries);
    if (!root)
        bench_explain(reason, BENCH_REASON_TEXT, "%.400s is no tuning database: line %d: %.200s", path, error->line,
                      error->text);
    else if (strcmp(bench_entry_text(root, "schema"), SCHEMA) || !json_is_array(entries))
        bench_explain(reason, BENCH_REASON_TEXT, "%.400s is no tuning database: its schema is not \"" SCHEMA "\"",
                      path);
    else if (stranger < json_array_size(entries)) // the library does not read them either
        bench_explain(reason, BENCH_REASON_TEXT, "%.400s is no tuning database: entry %zu is no object", path,
                      stranger);
    else
        taken = json_incref(entries);
    json_decref(root);
    return taken;
}

json_t *bench_database_parse(const char *text, size_t size, const char *name, char reason[BENCH_REASON_TEXT])
{
    json_error_t error;
    const char *begin = bench_input_text(text, size);
    return take_entries(json_loadb(begin, size - (size_t)(begin - text), 0, &error), &error, name, reason);
}

json_t *bench_database_read(const char *path, char reason[BENCH_REASON_TEXT])
{
    size_t size = 0;
    char *text = bench_input_read(path, LARGEST_FILE, &size, reason);
    json_t *entries = text ? bench_database_parse(text, size, path, reason) : NULL;
    free(text);
    return entries;
}

bool bench_database_check(const char *path, bool is_own, char reason[BENCH_REASON_TEXT])
{
    struct stat about;
    if (bench_output_is_stream(path) || (stat(path, &about) == 0 && !S_ISREG(about.st_mode)))
        return bench_explain(reason, BENCH_REASON_TEXT, "%.400s is no plain file, and cannot be a tuning database",
                             path);
    if (is_own && lstat(path, &about) == 0 && S_ISLNK(about.st_mode))
        return bench_explain(reason, BENCH_REASON_TEXT,
                             "%.400s is a link, which the library does not read there: put the file in its place, or "
                             "let HUSK_TUNING name it",
                             path);
    return true;
}

void bench_database_open(bench_database *database, const char *path, char reason[BENCH_REASON_TEXT])
{
    snprintf(database->path, sizeof database->path, "%s", path);
    database->is_own = false;
    reason[0] = '\0';
    database->entries = access(path, F_OK) == 0 ? bench_database_read(path, reason) : NULL;
    if (!database->entries)
        database->entries = json_array();
}

void bench_database_close(bench_database *database)
{
    json_decref(database->entries);
    database->entries = NULL;
}

bool bench_database_print(FILE *file, const json_t *entries)
{
    bool good = fputs("{\"schema\": \"" SCHEMA "\",\n \"entries\": [", file) >= 0;
    for (size_t i = 0; good && i < json_array_size(entries); i++) {
        good = fputs(i ? ",\n  " : "\n  ", file) >= 0 &&
               json_dumpf(json_array_get(entries, i), file, JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) == 0;
    }
    return good && fputs("\n ]}\n", file) >= 0;
}

static void make_folders(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = folder + 1; *at; at++) {
        if (*at != '/')
            continue;
        *at = '\0';
        mkdir(folder, 0700); // it is there already, or opening the file will fail
        *at = '/';
    }
}

static bool not_written(const char *path, int why, char reason[BENCH_REASON_TEXT])
{
    return bench_explain(reason, BENCH_REASON_TEXT, "%.400s could not be written: %s", path, strerror(why));
}

// What others may write to is not read in the user's own folder, whatever the mask is.
static void make_private(FILE *file, const struct stat *before)
{
    fchmod(fileno(file), before ? before->st_mode & 0777 & ~(mode_t)(S_IWGRP | S_IWOTH) : S_IRUSR | S_IWUSR);
}

static bool write_file(const char *path, const json_t *entries, bool is_own, char reason[BENCH_REASON_TEXT])
{
    bench_writing writing;
    struct stat about;
    if (!bench_output_is_stream(path))
        make_folders(path);
    const bool is_there = stat(path, &about) == 0;
    FILE *file = bench_output_begin(&writing, path);
    if (!file)
        return not_written(path, errno, reason);
    if (is_own)
        make_private(file, is_there ? &about : NULL);
    if (!bench_database_print(file, entries)) {
        const int why = errno;
        bench_output_drop(&writing);
        return not_written(path, why, reason);
    }
    return bench_output_end(&writing) || not_written(path, errno, reason);
}

bool bench_database_write(const char *path, const json_t *entries, char reason[BENCH_REASON_TEXT])
{
    if (strcmp(path, "-"))
        return write_file(path, entries, false, reason);
    return (bench_database_print(stdout, entries) && fflush(stdout) == 0) || not_written("stdout", errno, reason);
}

// ---- entries ----

static size_t find(const json_t *entries, const json_t *entry)
{
    size_t i = 0;
    while (i < json_array_size(entries) && !is_same(json_array_get(entries, i), entry))
        i++;
    return i;
}

void bench_database_put(json_t *entries, json_t *entry)
{
    size_t at = find(entries, entry);
    if (at < json_array_size(entries))
        json_array_set_new(entries, at, entry);
    else
        json_array_append_new(entries, entry);
}

static double gain(const json_t *entry)
{
    double ns = json_number_value(json_object_get(entry, "median_ns"));
    return ns > 0 ? json_number_value(json_object_get(entry, "predicted_ns")) / ns : 0;
}

static bool is_better(const json_t *entry, const json_t *than)
{
    // "2026-11-21T14:00:00Z": the order of the texts is that of time.
    int later = strcmp(bench_entry_text(entry, "measured"), bench_entry_text(than, "measured"));
    return later > 0 || (later == 0 && gain(entry) > gain(than));
}

size_t bench_database_merge(json_t *entries, const json_t *more)
{
    size_t taken = 0;
    for (size_t i = 0; i < json_array_size(more); i++) {
        json_t *entry = json_array_get(more, i);
        if (!*bench_entry_text(entry, "op") || !*bench_entry_text(entry, "problem"))
            continue;
        size_t at = find(entries, entry);
        if (at < json_array_size(entries) && !is_better(entry, json_array_get(entries, at)))
            continue;
        bench_database_put(entries, json_deep_copy(entry));
        taken++;
    }
    return taken;
}

// Of the folder that the file is in, as long as it is open: the file itself is replaced. Negative: it cannot be had.
static int lock_folder(const char *path)
{
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    make_folders(path);
    const int descriptor = open(slash ? folder : ".", O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0)
        flock(descriptor, LOCK_EX);
    return descriptor;
}

// A file that cannot be read may be mended by hand: it gets a second name, that nothing else has, before the first one
// becomes another's. Where a file has one name alone, as on a memory stick, it loses that.
static bool keep_aside(const char *path, char reason[BENCH_REASON_TEXT])
{
    char aside[4200];
    int number = 1;
    do {
        snprintf(aside, sizeof aside, "%s.refused%.0d", path, number > 1 ? number : 0);
        number++;
    } while (access(aside, F_OK) == 0);
    if (link(path, aside) == 0 || rename(path, aside) == 0) {
        bench_say("%s: what was there is kept as %s", path, aside);
        return true;
    }
    bench_explain(reason, BENCH_REASON_TEXT, "%.400s is no tuning database, and cannot be kept aside: %s", path,
                  strerror(errno));
    return false;
}

// Another process may have written meanwhile: what it found stays.
static bool save_at(const bench_database *database, const char *place, char reason[BENCH_REASON_TEXT])
{
    char ignored[BENCH_REASON_TEXT];
    const int lock = lock_folder(place);
    const bool is_there = access(place, F_OK) == 0;
    json_t *there = is_there ? bench_database_read(place, ignored) : NULL;
    bench_database_merge(database->entries, there);
    json_decref(there);
    const bool good = (!is_there || there || keep_aside(place, reason)) &&
                      write_file(place, database->entries, database->is_own, reason);
    if (lock >= 0)
        close(lock);
    return good;
}

// Whatever it is called by, a file is locked, kept aside and replaced where it is.
bool bench_database_save(bench_database *database, char reason[BENCH_REASON_TEXT])
{
    if (!bench_database_check(database->path, database->is_own, reason))
        return false;
    char *place = realpath(database->path, NULL); // NULL: there is none
    const bool good = save_at(database, place ? place : database->path, reason);
    free(place);
    return good;
}

static bool has_tuned(const json_t *entries, const json_t *like)
{
    static const char *const keys[] = {"device", "platform", "driver", "family", "op", "kernels", "class", NULL};
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *entry = json_array_get(entries, i);
        if (!strcmp(bench_entry_text(entry, "state"), "tuned") && agree(entry, like, keys))
            return true;
    }
    return false;
}

json_t *bench_database_essence(const json_t *entries, const json_t *key)
{
    json_t *essence = json_array();
    for (size_t i = 0; i < json_array_size(entries); i++) {
        json_t *entry = json_array_get(entries, i);
        if (bench_database_is_of(entry, key) && (is_wrong(entry) || has_tuned(entries, entry)))
            json_array_append(essence, entry);
    }
    return essence;
}

bool bench_database_path(const char *device_path, const char *preference, char *path, size_t size)
{
    struct stat about;
    const char *name = strrchr(device_path, '/');
    bool is_place = preference && *preference && strcmp(preference, "0");
    if (is_place && stat(preference, &about) == 0 && S_ISDIR(about.st_mode))
        snprintf(path, size, "%s%s", preference, name ? name : "/device.json");
    else
        snprintf(path, size, "%s", is_place ? preference : device_path);
    return !is_place;
}
