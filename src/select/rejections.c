// SPDX-License-Identifier: MIT
#include "select/rejections.h"

#include <stdlib.h>

typedef struct husk__rejection {
    struct husk__rejection *next;
    const husk__variant *variant;
    const husk__configuration *configuration;
} husk__rejection;

void husk__rejections_init(husk__rejections *rejections)
{
    pthread_mutex_init(&rejections->lock, NULL);
}

void husk__rejections_destroy(husk__rejections *rejections)
{
    while (rejections->first) {
        husk__rejection *gone = rejections->first;
        rejections->first = gone->next;
        free(gone);
    }
    pthread_mutex_destroy(&rejections->lock);
}

uint64_t husk__rejections_count(husk__rejections *rejections)
{
    return atomic_load(&rejections->count);
}

static const husk__rejection *find(const husk__rejections *rejections, const husk__variant *variant,
                                   const husk__configuration *configuration)
{
    const husk__rejection *at = rejections->first;
    while (at && (at->variant != variant || at->configuration != configuration))
        at = at->next;
    return at;
}

void husk__rejections_add(husk__rejections *rejections, husk__plan_cache *plans, const husk__variant *variant,
                          const husk__configuration *configuration)
{
    pthread_mutex_lock(&rejections->lock);
    const bool is_known = find(rejections, variant, configuration) != NULL;
    husk__rejection *fresh = is_known ? NULL : calloc(1, sizeof *fresh);
    if (fresh) {
        *fresh = (husk__rejection){rejections->first, variant, configuration};
        rejections->first = fresh;
        husk__plan_cache_forget(plans); // it may be inside any
    }
    if (fresh || is_known)
        atomic_fetch_add(&rejections->count, 1);
    pthread_mutex_unlock(&rejections->lock);
}

static bool has_variant(const husk__op *op, const husk__variant *variant)
{
    const husk__variant *const *row = op->variants;
    while (*row && *row != variant)
        ++row;
    return *row != NULL;
}

bool husk__rejections_pardon(husk__rejections *rejections, const husk__op *op)
{
    bool any = false;
    pthread_mutex_lock(&rejections->lock);
    for (husk__rejection **at = &rejections->first; *at;) {
        husk__rejection *gone = *at;
        if (!has_variant(op, gone->variant)) {
            at = &gone->next;
            continue;
        }
        *at = gone->next;
        free(gone);
        any = true;
    }
    pthread_mutex_unlock(&rejections->lock);
    return any;
}

bool husk__rejections_have(husk__rejections *rejections, const husk__variant *variant,
                           const husk__configuration *configuration)
{
    pthread_mutex_lock(&rejections->lock);
    const bool is_rejected = find(rejections, variant, configuration) != NULL;
    pthread_mutex_unlock(&rejections->lock);
    return is_rejected;
}
