/* SPDX-License-Identifier: MIT */
/* bench/doctor/system.h: GPUs that the system has without an OpenCL device, and why. */
#ifndef BENCH_DOCTOR_SYSTEM_H
#define BENCH_DOCTOR_SYSTEM_H

#include "doctor/findings.h"

void bench_doctor_system(bench_doctor *d);

#endif
