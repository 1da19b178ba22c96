/* SPDX-License-Identifier: MIT */
/*
 * cache_mutation.h: damaged entries of the cache of binaries.
 */
#ifndef HUSK_TESTS_CACHE_MUTATION_H
#define HUSK_TESTS_CACHE_MUTATION_H

#include <stddef.h>

#include "ref/random.h"

typedef struct cache_entry {
    unsigned char *at;
    size_t size;
} cache_entry;

cache_entry cache_entry_read(const char *path);
void cache_entry_write(const cache_entry *entry, const char *path);
void cache_entry_free(cache_entry *entry);

enum { CACHE_MUTATIONS = 10 };
extern const char *const cache_mutation_names[CACHE_MUTATIONS];

/*
 * Write to the path what differs from the whole entry by a mutation of this kind; other is a whole entry of another
 * key.
 */
void cache_entry_mutate(const cache_entry *whole, const cache_entry *other, int kind, husk_ref_random *draw,
                        const char *path);

#endif
