/* SPDX-License-Identifier: MIT */
/*
 * support/values.h: tensors of given f32 values, for tests of properties: what holds of a result whatever rounding
 * does, and what no bound says: that softmax of x + c is that of x, that a sign is kept, that whole numbers stay whole.
 */
#ifndef HUSK_TESTS_VALUES_H
#define HUSK_TESTS_VALUES_H

#include "support/tensor.h"

/* A packed f32 input that holds these values, in memory's order. */
test_tensor test_input_values(int32_t rank, const int64_t *shape, const float *values);
/* New values for it. */
void test_set_values(test_tensor *input, const float *values);
/* Those of a packed f32 output, after everything on the queue; guards are checked. */
void test_get_values(test_tensor *output, float *values);

/* Whether a and b are the same bits, or both NaN. */
bool test_same_value(float a, float b);

#endif
