/* SPDX-License-Identifier: MIT */
/* Elements of one floating-point dtype as another's, on the host. */
#ifndef HUSK_TRAIN_CONVERT_H
#define HUSK_TRAIN_CONVERT_H

#include <husk/tensor.h>

#include <stdbool.h>
#include <stdint.h>

/* f16, bf16, f32, f64; dtype may be any number. */
bool husk__is_floating(int32_t dtype);

/*
 * count elements, rounded to nearest, ties to even; both dtypes floating; at any addresses, apart. Gives the index of
 * the first finite element that becomes infinite, or count. A NaN becomes a NaN.
 */
uint64_t husk__convert(void *to, husk_dtype to_dtype, const void *from, husk_dtype from_dtype, uint64_t count);

/* An element at any address; storing rounds likewise. */
double husk__load_element(const void *from, husk_dtype dtype);
void husk__store_element(void *to, husk_dtype dtype, double value);
/* The number that the dtype has for it. */
double husk__rounded(husk_dtype dtype, double value);

#endif
