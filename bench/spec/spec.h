/* SPDX-License-Identifier: MIT */
/*
 * bench/spec/spec.h: a kernel that was described, so that clbench can run and verify it (docs/verify-kernels.md).
 *
 * It is buffers, launches that work on them one after the other, and what the buffers should hold then. One of
 * `kernel` has one launch, whose arguments are its `arg` lines; one of `pipeline` has a launch for each `step`.
 */
#ifndef BENCH_SPEC_SPEC_H
#define BENCH_SPEC_SPEC_H

#include "spec/expression.h"

enum {
    BENCH_MOST_CONFIGS = 24,   /* parameters of a kernel */
    BENCH_MOST_DEFINES = 24,
    BENCH_MOST_RULES = 24,     /* `where` */
    BENCH_MOST_BUFFERS = 24,
    BENCH_MOST_STEPS = 16,
    BENCH_MOST_ARGUMENTS = 40, /* of one launch */
    BENCH_MOST_RANGES = 6,     /* indices of an expectation */
    BENCH_MOST_EXPECTATIONS = 24,
    BENCH_MOST_SIZES = 16,     /* names of sizes */
    BENCH_MOST_LIMITS = 8,
    BENCH_MOST_INCLUDES = 8,
    BENCH_MOST_WIDTH = 16,     /* numbers of a vector */
    BENCH_PATH_TEXT = 512
};

/* A parameter that the kernel is compiled with: each of its values is tried. */
typedef struct bench_config {
    int symbol;
    int64_t *values;
    int count;
} bench_config;

/* -DNAME=VALUE, or a name for a number that the description uses itself (`let`). */
typedef struct bench_define {
    int symbol;
    bool is_macro;
    bench_expression value;
} bench_define;

/* Points of the sizes: `names` numbers each. */
typedef struct bench_sizes {
    int symbols[BENCH_MOST_SIZES];
    int names;
    int64_t *values; /* [count][names] */
    int count;
} bench_sizes;

typedef enum bench_access {
    BENCH_ACCESS_IN,
    BENCH_ACCESS_OUT,
    BENCH_ACCESS_INOUT,
    BENCH_ACCESS_SCRATCH /* of a pipeline: nobody asks what it holds */
} bench_access;

typedef enum bench_filling {
    BENCH_FILL_POISON, /* NaN, or what no kernel makes by chance */
    BENCH_FILL_UNIFORM, /* from a to below b */
    BENCH_FILL_NORMAL, /* mean a, standard deviation b */
    BENCH_FILL_INTEGERS, /* a to b, both among them */
    BENCH_FILL_CONSTANT, /* a */
    BENCH_FILL_RAMP, /* a, a + b, a + 2 b ... */
    BENCH_FILL_PERMUTATION, /* 0 to count - 1, each once */
    BENCH_FILL_SPECIAL, /* uniform, and NaN, infinities, zeros of both signs, denormals among them */
    BENCH_FILL_FORMULA, /* of its index */
    BENCH_FILL_FILE /* .npy */
} bench_filling;

typedef struct bench_generator {
    bench_filling filling;
    double a, b;
    bench_expression numbers[2]; /* a and b, where they depend on parameters or sizes; else without nodes */
    int index; /* FORMULA: its symbol */
    bench_expression formula;
    char path[BENCH_PATH_TEXT];
} bench_generator;

typedef struct bench_buffer {
    int symbol;
    bool is_constant; /* __constant */
    bench_access access;
    bool is_restored; /* INOUT: put back before every timed run */
    bench_element element;
    bench_expression count;
    bench_generator generator;
    int line;
} bench_buffer;

typedef enum bench_argument_kind {
    BENCH_ARGUMENT_BUFFER,
    BENCH_ARGUMENT_SCALAR,
    BENCH_ARGUMENT_LOCAL
} bench_argument_kind;

typedef struct bench_argument {
    bench_argument_kind kind;
    int buffer; /* BUFFER */
    bench_element element; /* SCALAR, LOCAL */
    int width; /* SCALAR: 1, or a vector's 2, 3, 4, 8 or 16 */
    bench_expression values[BENCH_MOST_WIDTH]; /* SCALAR: width of them, or one for all; LOCAL: elements */
    int value_count;
    int symbol; /* SCALAR with a name; or -1 */
} bench_argument;

