/* SPDX-License-Identifier: MIT */
/* bench/doctor/icd.h: drivers that are registered. */
#ifndef BENCH_DOCTOR_ICD_H
#define BENCH_DOCTOR_ICD_H

#include "doctor/findings.h"

void bench_doctor_icds(bench_doctor *d);

#endif
