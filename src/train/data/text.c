// SPDX-License-Identifier: MIT
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "train/data/parse.h"

typedef struct document {
    uint64_t begin, bytes;
    int32_t label;
} document;

struct husk_corpus {
    char *text; // all of them, a zero behind each
    uint64_t size, capacity;
    document *documents;
    int64_t count, document_capacity;
    int32_t classes;
};

husk_status husk_text_read(const char *path, husk_array *text, husk_error *error)
{
    husk__source source = {.call = "husk_text_read", .error = error};
    unsigned char *bytes;
    uint64_t size;
    if (!path || !text)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", path ? "text" : "path");
    source.path = path;
    *text = (husk_array){0};
    const husk_status status = husk__file_load(&source, &bytes, &size);
    if (!status)
        *text = (husk_array){.dtype = HUSK_U8, .rank = 1, .shape = {(int64_t)size}, .bytes = size, .data = bytes};
    return status;
}

// ---- a corpus ----

husk_status husk_corpus_create(husk_corpus **corpus, husk_error *error)
{
    const husk__source source = {.call = "husk_corpus_create", .error = error};
    if (!corpus)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "corpus: it is NULL");
    *corpus = calloc(1, sizeof **corpus);
    return *corpus ? HUSK_OK : husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for it");
}

void husk_corpus_release(husk_corpus *corpus)
{
    if (!corpus)
        return;
    free(corpus->text);
    free(corpus->documents);
    free(corpus);
}

// Room for bytes more and a document.
static bool make_room(husk_corpus *corpus, uint64_t bytes)
{
    if (bytes >= corpus->capacity - corpus->size) {
        const uint64_t capacity = corpus->size + bytes + 1 + corpus->capacity / 2;
        char *grown =
            bytes < SIZE_MAX / 4 && corpus->size < SIZE_MAX / 4 ? realloc(corpus->text, (size_t)capacity) : NULL;
        if (!grown)
            return false;
        corpus->text = grown;
        corpus->capacity = capacity;
    }
    if (corpus->count == corpus->document_capacity) {
        const int64_t capacity = 2 * corpus->document_capacity + 16;
        document *grown = realloc(corpus->documents, (size_t)capacity * sizeof *grown);
        if (!grown)
            return false;
        corpus->documents = grown;
        corpus->document_capacity = capacity;
    }
    return true;
}

static husk_status add(husk_corpus *corpus, const void *text, uint64_t bytes, int32_t label, const husk__source *source)
{
    const uintptr_t at = (uintptr_t)text - (uintptr_t)corpus->text;
    const bool is_own = bytes && corpus->text && at < corpus->size; // it moves with the others
    if (!make_room(corpus, bytes))
        return husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its text");
    corpus->documents[corpus->count++] = (document){.begin = corpus->size, .bytes = bytes, .label = label};
    if (bytes)
        memcpy(corpus->text + corpus->size, is_own ? corpus->text + at : text, (size_t)bytes);
    corpus->text[corpus->size + bytes] = 0;
    corpus->size += bytes + 1;
    if (label >= corpus->classes)
        corpus->classes = label + 1;
    return HUSK_OK;
}

husk_status husk_corpus_add(husk_corpus *corpus, const char *text, uint64_t bytes, int32_t label, husk_error *error)
{
    const husk__source source = {.call = "husk_corpus_add", .error = error};
    if (!corpus || (bytes && !text))
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", corpus ? "text" : "corpus");
    if (label < 0 || label == INT32_MAX)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "label: it is %d", label);
    return add(corpus, text, bytes, label, &source);
}

int64_t husk_corpus_count(const husk_corpus *corpus)
{
    return corpus ? corpus->count : 0;
}

int32_t husk_corpus_classes(const husk_corpus *corpus)
{
    return corpus ? corpus->classes : 0;
}

const char *husk_corpus_get(const husk_corpus *corpus, int64_t index, uint64_t *bytes, int32_t *label)
{
    const document *one = &corpus->documents[index];
    if (bytes)
        *bytes = one->bytes;
    if (label)
        *label = one->label;
    return corpus->text + one->begin;
}

// ---- folders ----

typedef struct name_list {
    char **names;
    size_t count, capacity;
} name_list;

