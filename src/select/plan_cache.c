// SPDX-License-Identifier: MIT
#include "select/plan_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

enum { MOST_BUCKETS = 1 << 16 }; // whatever the capacity: chains grow then

// Entries lie in a chain a bucket and in one list by use, most recent first.
typedef struct entry {
    struct entry *chain;
    struct entry *newer, *older;
    uint64_t hash;
    husk_plan *plan;
    size_t key_size;
    unsigned char key[];
} entry;

struct husk__plan_cache {
    pthread_mutex_t lock;
    size_t capacity, count;
    size_t bucket_count; /* a power of two */
    entry **buckets;
    entry *newest, *oldest;
    uint64_t age; /* how often everything was forgotten */
};

husk__plan_cache *husk__plan_cache_create(size_t capacity)
{
    husk__plan_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->capacity = capacity;
    cache->bucket_count = 64;
    while (cache->bucket_count < cache->capacity && cache->bucket_count < MOST_BUCKETS)
        cache->bucket_count *= 2;
    cache->buckets = calloc(cache->bucket_count, sizeof *cache->buckets);
    if (!cache->buckets) {
        free(cache);
        return NULL;
    }
    pthread_mutex_init(&cache->lock, NULL);
    return cache;
}

static void unlink_entry(husk__plan_cache *cache, entry *gone)
{
    if (gone->newer)
        gone->newer->older = gone->older;
    else
        cache->newest = gone->older;
    if (gone->older)
        gone->older->newer = gone->newer;
    else
        cache->oldest = gone->newer;
}

static void push_newest(husk__plan_cache *cache, entry *fresh)
{
    fresh->newer = NULL;
    fresh->older = cache->newest;
    if (cache->newest)
        cache->newest->newer = fresh;
    else
        cache->oldest = fresh;
    cache->newest = fresh;
}

static void remove_entry(husk__plan_cache *cache, entry *gone)
{
    entry **at = &cache->buckets[gone->hash & (cache->bucket_count - 1)];
    while (*at != gone)
        at = &(*at)->chain;
    *at = gone->chain;
    unlink_entry(cache, gone);
    --cache->count;
    husk_plan_release(gone->plan);
    free(gone);
}

void husk__plan_cache_destroy(husk__plan_cache *cache)
{
    if (!cache)
        return;
    while (cache->newest)
        remove_entry(cache, cache->newest);
    pthread_mutex_destroy(&cache->lock);
    free(cache->buckets);
    free(cache);
}

static entry *find(husk__plan_cache *cache, const husk__key *key, uint64_t hash)
{
    entry *at = cache->buckets[hash & (cache->bucket_count - 1)];
    while (at && (at->hash != hash || at->key_size != key->size || memcmp(at->key, key->bytes, key->size) != 0))
        at = at->chain;
    return at;
}

husk_plan *husk__plan_cache_get(husk__plan_cache *cache, const husk__key *key)
{
    uint64_t hash = husk__hash64(key->bytes, key->size);
    pthread_mutex_lock(&cache->lock);
    entry *found = find(cache, key, hash);
    if (found && found != cache->newest) {
        unlink_entry(cache, found);
        push_newest(cache, found);
    }
    husk_plan *plan = found ? found->plan : NULL;
    husk_plan_retain(plan);
    pthread_mutex_unlock(&cache->lock);
    return plan;
}

uint64_t husk__plan_cache_age(husk__plan_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    uint64_t age = cache->age;
    pthread_mutex_unlock(&cache->lock);
    return age;
}

void husk__plan_cache_put(husk__plan_cache *cache, const husk__key *key, husk_plan *plan, uint64_t age)
{
    entry *fresh = calloc(1, sizeof *fresh + key->size);
    if (!fresh)
        return;
    fresh->hash = husk__hash64(key->bytes, key->size);
    fresh->key_size = key->size;
    memcpy(fresh->key, key->bytes, key->size);
    pthread_mutex_lock(&cache->lock);
    if (age != cache->age || find(cache, key, fresh->hash)) {
        free(fresh); // another thread was faster
    } else {
        husk_plan_retain(plan);
        fresh->plan = plan;
        entry **bucket = &cache->buckets[fresh->hash & (cache->bucket_count - 1)];
        fresh->chain = *bucket;
        *bucket = fresh;
        push_newest(cache, fresh);
        if (++cache->count > cache->capacity)
            remove_entry(cache, cache->oldest);
    }
    pthread_mutex_unlock(&cache->lock);
}

void husk__plan_cache_forget(husk__plan_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    ++cache->age;
    while (cache->newest)
        remove_entry(cache, cache->newest);
    pthread_mutex_unlock(&cache->lock);
}
