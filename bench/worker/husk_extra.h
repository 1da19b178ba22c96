/* SPDX-License-Identifier: MIT */
/* bench/worker/husk_extra.h: what only the library's own worker can answer. */
#ifndef BENCH_WORKER_HUSK_EXTRA_H
#define BENCH_WORKER_HUSK_EXTRA_H

#include <jansson.h>

#include <husk/husk.h>

/*
 * bench_worker_extra of husk's worker: "hello" (device, notes, status), "devices", "prewarm", "peaks",
 * "sentinel", "trust", "memory", "overhead", "first", "tuning".
 */
json_t *bench_husk_extra(void *session, const char *what, json_t *request);

/* A device's traits, and the list's notes, as JSON. */
json_t *bench_device_json(const husk_device *device);
json_t *bench_notes_json(const husk_device_list *list);

#endif
