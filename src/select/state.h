/* SPDX-License-Identifier: MIT */
/*
 * select/state.h: what a context knows for its choice among variants. Each part belongs to its own file.
 */
#ifndef HUSK_SELECT_STATE_H
#define HUSK_SELECT_STATE_H

#include "base/error.h"
#include "select/engine_states.h"
#include "select/plan_cache.h"
#include "select/variant_list.h"
#include "select/rejections.h"
#include "select/tuning.h"

typedef struct husk__select_state {
    husk__variant_list variant_list;
    husk__rejections rejections;
    husk__tuning *tuning;
    husk__engine_states *engines;
    husk__plan_cache *plans;
} husk__select_state;

/* The context's, made on first use; NULL without memory. */
husk__select_state *husk__select_state_of(husk_context *context);
/* The same, where want of memory is the call's failure: no plan is made without it. */
husk_status husk__select_state_find(husk_context *context, husk__select_state **state, const husk__scope *scope);

#endif
