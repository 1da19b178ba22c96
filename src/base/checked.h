/* SPDX-License-Identifier: MIT */
/*
 * base/checked.h: arithmetic on sizes that says when it overflows instead of wrapping.
 */
#ifndef HUSK_BASE_CHECKED_H
#define HUSK_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool husk__mul_i64(int64_t a, int64_t b, int64_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}

static inline bool husk__add_i64(int64_t a, int64_t b, int64_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

/* Whether the product of the extents is at most so many; one of 0 counts as 1, since others are reckoned with it. */
static inline bool husk__product_fits(const int64_t *extents, size_t count, int64_t most)
{
    int64_t product = 1;
    for (size_t i = 0; i < count; ++i)
        if (!husk__mul_i64(product, extents[i] > 1 ? extents[i] : 1, &product) || product > most)
            return false;
    return true;
}

static inline int64_t husk__divide_up(int64_t a, int64_t b)
{
    return a / b + (a % b > 0); // a + b - 1 may overflow
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
