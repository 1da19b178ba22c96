/* SPDX-License-Identifier: MIT */
/*
 * base/axis.h: which dimension a caller means. One convention everywhere (husk/tensor.h): 0 is the first, -1 the last.
 */
#ifndef HUSK_BASE_AXIS_H
#define HUSK_BASE_AXIS_H

#include <stdint.h>

/* The dimension's number from the first; -1 where a tensor of this rank has none. */
static inline int32_t husk__axis_dimension(int32_t axis, int32_t rank)
{
    if (axis < -rank || axis >= rank)
        return -1;
    return axis < 0 ? axis + rank : axis;
}

/* The text of a refusal: the axis, and the rank twice. "axis is 3, must be -2 to 1". */
#define HUSK__AXIS_TEXT                     "is %d, must be %d to %d: %s has %d dimensions"
#define HUSK__AXIS_VALUES(axis, rank, name) (int)(axis), -(int)(rank), (int)(rank)-1, name, (int)(rank)

#endif
