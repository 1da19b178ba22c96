/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/value.h: numbers with the error that a kernel's roundings may have brought into them, and operations on
 * them. bench/spec/evaluate.h says by which rules.
 */
#ifndef BENCH_SPEC_VALUE_H
#define BENCH_SPEC_VALUE_H

#include <stdbool.h>

typedef enum bench_operation {
    BENCH_NEGATE,
    BENCH_NOT,
    BENCH_COMPLEMENT,
    BENCH_ADD,
    BENCH_SUBTRACT,
    BENCH_MULTIPLY,
    BENCH_DIVIDE,
    BENCH_FLOOR_DIVIDE,
    BENCH_REMAINDER,
    BENCH_SHIFT_LEFT,
    BENCH_SHIFT_RIGHT,
    BENCH_LESS,
    BENCH_LESS_EQUAL,
    BENCH_GREATER,
    BENCH_GREATER_EQUAL,
    BENCH_EQUAL,
    BENCH_NOT_EQUAL,
    BENCH_BIT_AND,
    BENCH_BIT_XOR,
    BENCH_BIT_OR,
    BENCH_AND,
    BENCH_OR
} bench_operation;

/* How a type rounds. */
typedef struct bench_rounding {
    double unit;     /* roundoff; 0: nothing is rounded */
    int precision;   /* bits of the significand */
    double smallest; /* normal number: what is flushed is below */
    bool is_double;
} bench_rounding;

typedef struct bench_value {
    double value, error;
    double magnitude; /* sum of the absolute terms */
    int grain; /* it is a multiple of 2^grain, and so is each term */
} bench_value;

enum { BENCH_NO_GRAIN = -100000, BENCH_ANY_GRAIN = 100000 /* of zero */ };

bench_value bench_value_exactly(double value);
/* The power of 2 that a number is a multiple of. */
int bench_grain_of(double value);
/* Whether numbers whose absolute values add up to the magnitude, all multiples of 2^grain, are exact in any order. */
bool bench_value_is_exact(const bench_rounding *rounding, double magnitude, int grain);
/* What so many roundings of numbers of this magnitude cost. */
double bench_rounding_cost(const bench_rounding *rounding, double magnitude, double units);
/* The value of a function that errs by so many units beyond its operands' errors, which value.error has. */
bench_value bench_value_rounded(const bench_rounding *rounding, bench_value value, double units);

/* sign: 1, or -1 for a difference. */
bench_value bench_value_add(const bench_rounding *rounding, const bench_value *a, const bench_value *b, double sign);
bench_value bench_value_multiply(const bench_rounding *rounding, const bench_value *a, const bench_value *b);
bench_value bench_value_divide(const bench_rounding *rounding, const bench_value *a, const bench_value *b);

/* 1 or 0. sure: 0 where errors can make it either, so that its error is 1; else its sign. */
bench_value bench_value_truth(int sure, bool value);
/* < <= > >= == != */
bench_value bench_value_compare(bench_operation operation, const bench_value *a, const bench_value *b);
/* -1: surely zero; 1: surely not; 0: errors decide. */
int bench_surely_true(const bench_value *value);

#endif
