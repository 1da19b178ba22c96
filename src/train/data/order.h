/* SPDX-License-Identifier: MIT */
/*
 * train/data/order.h: examples in an order of their own: numbers that follow from seed, purpose and epoch.
 */
#ifndef HUSK_TRAIN_DATA_ORDER_H
#define HUSK_TRAIN_DATA_ORDER_H

#include <stdint.h>

/* A permutation of 0 ... count - 1 that follows from seed, purpose and epoch. */
void husk__order(int64_t *order, int64_t count, uint64_t seed, const char *purpose, uint64_t epoch);
/* One that follows from a counted random number, 0 ... limit - 1. */
int64_t husk__draw(uint64_t seed, const char *purpose, uint64_t epoch, uint64_t index, int64_t limit);

#endif
