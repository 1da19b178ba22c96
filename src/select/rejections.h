/* SPDX-License-Identifier: MIT */
/*
 * select/rejections.h: what a context has learned about variants that its device refuses.
 */
#ifndef HUSK_SELECT_REJECTIONS_H
#define HUSK_SELECT_REJECTIONS_H

#include <pthread.h>
#include <stdatomic.h>

#include "select/op.h"
#include "select/plan_cache.h"

typedef struct husk__rejections {
    pthread_mutex_t lock;
    struct husk__rejection *first;
    _Atomic uint64_t count; /* of all there have been */
} husk__rejections;

void husk__rejections_init(husk__rejections *rejections);
void husk__rejections_destroy(husk__rejections *rejections);

/*
 * The device refused this candidate: it is not chosen by itself again, and every plan is forgotten, as it may be inside
 * any. Where there is no memory to remember it, nothing is done.
 */
void husk__rejections_add(husk__rejections *rejections, husk__plan_cache *plans, const husk__variant *variant,
                          const husk__configuration *configuration);
/* How many there have been. */
uint64_t husk__rejections_count(husk__rejections *rejections);
/* All of an operator's candidates are taken into account again. False where none had been refused. */
bool husk__rejections_pardon(husk__rejections *rejections, const husk__op *op);
bool husk__rejections_have(husk__rejections *rejections, const husk__variant *variant,
                           const husk__configuration *configuration);

#endif
