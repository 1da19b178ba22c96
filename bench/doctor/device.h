/* SPDX-License-Identifier: MIT */
/* bench/doctor/device.h: devices: results and clocks. */
#ifndef BENCH_DOCTOR_DEVICE_H
#define BENCH_DOCTOR_DEVICE_H

#include "doctor/findings.h"

/* Results, clock and speed of each. */
void bench_doctor_measure(bench_doctor *d);

/* Seconds that its operators are given: HUGE_VAL for no limit. */
double bench_doctor_check_seconds(const bench_options *options);

#endif