typedef struct bench_step {
    char function[BENCH_NAME_TEXT];
    char file[BENCH_PATH_TEXT]; /* as in the description; "": the kernel's */
    bench_argument arguments[BENCH_MOST_ARGUMENTS];
    int argument_count;
    bench_expression local[3], global[3];
    int dimensions, local_dimensions; /* local: 0: the driver's choice */
    bool is_groups; /* global: numbers of work-groups */
    int line;
} bench_step;

typedef enum bench_expected_by {
    BENCH_BY_FORMULA,
    BENCH_BY_OPERATOR, /* one of Husk's, by its reference */
    BENCH_BY_FUNCTION, /* of a shared object */
    BENCH_BY_FILE,     /* .npy */
    BENCH_BY_NOBODY    /* `anything`, `repeatable` */
} bench_expected_by;

typedef enum bench_tolerance {
    BENCH_WITHIN_DERIVED, /* of formulas and operators */
    BENCH_WITHIN_WORST,   /* the same, worst case for sums */
    BENCH_WITHIN_ULPS,
    BENCH_WITHIN_ABSOLUTE,
    BENCH_WITHIN_RELATIVE,
    BENCH_WITHIN_NOTHING /* exactly */
} bench_tolerance;

typedef struct bench_range {
    int symbol;
    bench_expression end;
} bench_range;

/* A key of an operator's case, or an operand of it. */
typedef struct bench_operand_of {
    char key[BENCH_NAME_TEXT];
    int buffer;            /* -1: a value */
    char word[BENCH_NAME_TEXT]; /* "": the expression */
    bench_expression value;
} bench_operand_of;

enum { BENCH_MOST_KEYS = 32 };

typedef struct bench_expectation {
    int buffer;
    bench_expected_by by;
    bench_range ranges[BENCH_MOST_RANGES];
    int range_count;
    bench_expression subscript, formula;
    bench_element computed_in;
    bench_tolerance tolerance;
    double limit; /* ULPS, ABSOLUTE, RELATIVE */
    bool any_order; /* runs may differ: `in any order` in how they round, as atomic sums do; `anything` in everything */
    char path[BENCH_PATH_TEXT], function[BENCH_NAME_TEXT]; /* FUNCTION, FILE */
    char op[BENCH_NAME_TEXT]; /* OPERATOR */
    bench_operand_of keys[BENCH_MOST_KEYS];
    int key_count;
    int line;
} bench_expectation;

/* `limit registers<=128`: of what offline compilers say. */
typedef struct bench_limit {
    char what[BENCH_NAME_TEXT];
    int64_t most;
} bench_limit;

typedef enum bench_program_form { BENCH_FROM_SOURCE, BENCH_FROM_SPIRV, BENCH_FROM_BINARY } bench_program_form;

typedef struct bench_spec {
    char name[BENCH_NAME_TEXT];
    bool is_pipeline;
    char file[BENCH_PATH_TEXT]; /* relative to the description, as it is written there */
    bench_program_form form;
    char options[BENCH_LONGEST_WORD];
    char includes[BENCH_MOST_INCLUDES][BENCH_PATH_TEXT];
    int include_count;
    bench_symbols symbols;
    bench_config configs[BENCH_MOST_CONFIGS];
    int config_count;
    bench_expression rules[BENCH_MOST_RULES];
    int rule_count;
    bench_define defines[BENCH_MOST_DEFINES];
    int define_count;
    bench_sizes sizes;
    bench_sizes measured; /* the points of `measure`: of the same names; none: count 0 */
    bench_buffer buffers[BENCH_MOST_BUFFERS];
    int buffer_count;
    bench_step steps[BENCH_MOST_STEPS];
    int step_count;
    bench_expectation expectations[BENCH_MOST_EXPECTATIONS];
    int expectation_count;
    bench_expression flops, bytes;
    bench_limit limits[BENCH_MOST_LIMITS];
    int limit_count;
    int line; /* where it begins */
} bench_spec;

/* The symbol's buffer; -1: it is none. */
int bench_spec_buffer_of(const bench_spec *spec, int symbol);
/* Whether results are compared with anything. */
bool bench_spec_compares(const bench_spec *spec);
void bench_spec_free(bench_spec *spec);

#endif
