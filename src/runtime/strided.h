/* SPDX-License-Identifier: MIT */
/*
 * runtime/strided.h: two or three tensors of one shape, made simple for the kernels that use cl/lib/strided.clh.
 *
 * Dimensions of one element are dropped, the others sorted by their strides, and those that lie one after the
 * other in all tensors merged: two packed tensors become one dimension, whatever their layout, if it is the same.
 */
#ifndef HUSK_RUNTIME_STRIDED_H
#define HUSK_RUNTIME_STRIDED_H

#include "runtime/launch.h"

typedef struct husk__strided_dimension {
    int64_t extent;
    int64_t x_stride;
    int64_t y_stride;
    int64_t z_stride; /* of the third tensor; 0 where there are two */
} husk__strided_dimension;

typedef struct husk__strided {
    int32_t rank;                                      /* may be 0: one element */
    husk__strided_dimension dimensions[HUSK_MAX_RANK]; /* the last has the smallest strides */
} husk__strided;

/* Resolved tensors of one shape without zero-sized dimensions; dimension `but` is left out (-1: none). */
husk__strided husk__strided_make(const husk_tensor *x, const husk_tensor *y, int32_t but);

/* The same for three tensors; x and y are those that STRIDED_PARAMS speaks of. */
husk__strided husk__strided_make_three(const husk_tensor *x, const husk_tensor *y, const husk_tensor *z, int32_t but);

/* Take the last dimension out; extent 1 and strides 0 where there is none. */
husk__strided_dimension husk__strided_take_last(husk__strided *strided);

/* Rows: the product of the extents. */
int64_t husk__strided_count(const husk__strided *strided);

/* How far the last element of a tensor lies from the first, or how many there are: see husk__needs_index_64. */
int64_t husk__strided_reach(const husk__strided *strided);

/* Write STRIDED_PARAMS' arguments, HUSK__STRIDED_ARGS of them. At most 7 dimensions. Returns their end. */
enum { HUSK__STRIDED_OUTER = 7, HUSK__STRIDED_ARGS = 1 + 3 * HUSK__STRIDED_OUTER };
husk__arg *husk__strided_write_args(const husk__strided *strided, husk__arg *arguments);
/* STRIDED_Z_PARAMS' arguments, HUSK__STRIDED_OUTER of them. */
husk__arg *husk__strided_write_third(const husk__strided *strided, husk__arg *arguments);

#endif
