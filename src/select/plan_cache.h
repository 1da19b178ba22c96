/* SPDX-License-Identifier: MIT */
/*
 * select/plan_cache.h: a context's plans for immediate calls, a bounded LRU; and what it has learned about
 * variants that its device refuses.
 */
#ifndef HUSK_SELECT_PLAN_CACHE_H
#define HUSK_SELECT_PLAN_CACHE_H

#include "select/engine.h"
#include "select/plan.h"
#include "select/tuning.h"

typedef struct husk__plan_cache husk__plan_cache;

/* The context's cache, made on first use; NULL without memory. */
husk__plan_cache *husk__plan_cache_of(husk_context *context);

/* HUSK_VARIANT as it was when the cache was made; NULL where unset. */
const char *husk__plan_cache_wishes(const husk__plan_cache *cache);

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

/* What the context knows of matrix engines. */
husk__engine_states *husk__plan_cache_engines(const husk__plan_cache *cache);

/* The context's tuning databases. */
husk__tuning *husk__plan_cache_tuning(const husk__plan_cache *cache);

/*
 * The device refused this candidate: it is not chosen by itself again, and every plan is forgotten, as it may be inside
 * any. Where there is no memory to remember it, nothing is done.
 */
void husk__plan_cache_reject(husk__plan_cache *cache, const husk__variant *variant,
                             const husk__configuration *configuration);
/* How many there have been. */
uint64_t husk__plan_cache_rejections(husk__plan_cache *cache);
/* All of an operator's candidates are taken into account again. False where none had been refused. */
bool husk__plan_cache_pardon(husk__plan_cache *cache, const husk__op *op);
bool husk__plan_cache_is_rejected(husk__plan_cache *cache, const husk__variant *variant,
                                  const husk__configuration *configuration);

#endif
