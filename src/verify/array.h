/* SPDX-License-Identifier: MIT */
/*
 * verify/array.h: checking the arrays of a caller, and handing them to the reference.
 */
#ifndef HUSK_VERIFY_ARRAY_H
#define HUSK_VERIFY_ARRAY_H

#include <husk/verify.h>

#include "base/error.h"
#include "ref/ref.h"

/* The array as a tensor without memory, for the checks of base/tensor.h. */
husk_tensor husk__verify_tensor(const husk_verify_array *array);
/* The array for the reference. It was checked; NULL gives zeros. */
husk_ref_array husk__verify_ref(const husk_verify_array *array);

/* Rank, dtype, shape and strides are possible; with is_read its data is there, unless it has no elements. */
husk_status husk__verify_check(const husk_verify_array *array, bool is_read, const char *argument,
                               const husk__scope *scope);
/* The same, and it is f32, f16, bf16 or f64. */
husk_status husk__verify_check_real(const husk_verify_array *array, bool is_read, const char *argument,
                                    const husk__scope *scope);
/* An output: real, of this shape, and there is room for what is expected. */
husk_status husk__verify_check_output(const husk_verify_array *y, const char *argument, int32_t rank,
                                      const int64_t *shape, const char *other, const double *expected,
                                      const husk__scope *scope);
husk_status husk__verify_check_expected(const husk_verify_array *y, const double *expected, const husk__scope *scope);

/* Every result of the function, and how far an output of this dtype may be off; bounds may be NULL. */
void husk__verify_evaluate(const husk_ref_function *function, husk_dtype dtype, double *expected, double *bounds);

#endif
