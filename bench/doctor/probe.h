/* SPDX-License-Identifier: MIT */
/* bench/doctor/probe.h: what runs in a process of its own. */
#ifndef BENCH_DOCTOR_PROBE_H
#define BENCH_DOCTOR_PROBE_H

/* In the child: the exit code of the process. */
int bench_doctor_probe(const char *what, const char *argument);

#endif
