/* SPDX-License-Identifier: MIT */
/*
 * baseline/operand.h: a runner's own copies of a case's operands, and its clock.
 */
#ifndef BENCH_BASELINE_OPERAND_H
#define BENCH_BASELINE_OPERAND_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/operands.h"

static inline size_t bench_operand_bytes(const bench_array *array)
{
    return (size_t)array->count * husk_dtype_size(array->dtype);
}

/* The array's memory, gaps included, at a page's beginning; free() it. NULL: not there, or no memory. */
static inline void *bench_operand_clone(const bench_array *array)
{
    if (!array->data)
        return NULL;
    const size_t bytes = bench_operand_bytes(array);
    void *copy = aligned_alloc(4096, bytes / 4096 * 4096 + 4096);
    if (copy)
        memcpy(copy, array->data, bytes);
    return copy;
}

/* False: the array is there and its copy is not. */
static inline bool bench_operand_cloned(const bench_array *array, const void *copy)
{
    return !array->data || copy;
}

static inline void bench_operand_copy(void *to, const void *from, int64_t count)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof(float));
}

/* All that the array's memory holds; nothing where one of the two is not there. */
static inline void bench_operand_copy_array(void *to, const void *from, const bench_array *array)
{
    if (to && from && array->count > 0)
        memcpy(to, from, bench_operand_bytes(array));
}

static inline uint64_t bench_operand_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
