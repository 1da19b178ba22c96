/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/expression.h: formulas of a description: sizes, and what a kernel should compute.
 *
 *     a ? b : c    || && | ^ & == != < <= > >= << >> + - * / // % - ! ~    f(x)    buffer[i]
 *     sum(k<K, a[i*K+k]*b[k*N+j])      also product, min and max; sum(1<=k<K, ...); sum(r<3, s<3, ...)
 *     int(x) uint(x) float(x) ...      converted, as OpenCL C does
 *     let(a = x[i] + 1, b = a*a, a + b)      names for what is used several times
 *
 * They bind as in C. "/" is the quotient, also of whole numbers: ceil(n/64), floor(i/2). "//" is its floor, and "%"
 * what is left, of whole numbers. Whole numbers have 64 bits and wrap around.
 */
#ifndef BENCH_SPEC_EXPRESSION_H
#define BENCH_SPEC_EXPRESSION_H

#include "spec/function.h"
#include "spec/symbols.h"
#include "spec/value.h"
#include "spec/words.h"

typedef enum bench_node_kind {
    BENCH_NODE_INTEGER,
    BENCH_NODE_REAL,
    BENCH_NODE_SYMBOL,
    BENCH_NODE_ELEMENT,   /* symbol[child 0] */
    BENCH_NODE_OPERATION, /* of one child or two */
    BENCH_NODE_CONDITION, /* child 0 ? child 1 : child 2 */
    BENCH_NODE_CALL,      /* function(children) */
    BENCH_NODE_CONVERT,   /* element(child 0) */
    BENCH_NODE_REDUCE,    /* symbol from child 0 to below child 1, child 2 of each */
    BENCH_NODE_LET        /* child 1, in which the symbol is child 0 */
} bench_node_kind;

typedef struct bench_node {
    bench_node_kind kind;
    bool is_integer; /* a whole number of 64 bits */
    bool is_static;  /* of whole numbers and literals alone: no rounding of a kernel is in it */
    bool is_named;   /* SYMBOL: by let */
    bench_operation operation;
    bench_reduction reduction;
    bench_element element; /* CONVERT */
    const bench_function *function;
    int symbol;
    int child[3];
    int64_t integer;
    double real;
    int column;
} bench_node;

typedef struct bench_expression {
    bench_node *nodes;
    int count, root; /* root: -1 where there is none */
    const char *file; /* where it stands, for what is found when it is evaluated */
    int line;
} bench_expression;

/*
 * Reads as far as the expression goes. The symbols of indices that it introduces are gone behind it. False: the mistake
 * is said. Free it in both cases.
 */
bool bench_expression_parse(bench_scan *scan, bench_symbols *symbols, bench_expression *expression);
/* The same of what is to be a whole number; what: how the message calls it. */
bool bench_expression_parse_integer(bench_scan *scan, bench_symbols *symbols, bench_expression *expression,
                                    const char *what);
void bench_expression_free(bench_expression *expression);

static inline const bench_node *bench_expression_root(const bench_expression *expression)
{
    return expression->root >= 0 ? &expression->nodes[expression->root] : 0;
}

#endif
