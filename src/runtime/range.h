/* SPDX-License-Identifier: MIT */
/*
 * runtime/range.h: how much a launch is.
 */
#ifndef HUSK_RUNTIME_RANGE_H
#define HUSK_RUNTIME_RANGE_H

#include <stddef.h>
#include <stdint.h>

/* Work-items of one dimension of a launch: most drivers count them in 32 bits. */
#define HUSK__MOST_ITEMS INT64_C(0xffffffff)

/* Work-groups of a dimension but the first at most: NVIDIA's end at 65,535. What has more goes on elsewhere. */
enum { HUSK__MOST_GROUPS = 32768 };

/* Number of work-groups in each dimension, and work-items a group; 0 groups launch nothing. */
typedef struct husk__range {
    size_t groups[3];
    size_t items[3];
} husk__range;

#endif