static void free_names(name_list *list)
{
    for (size_t i = 0; i < list->count; ++i)
        free(list->names[i]);
    free(list->names);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool append_name(name_list *list, const char *name)
{
    if (list->count == list->capacity) {
        char **grown = realloc(list->names, (2 * list->capacity + 16) * sizeof *grown);
        if (!grown)
            return false;
        list->names = grown;
        list->capacity = 2 * list->capacity + 16;
    }
    char *copy = strdup(name);
    if (copy)
        list->names[list->count++] = copy;
    return copy != NULL;
}

static char *join(const char *folder, const char *name)
{
    const size_t size = strlen(folder) + strlen(name) + 2;
    char *path = malloc(size);
    if (path)
        snprintf(path, size, "%s/%s", folder, name);
    return path;
}

static bool is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

// The folders in a folder, or what is none, by name; without those that are hidden.
static husk_status list_folder(name_list *list, const char *path, bool folders, const husk__source *source)
{
    *list = (name_list){0};
    DIR *folder = opendir(path);
    if (!folder)
        return husk__source_fail_system(source, "it cannot be opened");
    husk_status status = HUSK_OK;
    for (struct dirent *entry; !status;) {
        errno = 0;
        entry = readdir(folder);
        if (!entry && errno)
            status = husk__source_fail_system(source, "it cannot be listed");
        if (!entry)
            break;
        if (entry->d_name[0] == '.')
            continue;
        char *below = join(path, entry->d_name);
        if (!below || (is_folder(below) == folders && !append_name(list, entry->d_name)))
            status = husk__source_fail(source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for its list");
        free(below);
    }
    closedir(folder);
    if (list->count)
        qsort(list->names, list->count, sizeof *list->names, compare_names);
    return status;
}

static husk_status read_text(husk_corpus *corpus, const char *folder, const char *name, int32_t label,
                             const husk__source *outer)
{
    unsigned char *bytes = NULL;
    uint64_t size;
    char *path = join(folder, name);
    const husk__source source = {.call = outer->call, .path = path, .error = outer->error};
    if (!path)
        return husk__source_fail(outer, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for a name");
    husk_status status = husk__file_load(&source, &bytes, &size);
    if (!status)
        status = add(corpus, bytes, size, label, &source);
    free(bytes);
    free(path);
    return status;
}

static husk_status read_label(husk_corpus *corpus, const char *folder, const char *name, int32_t label,
                              const husk__source *outer)
{
    name_list files = {0};
    char *path = join(folder, name);
    const husk__source source = {.call = outer->call, .path = path, .error = outer->error};
    if (!path)
        return husk__source_fail(outer, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for a name");
    husk_status status = list_folder(&files, path, false, &source);
    if (!status && files.count == 0)
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "there is no text in this folder");
    for (size_t i = 0; !status && i < files.count; ++i)
        status = read_text(corpus, path, files.names[i], label, &source);
    free_names(&files);
    free(path);
    return status;
}

husk_status husk_corpus_read_folder(const char *path, const char *const *names, size_t count, husk_corpus **corpus,
                                    husk_error *error)
{
    husk__source source = {.call = "husk_corpus_read_folder", .error = error};
    name_list found = {0};
    if (!path || !corpus)
        return husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "%s: it is NULL", path ? "corpus" : "path");
    source.path = path;
    *corpus = calloc(1, sizeof **corpus);
    if (!*corpus)
        return husk__source_fail(&source, HUSK_OUT_OF_HOST_MEMORY, "there is no memory for it");
    husk_status status = names ? HUSK_OK : list_folder(&found, path, true, &source);
    if (!names) {
        names = (const char *const *)found.names;
        count = found.count;
    }
    if (!status && (count == 0 || count >= INT32_MAX))
        status = husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "there is no folder of texts in it");
    for (size_t i = 0; !status && i < count; ++i)
        status = names[i] ? read_label(*corpus, path, names[i], (int32_t)i, &source)
                          : husk__source_fail(&source, HUSK_INVALID_ARGUMENT, "names[%zu]: it is NULL", i);
    free_names(&found);
    if (status) {
        husk_corpus_release(*corpus);
        *corpus = NULL;
    }
    return status;
}
