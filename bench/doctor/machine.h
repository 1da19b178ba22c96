/* SPDX-License-Identifier: MIT */
/* bench/doctor/machine.h: files of the machine that is looked at. */
#ifndef BENCH_DOCTOR_MACHINE_H
#define BENCH_DOCTOR_MACHINE_H

#include "doctor/findings.h"

/* A path on the machine that is looked at, and a file's text there: malloc'ed, NULL where it cannot be read. */
void bench_doctor_path(const bench_doctor *d, char path[BENCH_DOCTOR_PATH], const char *format, ...) BENCH_PRINTF(3, 4);
char *bench_doctor_read(const bench_doctor *d, const char *path, size_t *size);
bool bench_doctor_exists(const bench_doctor *d, const char *path);

#endif
