/* SPDX-License-Identifier: MIT */
/*
 * runtime/profile.h: per-command times.
 */
#ifndef HUSK_RUNTIME_PROFILE_H
#define HUSK_RUNTIME_PROFILE_H

#include <CL/cl.h>

#include <husk/queue.h>

/* Where a command's event goes: NULL unless the queue profiles. */
cl_event *husk__profile_event(husk_queue *queue, cl_event *event);
void husk__profile_keep(husk_queue *queue, const char *name, cl_event event);

#endif
