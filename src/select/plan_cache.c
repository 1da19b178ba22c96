// SPDX-License-Identifier: MIT
#include "select/plan_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "os/environment.h"

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

typedef struct rejection {
    struct rejection *next;
    const husk__variant *variant;
    const husk__configuration *configuration;
} rejection;

struct husk__plan_cache {
    pthread_mutex_t lock;
    size_t capacity, count;
    size_t bucket_count; /* a power of two */
    entry **buckets;
    entry *newest, *oldest;
    rejection *rejections;
    _Atomic uint64_t rejection_count; /* of all there have been */
    char *wishes;
    husk__tuning *tuning;
    husk__engine_states *engines;
    uint64_t age; /* how often everything was forgotten */
};

static void *create_cache(husk_context *context)
{
    husk__plan_cache *cache = calloc(1, sizeof *cache);
    if (!cache)
        return NULL;
    cache->capacity = husk__context_plan_cache_capacity(context);
    cache->bucket_count = 64;
    while (cache->bucket_count < cache->capacity && cache->bucket_count < MOST_BUCKETS)
        cache->bucket_count *= 2;
    cache->buckets = calloc(cache->bucket_count, sizeof *cache->buckets);
    cache->tuning = husk__tuning_create(context);
    cache->engines = husk__engine_states_create(context);
    const char *wishes = husk__environment("HUSK_VARIANT");
    cache->wishes = wishes ? husk__copy_string(wishes) : NULL;
    if (!cache->buckets || !cache->tuning || !cache->engines || (wishes && !cache->wishes)) {
        husk__engine_states_destroy(cache->engines);
        husk__tuning_destroy(cache->tuning);
        free(cache->buckets);
        free(cache->wishes);
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

static void destroy_cache(void *extension)
{
    husk__plan_cache *cache = extension;
    while (cache->newest)
        remove_entry(cache, cache->newest);
    while (cache->rejections) {
        rejection *gone = cache->rejections;
        cache->rejections = gone->next;
        free(gone);
    }
    pthread_mutex_destroy(&cache->lock);
    husk__engine_states_destroy(cache->engines);
    husk__tuning_destroy(cache->tuning);
    free(cache->buckets);
    free(cache->wishes);
    free(cache);
}

husk__plan_cache *husk__plan_cache_of(husk_context *context)
{
    return husk__context_extension(context, create_cache, destroy_cache);
}

const char *husk__plan_cache_wishes(const husk__plan_cache *cache)
{
    return cache->wishes;
}

husk__engine_states *husk__plan_cache_engines(const husk__plan_cache *cache)
{
    return cache->engines;
}

husk__tuning *husk__plan_cache_tuning(const husk__plan_cache *cache)
{
    return cache->tuning;
}

static entry *find(husk__plan_cache *cache, const husk__key *key, uint64_t hash)
{
    entry *at = cache->buckets[hash & (cache->bucket_count - 1)];
    while (at &&
           (at->hash != hash || at->key_size != key->size || memcmp(at->key, key->bytes, key->size) != 0))
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

uint64_t husk__plan_cache_rejections(husk__plan_cache *cache)
{
    return atomic_load(&cache->rejection_count);
}

static void forget_all(husk__plan_cache *cache)
{
    ++cache->age;
    while (cache->newest)
        remove_entry(cache, cache->newest);
}

void husk__plan_cache_forget(husk__plan_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    forget_all(cache);
    pthread_mutex_unlock(&cache->lock);
}

static const rejection *find_rejection(const husk__plan_cache *cache, const husk__variant *variant,
                                       const husk__configuration *configuration)
{
    const rejection *at = cache->rejections;
    while (at && (at->variant != variant || at->configuration != configuration))
        at = at->next;
    return at;
}

void husk__plan_cache_reject(husk__plan_cache *cache, const husk__variant *variant,
                             const husk__configuration *configuration)
{
    pthread_mutex_lock(&cache->lock);
    const bool is_known = find_rejection(cache, variant, configuration) != NULL;
    rejection *fresh = is_known ? NULL : calloc(1, sizeof *fresh);
    if (fresh) {
        *fresh = (rejection){cache->rejections, variant, configuration};
        cache->rejections = fresh;
        forget_all(cache); // it may be inside any
    }
    if (fresh || is_known)
        atomic_fetch_add(&cache->rejection_count, 1);
    pthread_mutex_unlock(&cache->lock);
}

static bool has_variant(const husk__op *op, const husk__variant *variant)
{
    const husk__variant *const *row = op->variants;
    while (*row && *row != variant)
        ++row;
    return *row != NULL;
}

bool husk__plan_cache_pardon(husk__plan_cache *cache, const husk__op *op)
{
    bool any = false;
    pthread_mutex_lock(&cache->lock);
    for (rejection **at = &cache->rejections; *at;) {
        rejection *gone = *at;
        if (!has_variant(op, gone->variant)) {
            at = &gone->next;
            continue;
        }
        *at = gone->next;
        free(gone);
        any = true;
    }
    pthread_mutex_unlock(&cache->lock);
    return any;
}

bool husk__plan_cache_is_rejected(husk__plan_cache *cache, const husk__variant *variant,
                                  const husk__configuration *configuration)
{
    pthread_mutex_lock(&cache->lock);
    const bool is_rejected = find_rejection(cache, variant, configuration) != NULL;
    pthread_mutex_unlock(&cache->lock);
    return is_rejected;
}
