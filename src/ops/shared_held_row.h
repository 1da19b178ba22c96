/* SPDX-License-Identifier: MIT */
/*
 * ops/shared_held_row.h: the configurations of kernels that hold rows in the registers of a few work-items, on GPUs:
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
/* What the kernels' options are besides, with a blank before it: registers for enough work-items at a time. */
const char *husk__held_options(const husk__configuration *configuration, husk_dtype dtype,
                               const husk_device_traits *traits);
husk__range husk__held_range(const husk__configuration *configuration, int64_t rows, const husk_device_traits *traits);

#endif
