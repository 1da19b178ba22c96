/* SPDX-License-Identifier: MIT */
/*
 * ref/dtype.h: what dtypes hold, what rounding to them costs, and f16 and bf16 on the host.
 */
#ifndef HUSK_REF_DTYPE_H
#define HUSK_REF_DTYPE_H

#include <stdint.h>

#include <husk/tensor.h>

HUSK_BEGIN_DECLS

/* The unit roundoff of f32: a correctly rounded operation errs by at most this, relative. */
#define HUSK_REF_UNIT (1.0 / 16777216.0)
/* The smallest normal f32: what flushing a denormal to zero can cost. */
#define HUSK_REF_TINY 1.1754943508222875e-38

/* value as the dtype holds it: rounded to nearest, ties to even, infinite past its range. Integers: as it is. */
double husk_ref_round(husk_dtype dtype, double value);
/* The most that storing a computed number of this magnitude can change it. 0 for f32: it is in every bound already. */
double husk_ref_round_bound(husk_dtype dtype, double magnitude);
/*
 * A bound of what f32 computes, for a result of this dtype: f64 is computed in f64, whose u is 2^-53 instead of 2^-24,
 * twice, since the reference's own roundings are as large.
 */
double husk_ref_bound_in(husk_dtype dtype, double bound);
double husk_ref_f16_load(uint16_t bits);
uint16_t husk_ref_f16_store(double value);
double husk_ref_bf16_load(uint16_t bits);
uint16_t husk_ref_bf16_store(double value);

HUSK_END_DECLS

#endif
