// SPDX-License-Identifier: MIT
// The databases of a context, read when the first plan is chosen.
#include "select/tuning.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/environment.h"
#include "os/folder.h"
#include "os/private.h"
#include "os/read_file.h"
#include "runtime/context.h"
#include "select/tuning_file.h"
#include "select/tuning_key.h"

enum { MAX_FILES = 256, MAX_OPS = 128 };

typedef struct database {
    struct database *next;
    husk__tuning_file file;
    husk_tuning_stats stats; // of its entries
} database;

// An entry for this device or its family. The entries of one database stay in its order, newer databases come first.
typedef struct usable {
    const husk__tuning_entry *entry;
    bool is_family;
} usable;

typedef struct kernels {
    const husk__op *op;
    char hash[33];
} kernels;

struct husk__tuning {
    pthread_mutex_t lock;
    husk_tuning_key device;
    const husk__log *log;
    bool is_off, is_read;
    bool lacks_memory; // for a database that is read by itself
    bool lacks_kernels; // the same for an operator's hash, which what was just asked about needs
    char *path; // HUSK_TUNING's file or folder; NULL: the user's own folder
    database *databases;
    usable *entries;
    size_t count;
    husk_tuning_stats stats;
    kernels kernels[MAX_OPS];
    size_t kernels_count;
};

husk__tuning *husk__tuning_create(const husk_context *context)
{
    husk__tuning *tuning = calloc(1, sizeof *tuning);
    if (!tuning)
        return NULL;
    pthread_mutex_init(&tuning->lock, NULL);
    const bool has_key = husk__tuning_key_device(husk_context_traits(context), &tuning->device);
    tuning->log = husk__context_log(context);
    const char *preference = husk__environment("HUSK_TUNING");
    tuning->is_off = preference && strcmp(preference, "0") == 0;
    tuning->path = preference && !tuning->is_off ? husk__copy_string(preference) : NULL;
    if (has_key && (tuning->path || !preference || tuning->is_off))
        return tuning;
    husk__tuning_destroy(tuning);
    return NULL;
}

// The newest database and its entries, which come first.
static void remove_newest(husk__tuning *tuning)
{
    database *gone = tuning->databases;
    const size_t used = (size_t)(gone->stats.device + gone->stats.family);
    tuning->databases = gone->next;
    tuning->count -= used;
    memmove(tuning->entries, tuning->entries + used, tuning->count * sizeof *tuning->entries);
    tuning->stats.entries -= gone->stats.entries;
    tuning->stats.device -= gone->stats.device;
    tuning->stats.family -= gone->stats.family;
    husk__tuning_file_free(&gone->file);
    free(gone);
}

void husk__tuning_destroy(husk__tuning *tuning)
{
    if (!tuning)
        return;
    while (tuning->databases)
        remove_newest(tuning);
    pthread_mutex_destroy(&tuning->lock);
    free(tuning->entries);
    free(tuning->path);
    free(tuning);
}

// ---- reading ----

static bool is_for_device(const husk__tuning_entry *entry, const husk_tuning_key *device)
{
    return strcmp(entry->device, device->device) == 0 && strcmp(entry->platform, device->platform) == 0 &&
           strcmp(entry->driver, device->driver) == 0;
}

#define TOO_LARGE "is larger than 256 MiB, which no database is"

// The text's entries before all others. What is no database is INVALID_ARGUMENT, and reason says why.
static husk_status add(husk__tuning *tuning, const char *text, size_t size, char reason[HUSK__TUNING_REASON])
{
    husk__tuning_file file;
    if (size > HUSK__MOST_FILE_BYTES) {
        strcpy(reason, TOO_LARGE);
        return HUSK_INVALID_ARGUMENT;
    }
    if (!husk__tuning_file_parse(text, size, &file, reason))
        return file.lacks_memory ? HUSK_OUT_OF_HOST_MEMORY : HUSK_INVALID_ARGUMENT;
    database *fresh = calloc(1, sizeof *fresh);
    usable *entries = malloc((tuning->count + file.count + 1) * sizeof *entries);
    if (!fresh || !entries) {
        strcpy(reason, "no memory for its entries");
        husk__tuning_file_free(&file);
        free(fresh);
        free(entries);
        return HUSK_OUT_OF_HOST_MEMORY;
    }
    *fresh = (database){.next = tuning->databases, .file = file, .stats = {.entries = file.count}};
    tuning->databases = fresh;
    size_t count = 0;
    for (size_t i = 0; i < file.count; ++i) {
        const husk__tuning_entry *entry = &file.entries[i];
        if (strcmp(entry->family, tuning->device.family) != 0)
            continue;
        bool is_family = !is_for_device(entry, &tuning->device);
        entries[count++] = (usable){entry, is_family};
        ++*(is_family ? &fresh->stats.family : &fresh->stats.device);
    }
    if (tuning->count)
        memcpy(entries + count, tuning->entries, tuning->count * sizeof *entries);
    free(tuning->entries);
    tuning->entries = entries;
    tuning->count += count;
    tuning->stats.entries += fresh->stats.entries;
    tuning->stats.device += fresh->stats.device;
    tuning->stats.family += fresh->stats.family;
    return HUSK_OK;
}

