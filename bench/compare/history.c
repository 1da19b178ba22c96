// SPDX-License-Identifier: MIT
#include "compare/history.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "common/text.h"
#include "compare/devices.h"
#include "system/output.h"
#include "record/result_file.h"

bool bench_history_folder(char folder[BENCH_PATH_TEXT], char reason[BENCH_REASON_TEXT])
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int length = 0;
    if (data && data[0] == '/') // others are to be ignored: XDG base directory specification
        length = snprintf(folder, BENCH_PATH_TEXT, "%s/husk/history", data);
    else if (home && home[0] == '/')
        length = snprintf(folder, BENCH_PATH_TEXT, "%s/.local/share/husk/history", home);
    else
        return bench_explain(reason, BENCH_REASON_TEXT, "neither XDG_DATA_HOME nor HOME is set");
    return length < BENCH_PATH_TEXT - 128 ||
           bench_explain(reason, BENCH_REASON_TEXT, "the data folder's name is too long");
}

static bool make_folders(char *folder, char reason[BENCH_REASON_TEXT])
{
    for (char *at = folder + 1;; at++) {
        const char kept = *at;
        if (kept != '/' && kept)
            continue;
        *at = '\0';
        const bool good = mkdir(folder, 0755) == 0 || errno == EEXIST;
        const int error = errno;
        if (!good)
            bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", folder, strerror(error));
        *at = kept;
        if (!good || !kept)
            return good;
    }
}

static bool write_document(const json_t *document, FILE *file)
{
    bool good = json_dumpf(document, file, JSON_INDENT(1) | JSON_REAL_PRECISION(10)) == 0 && fputc('\n', file) != EOF;
    const bool fits = bench_result_fits(file);
    good = bench_output_sync(file) && good && fits && fchmod(fileno(file), 0644) == 0;
    const int error = fits ? errno : EFBIG;
    good = fclose(file) == 0 && good;
    errno = error;
    return good;
}

// Whether what is kept there is the beginning of this run, and not another's of the same second.
static bool is_of_this_run(const json_t *document, const char *path)
{
    json_t *kept = json_load_file(path, 0, NULL);
    const json_t *asked = json_object_get(kept, "run"), *own = json_object_get(document, "run");
    const bool is = (asked == own || json_equal(asked, own)) &&
                    !strcmp(bench_text_of(kept, "started"), bench_text_of(document, "started"));
    json_decref(kept);
    return is;
}

// Under the first name that is free; where the run is one that went on, under its own.
static bool give_name(const json_t *document, const char *folder, const char *temporary)
{
    char path[BENCH_PATH_TEXT + 64], name[32];
    const bool replaces = json_array_size(json_object_get(document, "resumed")) > 0;
    snprintf(name, sizeof name, "%.20s", bench_text_of(document, "started"));
    for (char *at = name; *at; at++) // "2026-11-22T02:23:00Z": a colon is no letter of a file's name everywhere
        *at = *at == ':' || *at == '/' ? '-' : *at;
    for (int i = 1; i < 1000; i++) {
        char number[16] = "";
        if (i > 1)
            snprintf(number, sizeof number, "-%d", i);
        snprintf(path, sizeof path, "%s/%s%s.json", folder, name, number);
        if (replaces && access(path, F_OK) == 0 && is_of_this_run(document, path))
            return bench_output_place(temporary, path, true);
        if (bench_output_place(temporary, path, false))
            return true;
        if (errno != EEXIST)
            return false;
    }
    return false;
}

bool bench_history_keep(const json_t *document, char reason[BENCH_REASON_TEXT])
{
    char folder[BENCH_PATH_TEXT], temporary[BENCH_PATH_TEXT + 16];
    if (!bench_history_folder(folder, reason) || !make_folders(folder, reason))
        return false;
    snprintf(temporary, sizeof temporary, "%s/.new-XXXXXX", folder);
    FILE *file = bench_output_temporary(temporary);
    if (!file)
        return bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", folder, strerror(errno));
    if (write_document(document, file) && give_name(document, folder, temporary))
        return true;
    bench_explain(reason, BENCH_REASON_TEXT, "%.300s: %s", folder, strerror(errno));
    unlink(temporary);
    return false;
}

// ---- what is kept ----

// Without their ".json": of one second, "...Z" comes before "...Z-2".
static int compare_names(const void *a, const void *b)
{
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    const size_t x_size = strlen(x) - 5, y_size = strlen(y) - 5;
    const int order = strncmp(x, y, x_size < y_size ? x_size : y_size);
    return order ? order : (x_size > y_size) - (x_size < y_size);
}

static bool is_result(const char *name)
{
    const size_t length = strlen(name);
    return name[0] != '.' && length > 5 && length < 64 && !strcmp(name + length - 5, ".json");
}

