/* SPDX-License-Identifier: MIT */
/*
 * runtime/loops.h: an output and up to three inputs of one shape, any of them broadcast, made simple for the kernels
 * that use cl/lib/loops.clh. runtime/strided.h does the same for two tensors.
 *
 * Dimensions of one element are dropped, the others sorted by their strides, and those that lie one after the
 * other in all tensors merged: packed tensors become one dimension, whatever their layout, if it is the same.
 */
#ifndef HUSK_RUNTIME_LOOPS_H
#define HUSK_RUNTIME_LOOPS_H

#include "runtime/launch.h"

/* The order of the tensors everywhere; the same numbers as in cl/lib/loops.clh. */
enum { HUSK__LOOPS_Y, HUSK__LOOPS_U, HUSK__LOOPS_V, HUSK__LOOPS_W, HUSK__LOOPS_TENSORS };

typedef struct husk__loop {
    int64_t extent;
    int64_t strides[HUSK__LOOPS_TENSORS];
} husk__loop;

typedef struct husk__loops {
    int32_t rank; /* 1 at least */
    husk__loop loops[HUSK_MAX_RANK]; /* the last is the row */
} husk__loops;

/*
 * Resolved tensors that have this shape, without zero-sized dimensions, or can be broadcast to it; NULL has u's
 * strides. Dimensions are sorted by the strides of `leading`, larger ones first, then by the other tensors'.
 */
husk__loops husk__loops_make(int32_t rank, const int64_t *shape,
                             const husk_tensor *const tensors[HUSK__LOOPS_TENSORS], int leading);

/* The stride with which a tensor goes through dimension d of a shape of this rank that it is broadcast to. */
int64_t husk__broadcast_stride(const husk_tensor *tensor, int32_t rank, int32_t d);

/* Elements: the product of all extents. */
int64_t husk__loops_count(const husk__loops *loops);

/* How far the last element of some tensor lies from the first, or how many there are: see husk__needs_index_64. */
int64_t husk__loops_reach(const husk__loops *loops);

/* Write LOOPS_PARAMS' arguments, HUSK__LOOPS_ARGS of them; returns their end. */
enum { HUSK__LOOPS_ARGS = (1 + HUSK__LOOPS_TENSORS) * HUSK_MAX_RANK };
husk__arg *husk__loops_write_args(const husk__loops *loops, husk__arg *arguments);

#endif