static void add_or_log(husk__tuning *tuning, const char *name, const char *text, size_t size)
{
    char reason[HUSK__TUNING_REASON];
    const husk_status status = add(tuning, text, size, reason);
    tuning->lacks_memory |= status == HUSK_OUT_OF_HOST_MEMORY;
    if (status != HUSK_OK)
        husk__log_write(tuning->log, HUSK_LOG_WARNING, "tuning database %s is left out: %s", name, reason);
}

static void add_file(husk__tuning *tuning, const char *path, bool is_private)
{
    size_t size = 0;
    errno = 0;
    char *text = is_private ? husk__read_private_file(path, &size) : husk__read_file(path, &size);
    tuning->lacks_memory |= !text && errno == ENOMEM;
    if (text)
        add_or_log(tuning, path, text, size);
    else if (errno == EFBIG)
        husk__log_write(tuning->log, HUSK_LOG_WARNING, "tuning database %s is left out: it " TOO_LARGE, path);
    else
        husk__log_write(tuning->log, HUSK_LOG_WARNING, "tuning database %s is left out: it cannot be read%s", path,
                        is_private ? ", is a link, or others may write to it" : "");
    free(text);
}

static void add_folder(husk__tuning *tuning, const char *path, bool is_private)
{
    size_t count;
    errno = 0;
    char **names = husk__list_directory(path, ".json", &count);
    tuning->lacks_memory |= !names && errno == ENOMEM;
    if (!names && !is_private) // there need not be one of the user's own
        husk__log_write(tuning->log, HUSK_LOG_WARNING, "tuning databases in %s are left out: it cannot be read", path);
    if (count > MAX_FILES)
        husk__log_write(tuning->log, HUSK_LOG_WARNING, "of the tuning databases in %s the first %d alone are read",
                        path, MAX_FILES);
    // The first comes first, so it is read last.
    for (size_t i = count < MAX_FILES ? count : MAX_FILES; i-- > 0;)
        add_file(tuning, names[i], is_private);
    for (size_t i = 0; i < count; ++i)
        free(names[i]);
    free(names);
}

static void read_own_folder(husk__tuning *tuning)
{
    char *folder = husk__copy_string(tuning->device.path);
    char *end = folder ? strrchr(folder, '/') : NULL;
    tuning->lacks_memory |= !folder;
    if (end) {
        *end = 0;
        add_folder(tuning, folder, true);
    }
    free(folder);
}

// False for want of memory: then nothing is read, and the next call tries again.
static bool read_all(husk__tuning *tuning)
{
    if (tuning->is_read || tuning->is_off)
        return true;
    tuning->lacks_memory = false;
    for (const husk__tuning_default *at = husk__tuning_defaults; at->name; ++at)
        add_or_log(tuning, at->name, at->text, at->size);
    if (!tuning->path)
        read_own_folder(tuning);
    else if (husk__is_directory(tuning->path))
        add_folder(tuning, tuning->path, false);
    else
        add_file(tuning, tuning->path, false);
    while (tuning->lacks_memory && tuning->databases)
        remove_newest(tuning);
    tuning->is_read = !tuning->lacks_memory;
    return tuning->is_read;
}

// ---- looking up ----

// NULL for want of memory; "" where they cannot be read.
static const char *kernels_of(husk__tuning *tuning, const husk__op *op)
{
    for (size_t i = 0; i < tuning->kernels_count; ++i) {
        if (tuning->kernels[i].op == op)
            return tuning->kernels[i].hash;
    }
    if (tuning->kernels_count == MAX_OPS)
        return "";
    kernels *fresh = &tuning->kernels[tuning->kernels_count];
    fresh->op = op;
    if (!husk__tuning_kernels(op, fresh->hash))
        return NULL; // it is asked for again
    ++tuning->kernels_count;
    return fresh->hash;
}

