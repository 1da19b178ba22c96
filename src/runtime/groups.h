/* SPDX-License-Identifier: MIT */
/*
 * runtime/groups.h: among how many work-groups of a CPU device equal units of work are shared, by the time they take.
 */
#ifndef HUSK_RUNTIME_GROUPS_H
#define HUSK_RUNTIME_GROUPS_H

#include <husk/device.h>

/* What a thread takes to be woken, in nanoseconds; work that takes less is one group's. */
enum { HUSK__WAKING_TIME = 16000 };

/* The units a work-group takes. unit_time: nanoseconds of one core. */
int64_t husk__group_share(const husk_device_traits *traits, int64_t units, double unit_time);

#endif
