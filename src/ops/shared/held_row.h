/* SPDX-License-Identifier: MIT */
/*
 * ops/shared/held_row.h: the configurations of kernels that hold rows in the registers of a few work-items, on GPUs:
 * cl/lib/held_row.clh.
 */
#ifndef HUSK_OPS_SHARED_HELD_ROW_H
#define HUSK_OPS_SHARED_HELD_ROW_H

#include "runtime/launch.h"
#include "select/op.h"

enum { HUSK__HELD_ITEMS, HUSK__HELD_FOURS }; /* of a row; of an item: a configuration's numbers */
enum { HUSK__HELD_MENU = 8 };
extern const husk__configuration husk__held_menu[HUSK__HELD_MENU];

/* Whether rows of so many elements fit, and the device has such work-groups. */
bool husk__held_supports(const husk__candidate *candidate, int64_t length, char reason[HUSK__REASON_CAPACITY]);
/* Below 0, which is what kernels that read rows several times say: few registers that hold nothing, and busy units. */
double husk__held_cost(const husk__candidate *candidate, int64_t rows, int64_t length);
/* The kernel called name of a file, built for the dtype, the plan's configuration and more options; and its launch. */
husk_status husk__held_prepare(const husk_plan *plan, husk_dtype dtype, int64_t rows, const char *more,
                               const char *file, const char *name, const husk__kernel **kernel, husk__range *range,
                               const husk__scope *scope);

#endif
