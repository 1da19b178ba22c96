// SPDX-License-Identifier: MIT
#include "cache_mutation.h"

#include <check.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEADER = 56, ROOM = 64 }; // runtime/cache.c's header; the most that a mutation touches or adds
enum { FLIPS, RANGE, ZEROS, FIELDS, APPENDED, REMOVED, INSERTED, PARTS, FOREIGN, GRAFTED };
const char *const cache_mutation_names[CACHE_MUTATIONS] = {[FLIPS] = "a bit flipped",
                                                           [RANGE] = "a range overwritten",
                                                           [ZEROS] = "a range of zeros",
                                                           [APPENDED] = "bytes behind it",
                                                           [FIELDS] = "swapped fields of the header",
                                                           [REMOVED] = "bytes missing",
                                                           [INSERTED] = "bytes inserted",
                                                           [PARTS] = "swapped parts",
                                                           [FOREIGN] = "a whole entry of another key",
                                                           [GRAFTED] = "another key's entry behind this one's header"};

cache_entry cache_entry_read(const char *path)
{
    struct stat status;
    ck_assert_int_eq(stat(path, &status), 0);
    cache_entry entry = {malloc((size_t)status.st_size + 1), (size_t)status.st_size};
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(entry.at, 1, entry.size, file), entry.size);
    fclose(file);
    return entry;
}

void cache_entry_write(const cache_entry *entry, const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(write(file, entry->at, entry->size), (ssize_t)entry->size);
    close(file);
}

void cache_entry_free(cache_entry *entry)
{
    free(entry->at);
    *entry = (cache_entry){0};
}

static size_t below(husk_ref_random *draw, size_t limit)
{
    return (size_t)husk_ref_random_below(draw, (int64_t)limit);
}

static void overwrite(cache_entry *entry, size_t at, size_t count, husk_ref_random *draw)
{
    for (size_t i = at; i < at + count && i < entry->size; ++i)
        entry->at[i] = (unsigned char)below(draw, 256);
}

static void swap(unsigned char *a, unsigned char *b, size_t size)
{
    unsigned char kept[ROOM];
    memcpy(kept, a, size);
    memcpy(a, b, size);
    memcpy(b, kept, size);
}

// There is ROOM behind the entry, and as much as the other one takes.
static void mutate(cache_entry *entry, const cache_entry *other, int kind, husk_ref_random *draw)
{
    const size_t at = below(draw, entry->size), count = 1 + below(draw, ROOM - 1);
    const size_t rest = count < entry->size - at ? count : entry->size - at;
    switch (kind) {
    case FLIPS: // every other one in the header, the smaller part that has more to it
        entry->at[below(draw, 2) ? at : below(draw, HEADER)] ^= (unsigned char)(1u << below(draw, 8));
        break;
    case RANGE:
        overwrite(entry, at, count, draw);
        break;
    case ZEROS:
        memset(entry->at + at, 0, rest);
        break;
    case FIELDS: {
        const size_t width = below(draw, 2) ? 4 : 8, fields = HEADER / width;
        const size_t first = below(draw, fields), second = (first + 1 + below(draw, fields - 1)) % fields;
        swap(entry->at + width * first, entry->at + width * second, width);
        break;
    }
    case APPENDED:
        entry->size += count;
        overwrite(entry, entry->size - count, count, draw);
        break;
    case REMOVED:
        memmove(entry->at + at, entry->at + at + rest, entry->size - at - rest);
        entry->size -= rest;
        break;
    case INSERTED:
        memmove(entry->at + at + count, entry->at + at, entry->size - at);
        entry->size += count;
        overwrite(entry, at, count, draw);
        break;
    case PARTS: {
        const size_t half = entry->size / 2;
        swap(entry->at + below(draw, half - ROOM), entry->at + half + below(draw, half - ROOM), count);
        break;
    }
    default: {
        const size_t kept = kind == GRAFTED ? HEADER : 0;
        memcpy(entry->at + kept, other->at + kept, other->size - kept);
        entry->size = other->size;
        break;
    }
    }
}

void cache_entry_mutate(const cache_entry *whole, const cache_entry *other, int kind, husk_ref_random *draw,
                        const char *path)
{
    cache_entry entry = {malloc(whole->size + other->size + ROOM), 0};
    ck_assert_ptr_nonnull(entry.at);
    do { // until it is another one: zeros may have been zeros before
        memcpy(entry.at, whole->at, whole->size);
        entry.size = whole->size;
        mutate(&entry, other, kind, draw);
    } while (entry.size == whole->size && memcmp(entry.at, whole->at, whole->size) == 0);
    cache_entry_write(&entry, path);
    cache_entry_free(&entry);
}
