// SPDX-License-Identifier: MIT
// Binaries of programs on disk, one file an entry:
//
//   magic "HUSKBIN", format version 1, key length, key, binary length, XXH3-128 of key and binary, binary
//
// The checksum is verified before a driver sees a byte; whatever is wrong with a file, it is as if it were not
// there. The files "lock" and, of threads.c, "threads" beside them are empty. HASH.crashed, HASH as in HASH.bin, says
// of a program that its driver's compiler crashes on it; others write it (program.c, announce).
#include "runtime/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "os/environment.h"
#include "os/file_lock.h"
#include "os/folder.h"
#include "os/private.h"
#include "os/write_file.h"
#include "runtime/pocl.h"

static const char MAGIC[8] = "HUSKBIN";
enum { FORMAT_VERSION = 1 };

typedef struct entry_header {
    char magic[8];
    uint32_t version;
    uint32_t key_size;
    uint64_t binary_size;
    husk__hash128 key_hash;
    husk__hash128 binary_hash;
} entry_header;

static bool is_wanted(husk_cache_mode mode, const husk_device_traits *traits, const husk__log *log)
{
    if (mode != HUSK_CACHE_DEFAULT)
        return mode == HUSK_CACHE_ON;
    const char *preference = husk__environment("HUSK_CACHE");
    if (preference && (strcmp(preference, "0") == 0 || strcmp(preference, "1") == 0))
        return preference[0] == '1';
    if (preference)
        husk__log_write(log, HUSK_LOG_WARNING, "HUSK_CACHE is \"%s\", must be 0 or 1; it is as if it were not set",
                        preference);
    // PoCL keeps a cache of its own, below this one's level.
    return !husk__is_pocl(traits) && traits->device_class != HUSK_DEVICE_SIMULATOR;
}

void husk__cache_open(husk__cache *cache, const husk_context_params *params, const husk_device_traits *traits,
                      const husk__log *log)
{
    cache->directory = NULL;
    if (!is_wanted(params->cache, traits, log))
        return;
    char *directory = params->cache_directory ? husk__copy_string(params->cache_directory) : husk__user_folder_path();
    for (size_t end = directory ? strlen(directory) : 0; end > 1 && directory[end - 1] == '/'; --end)
        directory[end - 1] = 0;
    if (directory && !husk__prepare_private_directory(directory)) {
        husk__log_write(log, HUSK_LOG_INFORMATION,
                        "no cache of binaries: %s cannot be made, is a link, or others may write to it", directory);
        free(directory);
        directory = NULL;
    }
    // The folder that was looked at, wherever the program goes from here.
    cache->directory = directory ? husk__absolute_path(directory) : NULL;
    if (directory && !cache->directory)
        husk__log_write(log, HUSK_LOG_INFORMATION, "no cache of binaries: the absolute path of %s is not known",
                        directory);
    free(directory);
}

void husk__cache_close(husk__cache *cache)
{
    free(cache->directory);
    cache->directory = NULL;
}

static bool file_path(const husk__cache *cache, const char *key, const char *ending, husk__text *path)
{
    char name[33];
    husk__hash128_text(husk__hash128_of(key, strlen(key)), name);
    husk__text_format(path, "%s/%s.%s", cache->directory, name, ending);
    return !path->failed;
}

static bool entry_path(const husk__cache *cache, const char *key, husk__text *path)
{
    return file_path(cache, key, "bin", path);
}

bool husk__cache_mark_path(const husk__cache *cache, const char *key, husk__text *path)
{
    return cache->directory && file_path(cache, key, "crashed", path);
}

// A distribution mends a compiler without another version of the driver, and what crashed may have been something else.
enum { MARK_SECONDS = 7 * 24 * 60 * 60 };

char *husk__cache_read_mark(const char *path)
{
    return husk__is_old(path, MARK_SECONDS) ? NULL : husk__read_private_file(path, NULL);
}

int husk__cache_lock(const husk__cache *cache, const char *key, uint64_t patience_ns)
{
    husk__text path = {0};
    int lock = -1;
    if (!cache->directory)
        return -1;
    husk__text_format(&path, "%s/lock", cache->directory);
    if (!path.failed)
        lock = husk__lock(path.bytes, (uint32_t)husk__hash128_of(key, strlen(key)).low, patience_ns);
    husk__text_free(&path);
    return lock;
}

static bool same_hash(husk__hash128 a, husk__hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

const char *husk__cache_entry_find(const char *bytes, size_t size, const char *key, size_t *binary_size)
{
    entry_header header;
    size_t key_size = strlen(key);
    if (size < sizeof header)
        return NULL;
    memcpy(&header, bytes, sizeof header);
    if (memcmp(header.magic, MAGIC, sizeof MAGIC) != 0 || header.version != FORMAT_VERSION ||
        header.key_size != key_size || size - sizeof header < key_size ||
        header.binary_size != size - sizeof header - key_size)
        return NULL;
    const char *stored_key = bytes + sizeof header, *binary = stored_key + key_size;
    if (memcmp(stored_key, key, key_size) != 0 || !same_hash(header.key_hash, husk__hash128_of(stored_key, key_size)) ||
        !same_hash(header.binary_hash, husk__hash128_of(binary, (size_t)header.binary_size)))
        return NULL;
    *binary_size = (size_t)header.binary_size;
    return binary;
}

unsigned char *husk__cache_load(const husk__cache *cache, const char *key, size_t *size)
{
    husk__text path = {0};
    unsigned char *binary = NULL;
    char *bytes = NULL;
    size_t file_size;
    if (cache->directory && entry_path(cache, key, &path))
        bytes = husk__read_private_file(path.bytes, &file_size);
    const char *found = bytes ? husk__cache_entry_find(bytes, file_size, key, size) : NULL;
    if (found && (binary = malloc(*size ? *size : 1)))
        memcpy(binary, found, *size);
    free(bytes);
    husk__text_free(&path);
    return binary;
}

// As entry_path writes them.
static bool is_entry(const char *name, size_t length)
{
    return length == 32 + 4 && strspn(name, "0123456789abcdef") == 32 && strncmp(name + 32, ".bin", 4) == 0;
}

void husk__cache_entry_write(husk__text *entry, const char *key, const unsigned char *binary, size_t size)
{
    entry_header header = {.version = FORMAT_VERSION, .key_size = (uint32_t)strlen(key), .binary_size = size};
    memcpy(header.magic, MAGIC, sizeof MAGIC);
    header.key_hash = husk__hash128_of(key, strlen(key));
    header.binary_hash = husk__hash128_of(binary, size);
    husk__text_append(entry, (const char *)&header, sizeof header);
    husk__text_append(entry, key, strlen(key));
    husk__text_append(entry, (const char *)binary, size);
}

void husk__cache_store(const husk__cache *cache, const char *key, const unsigned char *binary, size_t size)
{
    husk__text path = {0}, bytes = {0};
    husk__cache_entry_write(&bytes, key, binary, size);
    if (!bytes.failed && entry_path(cache, key, &path))
        husk__write_file_atomically(path.bytes, bytes.bytes, bytes.size);
    husk__remove_old_temporaries(cache->directory, is_entry);
    husk__text_free(&path);
    husk__text_free(&bytes);
}
