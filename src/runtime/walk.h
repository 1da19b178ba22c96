/* SPDX-License-Identifier: MIT */
/*
 * runtime/walk.h: several tensors walked together, made simple for the kernels that use cl/lib/walk.clh.
 *
 * A walk knows up to four strides a dimension, any of which may be zero (a broadcast, or a sum). It is made of tensors
 * of one shape, or takes its dimensions one by one: a reduction has a walk over what it keeps and one over what it
 * reduces.
 */
#ifndef HUSK_RUNTIME_WALK_H
#define HUSK_RUNTIME_WALK_H

#include <stdbool.h>

#include "runtime/launch.h"

/* The numbers of an output and up to three inputs, where there are such; the same in cl/lib/walk.clh. */
enum { HUSK__WALK_Y, HUSK__WALK_U, HUSK__WALK_V, HUSK__WALK_W, HUSK__WALK_TENSORS };

typedef struct husk__walk_dimension {
    int64_t extent;
    int64_t strides[HUSK__WALK_TENSORS];
} husk__walk_dimension;

typedef struct husk__walk {
    int32_t rank;                                   /* may be 0: one element */
    husk__walk_dimension dimensions[HUSK_MAX_RANK]; /* the last is the fastest */
} husk__walk;

/* One dimension more, the fastest so far. One of a single element is left out. */
void husk__walk_add(husk__walk *walk, husk__walk_dimension dimension);
/* Largest strides first: those of the first tensor, where they are equal of the second, and so on. */
void husk__walk_sort(husk__walk *walk);
/* The same beginning with another tensor, the first after the last. */
void husk__walk_sort_by(husk__walk *walk, int leading);
/* Make one of neighbours that lie one after the other in every tensor. */
void husk__walk_merge(husk__walk *walk);
/* Take the fastest dimension out; extent 1 and strides 0 where there is none. */
husk__walk_dimension husk__walk_take_last(husk__walk *walk);
/* The dimension of the least stride, 0 excepted, in this tensor becomes the fastest; the others keep their order. */
void husk__walk_bring_last(husk__walk *walk, int tensor);

/*
 * The walk of resolved tensors that have this shape, without zero-sized dimensions, or are broadcast to it; NULL has
 * u's strides. Sorted and merged: packed tensors become one dimension, whatever their layout, if it is the same. One of
 * a single element where there is none.
 */
husk__walk husk__walk_make(int32_t rank, const int64_t *shape, const husk_tensor *const tensors[HUSK__WALK_TENSORS],
                           int leading);
/* The stride with which a tensor goes through dimension d of a shape of this rank that it is broadcast to. */
int64_t husk__broadcast_stride(const husk_tensor *tensor, int32_t rank, int32_t d);

/* The product of the extents. */
int64_t husk__walk_count(const husk__walk *walk);
/* The largest distance, in any tensor, of the last element from the first, or the count if that is more. */
int64_t husk__walk_reach(const husk__walk *walk);

/* The arguments of WALK_PARAMS: values that have to live until the launch. */
typedef struct husk__walk_values {
    int32_t rank;
    int64_t extents[8];
    int64_t strides[HUSK__WALK_TENSORS][8];
} husk__walk_values;

husk__walk_values husk__walk_prepare(const husk__walk *walk);
/* Writes 2 + tensors arguments, at most HUSK__WALK_ARGS, and returns their end. */
enum { HUSK__WALK_ARGS = 2 + HUSK__WALK_TENSORS };
husk__arg *husk__walk_write_args(const husk__walk_values *values, int tensors, husk__arg *arguments);

#endif