char **bench_history_names(size_t *count)
{
    char folder[BENCH_PATH_TEXT], reason[BENCH_REASON_TEXT];
    size_t capacity = 0;
    char (*texts)[64] = NULL;
    *count = 0;
    DIR *directory = bench_history_folder(folder, reason) ? opendir(folder) : NULL;
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        if (!is_result(entry->d_name))
            continue;
        if (*count == capacity) {
            void *larger = realloc(texts, (capacity = 2 * capacity + 64) * sizeof *texts);
            if (!larger)
                break;
            texts = larger;
        }
        snprintf(texts[(*count)++], sizeof *texts, "%.63s", entry->d_name);
    }
    if (directory)
        closedir(directory);
    // The texts behind the list of them, so that one free is enough.
    char **names = *count ? malloc(*count * (sizeof *names + sizeof *texts)) : NULL;
    if (names) {
        char (*copies)[64] = (void *)(names + *count);
        memcpy(copies, texts, *count * sizeof *texts);
        for (size_t i = 0; i < *count; i++)
            names[i] = copies[i];
        qsort(names, *count, sizeof *names, compare_names);
    } else {
        *count = 0;
    }
    free(texts);
    return names;
}

// ---- words for them ----

static bool parse_age(const char *word, int64_t *age)
{
    *age = 0;
    if (!strcmp(word, "last"))
        return true;
    return !strncmp(word, "last~", 5) && bench_parse_integer(word + 5, age) && *age >= 0;
}

bool bench_history_is_last(const char *word)
{
    int64_t age;
    return parse_age(word, &age) && access(word, F_OK) != 0;
}

static bool has_case(const json_t *document, const char *name)
{
    const json_t *rows = json_object_get(document, "results");
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (!strcmp(bench_text_of(json_array_get(rows, i), "case"), name))
            return true;
    return false;
}

static bool is_comparable(const json_t *like, const json_t *other)
{
    static const char *const keys[] = {"platform", "name", "driver"};
    const json_t *a = bench_device_of(like, 0), *b = bench_device_of(other, 0),
                 *rows = json_object_get(like, "results");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(bench_text_of(a, keys[i]), bench_text_of(b, keys[i])) != 0)
            return false;
    if (!strcmp(bench_text_of(like, "started"), bench_text_of(other, "started")))
        return false;
    for (size_t i = 0; i < json_array_size(rows); i++)
        if (has_case(other, bench_text_of(json_array_get(rows, i), "case")))
            return true;
    return false;
}

static bool find_age(int64_t age, const json_t *like, char path[BENCH_PATH_TEXT], char reason[BENCH_REASON_TEXT])
{
    char folder[BENCH_PATH_TEXT], ignored[BENCH_REASON_TEXT];
    size_t count;
    char **names = bench_history_names(&count);
    bool found = false;
    if (!bench_history_folder(folder, reason)) {
        free(names);
        return false;
    }
    for (size_t i = count; i-- > 0 && !found;) {
        snprintf(path, BENCH_PATH_TEXT, "%.4000s/%s", folder, names[i]);
        json_t *document = like ? bench_result_read(path, ignored) : NULL;
        const bool fits =
            !like || (document && strcmp(bench_text_of(document, "started"), bench_text_of(like, "started")) < 0 &&
                      is_comparable(like, document));
        json_decref(document);
        found = fits && age-- == 0;
    }
    free(names);
    if (found)
        return true;
    return bench_explain(reason, BENCH_REASON_TEXT, "the history (%.300s) has no such result%s", folder,
                         like ? " of this device and driver with a case in common" : "");
}

bool bench_history_resolve(const char *word, const json_t *like, char path[BENCH_PATH_TEXT],
                           char reason[BENCH_REASON_TEXT])
{
    int64_t age;
    char why[BENCH_REASON_TEXT];
    snprintf(path, BENCH_PATH_TEXT, "%s", word);
    if (access(word, F_OK) == 0)
        return true;
    if (parse_age(word, &age))
        return find_age(age, like, path, why) || bench_explain(reason, BENCH_REASON_TEXT, "%s: %.900s", word, why);
    char folder[BENCH_PATH_TEXT], kept[BENCH_PATH_TEXT + 80];
    if (strchr(word, '/') || strlen(word) > 63 || !bench_history_folder(folder, why))
        return true;
    const char *const ends[] = {"", ".json"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(kept, sizeof kept, "%s/%s%s", folder, word, ends[i]);
        if (strlen(kept) < BENCH_PATH_TEXT && access(kept, F_OK) == 0) {
            snprintf(path, BENCH_PATH_TEXT, "%.*s", BENCH_PATH_TEXT - 1, kept);
            break;
        }
    }
    return true; // where it is neither, reading it says so
}
