/* SPDX-License-Identifier: MIT */
/*
 * dist/task.h: what the program posts and waits for, and what the library's thread does for it.
 */
#ifndef HUSK_DIST_TASK_H
#define HUSK_DIST_TASK_H

#include "dist/rank.h"

/* ---- the program's thread -------------------------------------------------------------------------------- */

/* Room for so many requests; false: no memory. The task is zeros otherwise. */
bool husk__task_init(husk__task *task, int requests);
void husk__task_clear(husk__task *task);
void husk__task_post(husk_dist *dist, husk__task *task);
/* HUSK_OK when it has ended; else the failure of the run, as the scope's. */
husk_status husk__task_wait(husk_dist *dist, husk__task *task, const husk__dist_scope *scope);

/* ---- the library's thread -------------------------------------------------------------------------------- */

husk_status husk__task_send(husk_dist *dist, husk__task *task, const void *data, size_t bytes, int32_t peer, int tag,
                            husk_error *error);
husk_status husk__task_receive(husk_dist *dist, husk__task *task, void *data, size_t bytes, int32_t peer, int tag,
                               husk_error *error);
/* Whether the device has come to an event. */
husk_status husk__task_device(const husk__task *task, husk_event *event, bool *settled, husk_error *error);
/* Whether all that is open has ended; then nothing is open. A message that was too long: `too_long_from` says whose. */
husk_status husk__task_settled(husk__task *task, bool *settled, husk_error *error);
/* The first rank that a task waits for; HUSK__NONE: for the device. */
int32_t husk__task_waits_for(const husk__task *task);

#endif
