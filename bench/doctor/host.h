/* SPDX-License-Identifier: MIT */
/* bench/doctor/host.h: what the process may use, cache folders, variables. */
#ifndef BENCH_DOCTOR_HOST_H
#define BENCH_DOCTOR_HOST_H

#include "doctor/findings.h"

void bench_doctor_host(bench_doctor *d);

#endif
