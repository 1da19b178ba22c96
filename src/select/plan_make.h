/* SPDX-License-Identifier: MIT */
/*
 * select/plan_make.h: making plans: the order of choice.
 */
#ifndef HUSK_SELECT_PLAN_MAKE_H
#define HUSK_SELECT_PLAN_MAKE_H

#include "select/plan.h"

/* husk__plan_create without a second try; the plan does not hold the context. */
husk_status husk__plan_make(husk_context *context, const husk__op *op, const void *problem,
                            const husk__preference *preference, bool is_call, husk_plan **plan, bool *has_skipped,
                            const husk__scope *scope);
/*
 * Where nothing is left but candidates that the device has refused it was no kernel's fault, but want of something that
 * may be there the next time: drivers say CL_OUT_OF_RESOURCES for memory, too. All of them are pardoned then.
 * has_skipped: husk__plan_make has left one out because the device has refused it.
 */
bool husk__plan_may_be_tried_again(husk_context *context, const husk__op *op, bool has_skipped, husk_status status);
/* Of a candidate: another one may take its place. */
bool husk__plan_is_refused(husk_status status);

#endif
