/* SPDX-License-Identifier: MIT */
/* bench/doctor/list.h: devices: which OpenCL lists, and which are meant. */
#ifndef BENCH_DOCTOR_LIST_H
#define BENCH_DOCTOR_LIST_H

#include "doctor/findings.h"

void bench_doctor_devices(bench_doctor *d);
/* Remove what it has made. */
void bench_doctor_tidy(const bench_doctor *d);

#endif
