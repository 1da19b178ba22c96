/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/function.h: the functions of expressions: their values in double, and how far OpenCL C's may be from them.
 *
 * Errors in units in the last place are those of the OpenCL C specification (version 3.0, "Relative Error as ULPs",
 * full profile). Half's are taken as float's, which are larger.
 */
#ifndef BENCH_SPEC_FUNCTION_H
#define BENCH_SPEC_FUNCTION_H

#include <stdbool.h>

enum { BENCH_MOST_OPERANDS = 3 };

/* How an operand that is off by an error moves the value. */
typedef enum bench_shape {
    BENCH_SHAPE_MONOTONE, /* no more than at the ends of what the operand may be; also of what turns once */
    BENCH_SHAPE_SLOPE_1,  /* no more than the operand itself does */
    BENCH_SHAPE_STEP,     /* at the ends, and by whole numbers: floor */
    BENCH_SHAPE_TAN,      /* as its derivative says, and without a bound across a pole */
    BENCH_SHAPE_WRAP,     /* at the corners, and by the second operand where it wraps around: fmod */
    BENCH_SHAPE_CORNERS   /* two operands or three: no more than at the corners */
} bench_shape;

typedef struct bench_function {
    const char *name;
    int operands;
    double (*one)(double);
    double (*two)(double, double);
    double (*three)(double, double, double);
    double ulps, ulps_f64; /* beyond its operands' errors; 0.5: correctly rounded; 0: exact */
    bench_shape shape;
    double least, most; /* of one operand: where it is defined */
    bool is_whole; /* whole numbers of whole numbers */
} bench_function;

/* NULL: there is none. */
const bench_function *bench_function_find(const char *name);
/* NULL past the end. */
const bench_function *bench_function_get(int index);
double bench_function_value(const bench_function *function, const double *operands);

#endif
