/* SPDX-License-Identifier: MIT */
/*
 * base/checked.h: arithmetic on sizes that says when it overflows instead of wrapping.
 */
#ifndef HUSK_BASE_CHECKED_H
#define HUSK_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool husk__mul_i64(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool husk__add_i64(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

static inline int64_t husk__divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t husk__round_up(int64_t a, int64_t multiple)
{
    return husk__divide_up(a, multiple) * multiple;
}

static inline int64_t husk__min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t husk__max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif
