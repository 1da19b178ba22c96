/* SPDX-License-Identifier: MIT */
/*
 * runtime/context.h: what contexts keep for the floors above.
 */
#ifndef HUSK_RUNTIME_CONTEXT_H
#define HUSK_RUNTIME_CONTEXT_H

#include "base/error.h"

const husk__log *husk__context_log(const husk_context *context);

/*
 * Each floor above keeps one object of its own in a context: what the device can do, the state of its choice. Made
 * once, under a lock; create calls nothing that may wait for another call on the context.
 */
enum { HUSK__EXTENSION_MACHINE, HUSK__EXTENSION_SELECT };
void *husk__context_extension(husk_context *context, int which, void *(*create)(husk_context *context),
                              void (*destroy)(void *extension));
const husk_device *husk__context_device(const husk_context *context);
/* What a call's params ask for, the context's where that is DEFAULT: never DEFAULT. */
husk_precision husk__context_precision(const husk_context *context, husk_precision asked);
/* husk_context_params.plan_cache_capacity, resolved. */
size_t husk__context_plan_cache_capacity(const husk_context *context);

/* Called when the context goes, while its OpenCL objects still live, last registered first; once an action. */
husk_status husk__context_on_release(husk_context *context, void (*action)(husk_context *context),
                                     const husk__scope *scope);

/* For husk_context_program_stats. */
void husk__context_count_plan(husk_context *context, bool hit);

#endif
