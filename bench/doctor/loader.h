/* SPDX-License-Identifier: MIT */
/* bench/doctor/loader.h: OpenCL loaders, and the variables that lead them. */
#ifndef BENCH_DOCTOR_LOADER_H
#define BENCH_DOCTOR_LOADER_H

#include "doctor/findings.h"

void bench_doctor_loader(bench_doctor *d);

#endif
