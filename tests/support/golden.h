/* SPDX-License-Identifier: MIT */
/*
 * support/golden.h: the reference against golden vectors from PyTorch and ONNX (support/golden_table.h).
 *
 * Both sides compute in double from the same inputs, so they agree to 1e-11, far below any f32 bound. The way of such
 * a test, tests/ref/test_golden_NAME.c:
 *     a struct, which is a case, and a table of them;
 *     a loop test over 2 * golden_load(&table), which takes golden_case(&table, _i / 2) and begins with
 *     golden_lay_out(_i % 2 != 0).
 */
#ifndef HUSK_TESTS_GOLDEN_H
#define HUSK_TESTS_GOLDEN_H

#include "ref/ref.h"
#include "support/golden_params.h"
#include "support/golden_table.h"

/* The inputs made from now on are packed, or have the first dimension fastest and gaps between the elements. */
void golden_lay_out(bool strided);

/* An input, of a dtype that holds its values exactly. Its data is freed by the caller. */
husk_ref_array golden_make(const golden_array *golden, husk_dtype dtype);
/* The same of one that may be absent; pointers to an absent one are NULL. */
husk_ref_array golden_make_optional(const golden_array *golden, husk_dtype dtype);
const husk_ref_array *golden_optional(const golden_array *golden, const husk_ref_array *array);
/* A packed F64 array of the golden one's shape that holds something else everywhere. */
husk_ref_array golden_make_output(const golden_array *golden);

void golden_expect_equal(const char *name, const char *what, const golden_array *golden, const husk_ref_array *array);
/* Single outputs have the same values, and bounds that are as they should be. */
void golden_expect_function(const char *name, const husk_ref_function *function, const golden_array *golden);

#endif
