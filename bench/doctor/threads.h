/* SPDX-License-Identifier: MIT */
/* bench/doctor/threads.h: whether a CPU's driver binds its threads. */
#ifndef BENCH_DOCTOR_THREADS_H
#define BENCH_DOCTOR_THREADS_H

#include "doctor/patient.h"

/* Say whether its threads are left unbound. */
void bench_doctor_threads(bench_patient *p);

#endif
