/* SPDX-License-Identifier: MIT */
/*
 * runtime/list.h: kernels over all elements of a list of tensors, in as few launches as there may be: cl/lib/list.clh.
 *
 * A tensor is a row of units of HUSK__LIST_UNIT elements, the last one shorter. Units are numbered through the list;
 * what a kernel makes of a unit it may leave in an accumulator of that number.
 */
#ifndef HUSK_RUNTIME_LIST_H
#define HUSK_RUNTIME_LIST_H

#include <stddef.h>

#include "runtime/launch.h"

enum { HUSK__LIST_TENSORS = 16, HUSK__LIST_UNIT = 16384 }; /* of a launch; of a unit */
enum { HUSK__LIST_DTYPES = 4 };                           /* f32, f16, bf16, f64 by their numbers */

typedef struct husk__list {
    const husk_tensor *const *tensors;
    size_t count;
} husk__list;

int64_t husk__list_units(const husk__list *list);
/* What kernels compute in, and numbers beside the list are: f64 for a list of that, else f32. */
husk_dtype husk__list_accumulator(const husk__list *list);
/* Bits 1 << dtype of those that have elements; where none has, the accumulator's. */
uint32_t husk__list_dtypes(const husk__list *list);

/*
 * Every tensor is of floats, all or none in f64, without gaps and in memory of the queue's context; is_written: no two
 * overlap.
 */
husk_status husk__list_check(husk_queue *queue, const husk__list *list, const char *argument, bool is_written,
                             const husk__scope *scope);
/* A number of the device beside the list: the accumulator's dtype, one element, bound; overlaps no tensor of it. */
husk_status husk__list_check_number(husk_queue *queue, const husk__list *list, const husk_tensor *number,
                                    const char *argument, const husk__scope *scope);

/*
 * Launch kernels[dtype] on all units: LIST_PARAMS, then `more`. items: work-items a group, 1 for CPU devices, where a
 * group takes several units; for GPUs a group takes one.
 */
husk_status husk__list_launch(husk_queue *queue, const husk__kernel *const kernels[HUSK__LIST_DTYPES],
                              const husk__list *list, int64_t items, const husk__arg *more, size_t more_count,
                              const husk__scope *scope);

#endif
