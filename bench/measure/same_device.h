/* SPDX-License-Identifier: MIT */
/*
 * bench/measure/same_device.h: whether figures of two devices, as bench_device_json has them, may stand under one
 * name.
 */
#ifndef BENCH_MEASURE_SAME_DEVICE_H
#define BENCH_MEASURE_SAME_DEVICE_H

#include <jansson.h>

#include "cases/case.h"

/* By what a device says of itself, driver and place on the bus included. before NULL: any is. False: reason. */
bool bench_same_device(const json_t *before, const json_t *device, char reason[BENCH_REASON_TEXT]);

#endif
