/* SPDX-License-Identifier: MIT */
/* bench/spec/point.h: one configuration and one size of a described kernel, and what its numbers come to there. */
#ifndef BENCH_SPEC_POINT_H
#define BENCH_SPEC_POINT_H

#include "spec/spec.h"
#include "spec/evaluate.h"

enum { BENCH_POINT_TEXT = 512 };

typedef struct bench_point {
    const bench_spec *spec;
    bench_binding bindings[BENCH_MOST_SYMBOLS]; /* buffers' count, too; their data is set by who has it */
    bench_evaluation evaluation; /* of whole numbers and arguments */
    double most_operations; /* that judging by a formula may take; filling a buffer may take ten times as many */
} bench_point;

/* Combinations of the parameters' values, those that `where` excludes among them. More than INT32_MAX are as many. */
int64_t bench_spec_config_count(const bench_spec *spec);
/* The values of one, by its number; the last parameter's change first. values: one for each. */
void bench_spec_config(const bench_spec *spec, int64_t number, int64_t *values);
/* The sizes of one; a spec without any has one point, of no numbers. */
int bench_spec_size_count(const bench_spec *spec);
const int64_t *bench_spec_size(const bench_spec *spec, int number);

/* False: something is wrong at this point (a division by zero, a negative count), and reason says what. */
bool bench_point_set(bench_point *point, const bench_spec *spec, const int64_t *config, const int64_t *size,
                     char reason[BENCH_REASON_TEXT]);
/* Whether `where` allows it. False with an empty reason: it does not. */
bool bench_point_is_allowed(bench_point *point, char reason[BENCH_REASON_TEXT]);

/* "WG=64 n=1000": parameters, then sizes. Either may be left out: NULL. */
void bench_point_text(const bench_spec *spec, const int64_t *config, const int64_t *size, char text[BENCH_POINT_TEXT]);
/* " -DWG=64 -DTILE=16": parameters and `define`. */
void bench_point_macros(const bench_point *point, char *text, size_t size);

/* What an expression comes to; false: reason. evaluation.steps: how many operations it took. */
bool bench_point_integer(bench_point *point, const bench_expression *expression, int64_t *value,
                         char reason[BENCH_REASON_TEXT]);
bool bench_point_real(bench_point *point, const bench_expression *expression, double *value,
                      char reason[BENCH_REASON_TEXT]);

#endif
