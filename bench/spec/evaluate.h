/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/evaluate.h: what an expression comes to, and how far from it a right kernel may end.
 *
 * The value is computed in double. Its error bound is a running one (N. J. Higham: Accuracy and Stability of Numerical
 * Algorithms, 2nd edition, section 3.3): each operation adds what rounding it to the kernel's type costs, to what its
 * operands' errors become.
 *
 * - A sum of n terms, in whatever order: (4 + 2 sqrt n) u sum |terms|, as Husk's own operators have it. It is not the
 *   worst case (n - 1), but a bound that roundings which are independent of each other practically never pass (N. J.
 *   Higham, T. Mary: A New Approach to Probabilistic Rounding Error Analysis, 2019). `worst` asks for the worst case.
 * - What is exact in any order has no error: sums and products of numbers that are multiples of one power of 2, and
 *   whose absolute values together fit into the significand. So whole numbers show a wrong index as a wrong number.
 * - Functions have the errors of the OpenCL C specification (spec/function.h).
 * - A comparison that errors can decide either way makes both results right, and what lies between.
 * - Each rounded operation may flush a denormal.
 */
#ifndef BENCH_SPEC_EVALUATE_H
#define BENCH_SPEC_EVALUATE_H

#include "spec/expression.h"
#include "spec/value.h"

typedef struct bench_evaluation {
    const bench_symbols *symbols;
    bench_binding *bindings; /* by symbol; indices are written */
    bench_rounding rounding; /* of the type that the kernel computes in */
    bool worst;
    double steps; /* operations so far */
    double most_steps; /* and at most; 0: no limit. Beyond it nothing is evaluated, and it has failed */
    bool has_failed;
    char reason[BENCH_REASON_TEXT];
} bench_evaluation;

/* For kernels that compute in the type; of integer types nothing is rounded. */
void bench_evaluation_begin(bench_evaluation *evaluation, const bench_symbols *symbols, bench_binding *bindings,
                            bench_element computed_in);

/* Where has_failed says so, what it returns means nothing. */
bench_value bench_evaluate(bench_evaluation *evaluation, const bench_expression *expression);
/* Of an expression whose root is a whole number. */
int64_t bench_evaluate_integer(bench_evaluation *evaluation, const bench_expression *expression);

#endif