bool husk__tuning_kernels_of(husk__tuning *tuning, const husk__op *op, char hash[33])
{
    pthread_mutex_lock(&tuning->lock);
    const char *known = kernels_of(tuning, op);
    strcpy(hash, known ? known : "");
    pthread_mutex_unlock(&tuning->lock);
    return known != NULL;
}

bool husk__tuning_all_kernels(husk__tuning *tuning, char hash[33])
{
    husk__text all = {0};
    bool good = true;
    for (size_t i = 0; good && husk__ops[i]; ++i) {
        char own[33];
        good = husk__tuning_kernels_of(tuning, husk__ops[i], own);
        husk__text_format(&all, "%s %s\n", husk__ops[i]->name, own);
    }
    good = good && !all.failed;
    hash[0] = 0;
    if (good)
        husk__hash128_text(husk__hash128_of(all.bytes, all.size), hash);
    husk__text_free(&all);
    return good;
}

static bool is_state(const husk__tuning_entry *entry, const char *state)
{
    return strcmp(entry->state, state) == 0;
}

// About the operator as it is now.
static bool is_about(husk__tuning *tuning, const husk__tuning_entry *entry, const husk__op *op)
{
    if (strcmp(entry->op, op->name) != 0)
        return false;
    const char *known = kernels_of(tuning, op);
    tuning->lacks_kernels |= !known;
    return known && strcmp(entry->kernels, known) == 0;
}

typedef struct search {
    husk__tuning *tuning;
    const husk__op *op;
    husk_tuning_key key;
    bool in_family, lacks_memory;
} search;

static const husk__tuning_entry *entry_at(const search *s, size_t index)
{
    const usable *at = &s->tuning->entries[index];
    bool is_wanted =
        at->is_family == s->in_family && !is_state(at->entry, "wrong") && is_about(s->tuning, at->entry, s->op);
    return is_wanted ? at->entry : NULL;
}

static const husk__tuning_entry *find_problem(const search *s)
{
    for (size_t i = 0; i < s->tuning->count; ++i) {
        const husk__tuning_entry *entry = entry_at(s, i);
        if (entry && strcmp(entry->problem, s->key.problem) == 0)
            return entry;
    }
    return NULL;
}

// Problems that were measured, in a table by their hashes with more room than there are entries.
typedef struct problems {
    const char **at;
    size_t mask;
} problems;

static bool problems_begin(problems *known, size_t count)
{
    size_t room = 16;
    while (room < 2 * count)
        room *= 2;
    *known = (problems){calloc(room, sizeof *known->at), room - 1};
    return known->at != NULL;
}

// False: it is there already.
static bool problems_add(problems *known, const char *problem)
{
    size_t at = (size_t)husk__hash64(problem, strlen(problem)) & known->mask;
    while (known->at[at] && strcmp(known->at[at], problem) != 0)
        at = (at + 1) & known->mask;
    const bool is_new = !known->at[at];
    known->at[at] = problem;
    return is_new;
}

// The variant that all of the class agree on, if it was faster than the prediction for any; of several measurements of
// one problem the first counts.
static const char *find_class(search *s)
{
    problems known;
    const char *agreed = NULL;
    bool is_better = false, is_split = false;
    if (!s->key.shape_class[0])
        return NULL;
    if (!problems_begin(&known, s->tuning->count)) {
        s->lacks_memory = true;
        return NULL;
    }
    for (size_t i = 0; i < s->tuning->count && !is_split; ++i) {
        const husk__tuning_entry *entry = entry_at(s, i);
        if (!entry || !problems_add(&known, entry->problem) || strcmp(entry->shape_class, s->key.shape_class) != 0)
            continue;
        is_split = agreed && strcmp(agreed, entry->variant) != 0;
        agreed = entry->variant;
        is_better = is_better || is_state(entry, "tuned");
    }
    free(known.at);
    return is_better && !is_split ? agreed : NULL;
}

static size_t find_all(search *s, husk__suggestion *found)
{
    size_t count = 0;
    for (int family = 0; family < 2; ++family) {
        s->in_family = family;
        const husk__tuning_entry *entry = find_problem(s);
        if (entry && !is_state(entry, "tuned"))
            return count; // measured: the prediction was right
        if (entry)
            found[count++] = (husk__suggestion){entry->variant, family ? HUSK_CHOICE_FAMILY : HUSK_CHOICE_TUNED};
        const char *variant = find_class(s);
        if (variant)
            found[count++] = (husk__suggestion){variant, family ? HUSK_CHOICE_FAMILY_CLASS : HUSK_CHOICE_TUNED_CLASS};
    }
    return count;
}

