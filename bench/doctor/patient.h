/* SPDX-License-Identifier: MIT */
/* bench/doctor/patient.h: one device, and what its worker is asked. */
#ifndef BENCH_DOCTOR_PATIENT_H
#define BENCH_DOCTOR_PATIENT_H

#include "doctor/findings.h"
#include "measure/runner_process.h"

typedef struct bench_patient {
    bench_doctor *d;
    bench_runner_process husk;
    char name[300], preference[128]; /* "0:0 NAME", and what -d takes */
    char quoted[4 * 128];      /* that, as a shell takes it */
} bench_patient;

/* Ask its worker for a number; false: reason. */
bool bench_doctor_ask(bench_patient *p, const char *what, const char *key, double *value,
                      char reason[BENCH_REASON_TEXT]);

#endif
