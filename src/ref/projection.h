/* SPDX-License-Identifier: MIT */
/*
 * ref/projection.h: sums of numbers with random signs, and how far they may be off: what Freivalds' checks share.
 * ref/freivalds.h derives the tolerance and the width of a block.
 */
#ifndef HUSK_REF_PROJECTION_H
#define HUSK_REF_PROJECTION_H

#include "ref/check.h"

HUSK_BEGIN_DECLS

double husk_ref_random_sign(uint64_t seed, int64_t index);

/* Start it with {0}. */
typedef struct husk_ref_projection {
    double value;    /* of the numbers, each with its sign */
    double squares;  /* of the numbers */
    double rounding; /* of the squares of what storing each may have changed */
    int64_t count;
} husk_ref_projection;

/* count numbers, stride elements apart, with signs[0] and so on. */
void husk_ref_project(husk_ref_projection *projection, const husk_ref_array *array, int64_t start, int64_t stride,
                      int64_t count, const double *signs);

/* Columns of a row that are projected by blocks, the last of which may be narrower. */
typedef struct husk_ref_blocks {
    int64_t columns, width, count;
    double *signs; /* [columns] */
} husk_ref_blocks;

husk_ref_projection husk_ref_project_block(const husk_ref_blocks *blocks, const husk_ref_array *array, int64_t start,
                                           int64_t stride, int64_t block);

/*
 * How many of a row's `count` outputs, sums of `length` products, are projected together; most: the blocks that a row
 * may be cut into. factor: as husk_ref_sum_bound's.
 */
int64_t husk_ref_projection_width(husk_dtype dtype, double factor, int64_t length, int64_t count, double most);

/* An output, element by element. Start it with the first three; the rest is 0. */
typedef struct husk_ref_elements {
    husk_ref_function function;
    const husk_ref_array *out;
    int32_t dimension; /* that is projected */
    double spent;      /* multiply-adds */
} husk_ref_elements;

/*
 * Where the magnitude of what has been projected is past the range of its dtype, f64 aside, an element may be infinite
 * by rights. Those that are not finite are then compared one by one, signs[0] being that of the one at the index, and
 * what they should be is projected in their place. Up to 2^26 multiply-adds in all: beyond, the projection stays what
 * it was, and so does that of numbers which are not finite by rights.
 */
void husk_ref_projection_settle(husk_ref_projection *projection, husk_ref_elements *elements, const int64_t *index,
                                const double *signs, double expected, double magnitude, husk_ref_report *report);

/*
 * Compare what has been projected. bound, magnitude: the roots of the sums of the outputs' squared bounds (as if
 * computed in f32) and squared magnitudes, or more. length: what each output may lose to flushed denormals, in
 * HUSK_REF_TINY; bound has it once, as husk_ref_sum_bound does, and not for every output.
 */
void husk_ref_projection_check(const husk_ref_projection *actual, husk_dtype dtype, double expected, double bound,
                               double magnitude, double length, int32_t rank, const int64_t *index,
                               husk_ref_report *report);

HUSK_END_DECLS

#endif
