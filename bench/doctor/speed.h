/* SPDX-License-Identifier: MIT */
/* bench/doctor/speed.h: whether a device holds its speed. */
#ifndef BENCH_DOCTOR_SPEED_H
#define BENCH_DOCTOR_SPEED_H

#include "doctor/patient.h"

/* Seconds for which it is kept busy. */
double bench_doctor_heat_seconds(const bench_options *options);

/* Keep it busy, and say whether it becomes slower. */
void bench_doctor_heat(bench_patient *p);

/* What rates say that were taken at times, seconds from the start on, of a device that was busy for so long. */
typedef struct bench_speed {
    double first, last; /* of the first and the last fifth of the time */
    double change;      /* last over first, less one */
    double noise;       /* half of its 95% interval */
    double least;       /* what of a fall is left at that interval's end; negative: none is sure */
    double usual, best; /* of 25 parts of the time: the median, and what a tenth is above */
    bool slows, is_contended;
} bench_speed;
/* False: there are too few for that. */
bool bench_doctor_judge_speed(const double *rates, const double *times, size_t count, double seconds,
                              bench_speed *speed);

#endif
