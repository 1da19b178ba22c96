// SPDX-License-Identifier: MIT
#include "select/tuning_key.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "os/cpu_model.h"
#include "os/private.h"
#include "runtime/kernel_source.h"

// ---- the device ----

static bool is_cpu(const husk_device_traits *traits)
{
    return traits->device_class == HUSK_DEVICE_CPU || traits->device_class == HUSK_DEVICE_SIMULATOR;
}

// A file's name: letters and digits, the rest as single dashes.
static void append_file_name(char *path, size_t size, const char *device)
{
    size_t used = strlen(path);
    for (const char *at = device; *at && used + 8 < size; ++at) {
        bool is_plain = isalnum((unsigned char)*at);
        if (is_plain)
            path[used++] = (char)tolower((unsigned char)*at);
        else if (used > 0 && path[used - 1] != '-' && path[used - 1] != '/')
            path[used++] = '-';
    }
    while (used > 0 && path[used - 1] == '-')
        --used;
    snprintf(path + used, size - used, ".json");
}

// False for want of memory.
static bool write_path(husk_tuning_key *key)
{
    errno = 0;
    char *folder = husk__user_data_path("tuning");
    if (!folder)
        return errno != ENOMEM;
    snprintf(key->path, sizeof key->path - 300, "%s/", folder);
    append_file_name(key->path, sizeof key->path, key->device);
    free(folder);
    return true;
}

bool husk__tuning_key_device(const husk_device_traits *traits, husk_tuning_key *key)
{
    bool good = true;
    memset(key, 0, sizeof *key);
    snprintf(key->platform, sizeof key->platform, "%s", traits->platform_name);
    snprintf(key->driver, sizeof key->driver, "%s, %s", traits->driver_version, traits->device_version);
    snprintf(key->device, sizeof key->device, "%.200s", traits->name);
    if (is_cpu(traits)) {
        good = husk__append_cpu_model(key->device, sizeof key->device);
        // A device's version names PoCL's target, the instruction set that its compiler writes for.
        snprintf(key->family, sizeof key->family, "cpu of %u units, vectors of %u, %.200s",
                 (unsigned)traits->compute_units, (unsigned)traits->vector_width, key->driver);
    } else {
        snprintf(key->family, sizeof key->family, "%.100s %.100s of %u units", traits->vendor, traits->name,
                 (unsigned)traits->compute_units);
    }
    return write_path(key) && good;
}

// ---- the problem ----

bool husk__tuning_key_problem(const husk__op *op, const void *problem, bool is_call, husk_tuning_key *key,
                              bool *lacks_memory)
{
    const char *kind = is_call ? "call" : "plan";
    husk__key fields = {.size = 0};
    husk__text class = {0};
    char hash[33];
    op->describe(problem, &fields);
    snprintf(key->op, sizeof key->op, "%s", op->name);
    husk__hash128_text(husk__hash128_of(fields.bytes, fields.size), hash);
    snprintf(key->problem, sizeof key->problem, "%s %s", kind, hash);
    key->shape_class[0] = 0;
    if (op->classify) {
        husk__text_format(&class, "%s", kind);
        op->classify(problem, &class);
        if (!class.failed && class.size < sizeof key->shape_class)
            snprintf(key->shape_class, sizeof key->shape_class, "%s", class.bytes);
    }
    if (lacks_memory)
        *lacks_memory = class.failed;
    husk__text_free(&class);
    return !fields.is_full;
}

// ---- the kernels ----

// The words of a source on one line each, so that only what a compiler sees counts.
static void append_words(husk__text *words, const char *source)
{
    for (const char *at = source; *at;) {
        if (strncmp(at, "//", 2) == 0 || strncmp(at, "#line", 5) == 0) {
            at += strcspn(at, "\n");
        } else if (strncmp(at, "/*", 2) == 0) {
            const char *end = strstr(at + 2, "*/");
            at = end ? end + 2 : at + strlen(at);
        } else if (isspace((unsigned char)*at)) {
            ++at;
        } else {
            size_t length = 1;
            while (at[length] && !isspace((unsigned char)at[length]) && strncmp(at + length, "//", 2) != 0 &&
                   strncmp(at + length, "/*", 2) != 0)
                ++length;
            husk__text_append(words, at, length);
            husk__text_append(words, "\n", 1);
            at += length;
        }
    }
}

// The menus are a part of the kernels: their options are what programs are built with.
static void append_menus(husk__text *words, const husk__op *op)
{
    for (const husk__variant *const *row = op->variants; *row; ++row) {
        for (size_t c = 0; c < (*row)->configuration_count; ++c)
            husk__text_format(words, "%s:%s %s\n", (*row)->name, (*row)->configurations[c].name,
                              (*row)->configurations[c].options);
    }
}

// Whether the names of an operator's kernel files begin so; tests have operators that are not in the table.
static bool has_prefix(const husk__op *op, const char *prefix)
{
    for (size_t i = 0; husk__ops[i]; ++i)
        if (husk__ops[i] == op)
            return strcmp(husk__op_kernels[i], prefix) == 0;
    return false;
}

// The prefix of the operators that a kernel file is of: where several fit, the longest. "" for files of the runtime and
// of lib/.
static const char *owner_of(const char *file)
{
    const char *owner = "";
    size_t longest = 0;
    for (size_t i = 0; husk__ops[i]; ++i) {
        const char *prefix = husk__op_kernels[i];
        const size_t length = strlen(prefix);
        const bool fits = strncmp(file, prefix, length) == 0 &&
                          (prefix[length - 1] == '/' || file[length] == '_' || file[length] == '.');
        if (fits && length > longest) {
            longest = length;
            owner = prefix;
        }
    }
    return owner;
}

bool husk__tuning_kernels(const husk__op *op, char hash[33])
{
    const husk__scope nobody = {op->name, NULL};
    husk__text words = {0};
    husk_status status = HUSK_OK;
    append_menus(&words, op);
    for (size_t i = 0; status == HUSK_OK && i < husk__kernel_file_count; ++i) {
        const char *name = husk__kernel_files[i].name;
        husk__text source = {0};
        if (!has_prefix(op, owner_of(name)))
            continue;
        status = husk__kernel_source(name, &source, &nobody);
        husk__text_format(&words, "\n%s\n", name);
        if (status == HUSK_OK && source.bytes)
            append_words(&words, source.bytes);
        husk__text_free(&source);
    }
    hash[0] = 0;
    if (status == HUSK_OK && words.failed)
        status = HUSK_OUT_OF_HOST_MEMORY;
    if (status == HUSK_OK)
        husk__hash128_text(husk__hash128_of(words.bytes ? words.bytes : "", words.size), hash);
    husk__text_free(&words);
    return status != HUSK_OUT_OF_HOST_MEMORY;
}
