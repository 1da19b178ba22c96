/* SPDX-License-Identifier: MIT */
/*
 * select/plan_cache.h: a context's plans for immediate calls, a bounded LRU.
 */
#ifndef HUSK_SELECT_PLAN_CACHE_H
#define HUSK_SELECT_PLAN_CACHE_H

#include "select/key.h"
#include "select/plan.h"

typedef struct husk__plan_cache husk__plan_cache;

/* NULL without memory. */
husk__plan_cache *husk__plan_cache_create(size_t capacity);
void husk__plan_cache_destroy(husk__plan_cache *cache);

/* The plan with this key, retained; NULL where there is none. */
husk_plan *husk__plan_cache_get(husk__plan_cache *cache, const husk__key *key);
/*
 * Keep the plan under the key; the least recently used one goes when the cache is full. age: the cache's when the
 * plan's variant was chosen; a plan from before the cache forgot is not kept.
 */
void husk__plan_cache_put(husk__plan_cache *cache, const husk__key *key, husk_plan *plan, uint64_t age);
uint64_t husk__plan_cache_age(husk__plan_cache *cache);
/* Every plan goes: what they were chosen by has changed. */
void husk__plan_cache_forget(husk__plan_cache *cache);

#endif
