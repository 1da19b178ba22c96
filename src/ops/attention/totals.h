/* SPDX-License-Identifier: MIT */
/*
 * Totals in scratch memory, which the items of attention's kernels for GPUs have where they add up many tiles:
 * cl/lib/attention_totals.clh. So that scratch memory is the device's affair and not the problem's, a launch has no
 * more work-groups than keep the device busy, and the next one takes the same scratch memory.
 */
#ifndef HUSK_OPS_ATTENTION_TOTALS_H
#define HUSK_OPS_ATTENTION_TOTALS_H

#include "runtime/launch.h"
#include "select/op.h"

typedef struct husk__attention_totals {
    int64_t run; /* tiles that are added up before they join the totals, a power of two; 0: there are few, and none */
    size_t slice; /* work-groups of a launch in dimension 0 */
} husk__attention_totals;

/* For sums over so many tiles, by such work-groups. */
husk__attention_totals husk__attention_totals_of(const husk_device_traits *traits, const husk__range *range,
                                                 int64_t tiles);

/* Bytes of scratch memory, where a work-group has so many totals. */
uint64_t husk__attention_totals_bytes(const husk__attention_totals *totals, const husk__range *range, int64_t of_group,
                                      husk_dtype dtype);

enum { HUSK__ATTENTION_TOTALS_ARGS = 3 };

/* The launches. `list` has `end - list` arguments, and room for HUSK__ATTENTION_TOTALS_ARGS more. */
husk_status husk__attention_totals_launch(const husk__attention_totals *totals, husk_queue *queue,
                                          const husk__kernel *kernel, const husk__range *range, husk__arg *list,
                                          husk__arg *end, const husk__scratch *scratch, husk_dtype dtype,
                                          const husk__scope *scope);

#endif
