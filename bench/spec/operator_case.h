/* SPDX-License-Identifier: MIT */
/* bench/spec/operator_case.h: the operator of Husk's by which a result is expected. */
#ifndef BENCH_SPEC_OPERATOR_CASE_H
#define BENCH_SPEC_OPERATOR_CASE_H

#include "spec/point.h"

/* The first expectation by an operator; NULL: there is none. */
const bench_expectation *bench_spec_operator(const bench_spec *spec);

/* The line of the operator's case that an expectation stands for, at a point. False: reason. */
bool bench_kernel_case(bench_point *point, const bench_expectation *expectation, char *line, size_t size,
                       char reason[BENCH_REASON_TEXT]);

#endif
