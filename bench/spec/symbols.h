/* SPDX-License-Identifier: MIT */
/* bench/spec/symbols.h: the names that expressions of a description may use, and what they stand for in a run. */
#ifndef BENCH_SPEC_SYMBOLS_H
#define BENCH_SPEC_SYMBOLS_H

#include "spec/element.h"
#include "spec/scan.h"
#include "spec/value.h"

enum { BENCH_MOST_SYMBOLS = 96 };

typedef enum bench_symbol_kind {
    BENCH_SYMBOL_CONFIG, /* a whole number, which the kernel is compiled with */
    BENCH_SYMBOL_SIZE,   /* a whole number */
    BENCH_SYMBOL_ARGUMENT, /* a scalar */
    BENCH_SYMBOL_BUFFER,
    BENCH_SYMBOL_LOCAL, /* local memory: it has a size alone */
    BENCH_SYMBOL_INDEX, /* of an expectation or a sum: a whole number */
    BENCH_SYMBOL_NAMED  /* by let(...) in an expression: long for whole numbers, double for others */
} bench_symbol_kind;

typedef struct bench_symbol {
    char name[BENCH_NAME_TEXT];
    bench_symbol_kind kind;
    bench_element element; /* of arguments, buffers and what let names */
} bench_symbol;

typedef struct bench_symbols {
    bench_symbol items[BENCH_MOST_SYMBOLS];
    int count;
} bench_symbols;

/* -1: there is none. */
int bench_symbols_find(const bench_symbols *symbols, const char *name);
/* The new one's number. -1, with the mistake said: the name is in use or a word of expressions, or is one too many. */
int bench_symbols_add(bench_symbols *symbols, bench_scan *scan, int column, const bench_symbol *symbol);

/* What the symbols stand for, by their numbers. */
typedef struct bench_binding {
    int64_t integer; /* of whole numbers */
    double real; /* of arguments that are real */
    const void *data; /* of buffers: as they are before the kernel runs */
    int64_t count; /* elements of it */
    bench_value named; /* of a number that let names, if it is no whole one */
} bench_binding;

#endif
