/* SPDX-License-Identifier: MIT */
/*
 * dist/exchange.h: gradients on their way, in parts: to host memory, to the mean of all ranks, back to the device.
 */
#ifndef HUSK_DIST_EXCHANGE_H
#define HUSK_DIST_EXCHANGE_H

#include "dist/replica.h"

husk_status husk__exchange_make(husk_parallel *own, const husk__dist_scope *scope);
void husk__exchange_release(husk_parallel *own);
/* A bucket's parts begin, when the device has come to ready. */
void husk__exchange_post(husk_parallel *own, size_t bucket, husk_event *ready);
/* The graph's queue goes on when all that was posted is there. */
husk_status husk__exchange_wait(husk_parallel *own, const husk__dist_scope *scope);
const husk_parallel_exchange *husk__exchange_times(const husk_parallel *own, size_t index);

#endif
