/* SPDX-License-Identifier: MIT */
/*
 * support/golden_table.h: golden vectors from files, tests/golden/FAMILY.safetensors; tests/golden/golden_file.py says
 * what is in them.
 *
 * A case is a struct, and a table says what of it is in the file: its params' fields (support/golden_params.h), and
 * which of its other members.
 *     struct golden_softmax {
 *         const char *name;
 *         husk_softmax_params params;
 *         golden_array x, y;
 *     };
 *     static golden_table golden_softmax =
 *         GOLDEN_TABLE("softmax", "softmax", struct golden_softmax, GOLDEN_SOFTMAX, name, x, y);
 *
 * Parameters that a case leaves out are zero. All else has to be there, and to be known: what the file has of the table
 * and the struct has not is refused like what is missing.
 */
#ifndef HUSK_TESTS_GOLDEN_TABLE_H
#define HUSK_TESTS_GOLDEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <husk/train/safetensors.h>

typedef struct golden_array {
    int32_t rank;
    int64_t shape[HUSK_MAX_RANK];
    const double *values; /* NULL: there is none */
} golden_array;

typedef enum golden_kind {
    GOLDEN_F32,
    GOLDEN_F64,
    GOLDEN_I32,
    GOLDEN_U32, /* enumerations are this, too */
    GOLDEN_I64,
    GOLDEN_U64,
    GOLDEN_TEXT,
    GOLDEN_ARRAY
} golden_kind;

/* A member of a struct: one of its kind, or several. */
typedef struct golden_field {
    const char *name;
    size_t offset, size;
    golden_kind kind;
} golden_field;

typedef struct golden_table {
    const char *family, *name;
    size_t size;                /* of a case */
    const golden_field *fields; /* up to one without a name */
    int count;
    char *cases;
    double *values; /* of all arrays */
    husk_safetensors *file;
    struct golden_table *next; /* of those that are loaded */
} golden_table;

// clang-format off
#define GOLDEN_KIND(member) \
    _Generic((member), float: GOLDEN_F32, float *: GOLDEN_F32, double: GOLDEN_F64, \
             int32_t: GOLDEN_I32, int32_t *: GOLDEN_I32, uint32_t: GOLDEN_U32, \
             int64_t: GOLDEN_I64, int64_t *: GOLDEN_I64, uint64_t: GOLDEN_U64, \
             const char *: GOLDEN_TEXT, golden_array: GOLDEN_ARRAY, golden_array *: GOLDEN_ARRAY)
#define GOLDEN_FIELD(type, member) \
    {#member, offsetof(type, member), sizeof(((type *)0)->member), GOLDEN_KIND(((type *)0)->member)}

/* Up to 16 members of one struct. */
#define GOLDEN_FIELDS(type, ...) \
    GOLDEN_PICK(__VA_ARGS__, GOLDEN_16, GOLDEN_15, GOLDEN_14, GOLDEN_13, GOLDEN_12, GOLDEN_11, GOLDEN_10, GOLDEN_9, \
                GOLDEN_8, GOLDEN_7, GOLDEN_6, GOLDEN_5, GOLDEN_4, GOLDEN_3, GOLDEN_2, GOLDEN_1, )(type, __VA_ARGS__)
#define GOLDEN_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, picked, ...) picked
#define GOLDEN_1(type, member)       GOLDEN_FIELD(type, member)
#define GOLDEN_2(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_1(type, __VA_ARGS__)
#define GOLDEN_3(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_2(type, __VA_ARGS__)
#define GOLDEN_4(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_3(type, __VA_ARGS__)
#define GOLDEN_5(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_4(type, __VA_ARGS__)
#define GOLDEN_6(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_5(type, __VA_ARGS__)
#define GOLDEN_7(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_6(type, __VA_ARGS__)
#define GOLDEN_8(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_7(type, __VA_ARGS__)
#define GOLDEN_9(type, member, ...)  GOLDEN_FIELD(type, member), GOLDEN_8(type, __VA_ARGS__)
#define GOLDEN_10(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_9(type, __VA_ARGS__)
#define GOLDEN_11(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_10(type, __VA_ARGS__)
#define GOLDEN_12(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_11(type, __VA_ARGS__)
#define GOLDEN_13(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_12(type, __VA_ARGS__)
#define GOLDEN_14(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_13(type, __VA_ARGS__)
#define GOLDEN_15(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_14(type, __VA_ARGS__)
#define GOLDEN_16(type, member, ...) GOLDEN_FIELD(type, member), GOLDEN_15(type, __VA_ARGS__)

#define GOLDEN_TABLE(family_, name_, type, params_fields, ...) \
    { \
        .family = family_, .name = name_, .size = sizeof(type), \
        .fields = (const golden_field[]){params_fields(type) GOLDEN_FIELDS(type, __VA_ARGS__), {0}} \
    }
// clang-format on

enum { GOLDEN_REASON = 512 };

/* How many cases the table has, at least one. Where it is not what it should be, the program ends and says why. */
int golden_load(golden_table *table);
/* The same of the file at path, but the answer is false where something is wrong, and nothing is left to release. */
bool golden_read(golden_table *table, const char *path, char reason[GOLDEN_REASON]);
void golden_release(golden_table *table);

/* One of the cases. */
const void *golden_case(const golden_table *table, int index);

#endif
