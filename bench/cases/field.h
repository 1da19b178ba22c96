/* SPDX-License-Identifier: MIT */
/*
 * bench/cases/field.h: the keys of a case as a table: parsing, spelling help, and the canonical form come from it.
 */
#ifndef BENCH_CASES_FIELD_H
#define BENCH_CASES_FIELD_H

#include "cases/case.h"

typedef enum bench_field_type {
    BENCH_FIELD_INTEGER,
    BENCH_FIELD_REAL,
    BENCH_FIELD_CHOICE,
    BENCH_FIELD_LIST, /* int64_t[3]: 2, or 1x2 with one number a space dimension */
    BENCH_FIELD_PAD   /* two int64_t[3]: as a list, or BEGIN:END; without END the end is as the beginning */
} bench_field_type;

typedef struct bench_choice {
    const char *text; /* the first text of a value is the canonical one; NULL ends the table */
    int64_t value;
} bench_choice;

typedef struct bench_field {
    const char *key;
    bench_field_type type;
    size_t offset, size; /* the member of bench_case; of a pair of lists the first */
    size_t offset_end;   /* PAD: the second */
    bool required;
    double initial;              /* the default, every element of a list */
    int64_t minimum;             /* INTEGER, LIST, PAD */
    const bench_choice *choices; /* CHOICE */
    const char *help;            /* a few words for `clbench list --grammar` and the manual */
} bench_field;

#define BENCH_REQUIRED(key_, member, minimum_, help_)                                                      \
    {                                                                                                      \
        .key = key_, .type = BENCH_FIELD_INTEGER, BENCH_AT(member), .required = true, .minimum = minimum_, \
        .help = help_                                                                                      \
    }
#define BENCH_INTEGER(key_, member, initial_, minimum_, help_)                           \
    {                                                                                    \
        .key = key_, .type = BENCH_FIELD_INTEGER, BENCH_AT(member), .initial = initial_, \
        .minimum = minimum_, .help = help_                                               \
    }
#define BENCH_REAL(key_, member, initial_, help_)                                                   \
    {                                                                                               \
        .key = key_, .type = BENCH_FIELD_REAL, BENCH_AT(member), .initial = initial_, .help = help_ \
    }
#define BENCH_CHOICE(key_, member, initial_, choices_, help_)                                                \
    {                                                                                                        \
        .key = key_, .type = BENCH_FIELD_CHOICE, BENCH_AT(member), .initial = initial_, .choices = choices_, \
        .help = help_                                                                                        \
    }
#define BENCH_LIST(key_, member, initial_, minimum_, help_)                                                \
    {                                                                                                      \
        .key = key_, .type = BENCH_FIELD_LIST, BENCH_AT(member), .initial = initial_, .minimum = minimum_, \
        .help = help_                                                                                      \
    }
#define BENCH_PAD(key_, member, member_end, help_)                    \
    {                                                                 \
        .key = key_, .type = BENCH_FIELD_PAD, BENCH_AT(member),       \
        .offset_end = offsetof(bench_case, member_end), .help = help_ \
    }
#define BENCH_AT(member) .offset = offsetof(bench_case, member), .size = sizeof(((bench_case *)0)->member)

/* Keys that several operators share; bits of bench_op.common. */
enum {
    BENCH_COMMON_DTYPE = 1,
    BENCH_COMMON_PRECISION = 2,
    BENCH_COMMON_LAYOUT = 4,
    BENCH_COMMON_ACT = 8,
    BENCH_COMMON_PACKED = 16,
    BENCH_COMMON_DIR = 32
};

extern const bench_choice bench_flag_choices[]; /* 0 and 1 */
extern const bench_choice bench_act_choices[];

/* The index-th of those whose bits are in common; NULL past the end. */
const bench_field *bench_common_field(unsigned common, size_t index);

/* "fwd" ... */
const char *bench_direction_text(bench_direction dir);

#endif
