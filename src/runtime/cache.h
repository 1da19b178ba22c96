/* SPDX-License-Identifier: MIT */
/*
 * runtime/cache.h: binaries of programs on disk.
 */
#ifndef HUSK_RUNTIME_CACHE_H
#define HUSK_RUNTIME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/context.h>

#include "base/error.h"
#include "base/text.h"

/* directory NULL: off. */
typedef struct husk__cache {
    char *directory;
} husk__cache;

void husk__cache_open(husk__cache *cache, const husk_context_params *params, const husk_device_traits *traits,
                      const husk__log *log);
void husk__cache_close(husk__cache *cache);
/*
 * While one builds what is not there, the others that want the same wait for it, patience_ns at most. -1: none to be
 * had, one goes on without. To be ended by husk__unlock.
 */
int husk__cache_lock(const husk__cache *cache, const char *key, uint64_t patience_ns);
/* malloc'ed binary, or NULL: not there, damaged or for something else. */
unsigned char *husk__cache_load(const husk__cache *cache, const char *key, size_t *size);
/* Where it is said that this very program has crashed its driver's compiler. False: there is no cache, or no memory. */
bool husk__cache_mark_path(const husk__cache *cache, const char *key, husk__text *path);
/* What it says there, malloc'ed. NULL: nothing, or not for a week, so that a mended compiler is tried again. */
char *husk__cache_read_mark(const char *path);
void husk__cache_store(const husk__cache *cache, const char *key, const unsigned char *binary, size_t size);
/* The bytes of a file, and the binary inside a whole, undamaged one for this very key; NULL otherwise. */
void husk__cache_entry_write(husk__text *entry, const char *key, const unsigned char *binary, size_t size);
const char *husk__cache_entry_find(const char *bytes, size_t size, const char *key, size_t *binary_size);

#endif