bool husk__tuning_find(husk__tuning *tuning, const husk__op *op, const void *problem, bool is_call,
                       husk__suggestion suggestions[HUSK__MAX_SUGGESTIONS], size_t *count)
{
    search s = {.tuning = tuning, .op = op};
    *count = 0;
    pthread_mutex_lock(&tuning->lock);
    tuning->lacks_kernels = false;
    const bool is_read = read_all(tuning);
    if (tuning->count && husk__tuning_key_problem(op, problem, is_call, &s.key, &s.lacks_memory))
        *count = find_all(&s, suggestions);
    const bool is_known = is_read && !s.lacks_memory && !tuning->lacks_kernels;
    pthread_mutex_unlock(&tuning->lock);
    return is_known;
}

bool husk__tuning_is_wrong(husk__tuning *tuning, const husk__op *op, const husk__variant *variant,
                           const husk__configuration *configuration, bool *is_wrong)
{
    size_t length = strlen(variant->name);
    *is_wrong = false;
    pthread_mutex_lock(&tuning->lock);
    tuning->lacks_kernels = false;
    const bool is_read = read_all(tuning);
    for (size_t i = 0; i < tuning->count && !*is_wrong; ++i) {
        const husk__tuning_entry *entry = tuning->entries[i].entry;
        *is_wrong = !tuning->entries[i].is_family && is_state(entry, "wrong") &&
                    strncmp(entry->variant, variant->name, length) == 0 && entry->variant[length] == ':' &&
                    strcmp(entry->variant + length + 1, configuration->name) == 0 && is_about(tuning, entry, op);
    }
    const bool is_known = is_read && !tuning->lacks_kernels;
    pthread_mutex_unlock(&tuning->lock);
    return is_known;
}

// ---- what a program loads ----

static husk_status load_text(husk__tuning *tuning, const char *name, const char *text, size_t size,
                             const husk__scope *scope)
{
    char reason[HUSK__TUNING_REASON];
    const husk_status status = add(tuning, text, size, reason);
    if (status == HUSK_OUT_OF_HOST_MEMORY)
        return husk__fail(scope, status, "%s: %s", name, reason);
    return status == HUSK_OK ? HUSK_OK : husk__reject(scope, name, "%s", reason);
}

static husk_status unreadable(const char *path, const husk__scope *scope)
{
    if (errno == ENOMEM)
        return husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for %s", path);
    if (errno == EFBIG)
        return husk__reject(scope, "path", "%s " TOO_LARGE, path);
    return husk__reject(scope, "path", "%s cannot be read", path);
}

static husk_status load_file(husk__tuning *tuning, const char *path, const husk__scope *scope)
{
    size_t size;
    errno = 0;
    char *text = husk__read_file(path, &size);
    if (!text)
        return unreadable(path, scope);
    husk_status status = load_text(tuning, path, text, size, scope);
    free(text);
    return status;
}

// All or nothing.
static husk_status load_folder(husk__tuning *tuning, const char *path, const husk__scope *scope)
{
    size_t count;
    husk_status status = HUSK_OK;
    const database *before = tuning->databases;
    errno = 0;
    char **names = husk__list_directory(path, ".json", &count);
    if (!names)
        return unreadable(path, scope);
    for (size_t i = count; i-- > 0 && status == HUSK_OK;)
        status = load_file(tuning, names[i], scope);
    while (status != HUSK_OK && tuning->databases != before)
        remove_newest(tuning);
    for (size_t i = 0; i < count; ++i)
        free(names[i]);
    free(names);
    return status;
}

husk_status husk__tuning_load(husk__tuning *tuning, const husk_tuning_params *params, const husk__scope *scope)
{
    husk_status status;
    pthread_mutex_lock(&tuning->lock);
    if (!read_all(tuning)) // what is loaded now comes before it
        status = husk__fail(scope, HUSK_OUT_OF_HOST_MEMORY, "no host memory for the databases that are there");
    else if (params->text)
        status = load_text(tuning, "text", params->text, params->text_size ? params->text_size : strlen(params->text),
                           scope);
    else if (husk__is_directory(params->path))
        status = load_folder(tuning, params->path, scope);
    else
        status = load_file(tuning, params->path, scope);
    pthread_mutex_unlock(&tuning->lock);
    return status;
}

bool husk__tuning_count(husk__tuning *tuning, husk_tuning_stats *stats)
{
    pthread_mutex_lock(&tuning->lock);
    const bool is_read = read_all(tuning);
    *stats = tuning->stats;
    pthread_mutex_unlock(&tuning->lock);
    return is_read;
}
