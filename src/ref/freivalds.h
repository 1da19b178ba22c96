/* SPDX-License-Identifier: MIT */
/*
 * ref/freivalds.h: check all of a large linear output at the cost of a small one.
 *
 * Freivalds' method (1977): multiply the claimed C = A B from the right by a random vector r and compare with
 * A (B r), which takes one pass over each matrix instead of a multiplication.
 *
 * The tolerance. r holds random signs, so that the projected error of a row is sum r_j e_j. By Hoeffding's
 * inequality it exceeds 6 sqrt(sum e_j^2) with a probability below 2 e^-18 = 3e-8. Each |e_j| is at most its
 * bound f u mag_j (f: 4 + 2 sqrt k or the variant's factor; u: 2^-24), with mag_j = sum_k |a_k| |b_kj| (and
 * the terms of beta C and bias), and by Minkowski's inequality
 *     sqrt(sum_j mag_j^2) <= sum_k |a_k| sqrt(sum_j b_kj^2) + ...
 * which again is one pass. So the tolerance is 6 f u times the right side, and for an output stored in f16 or bf16 6
 * times the rounding of its own norm more. In f64 u is 2^-52, as ref/ref.h has it, and what the projections' own sums
 * of n numbers err by is added, 6 * 2^-53 sqrt(n) of the right side. A wrong patch passes only when all
 * its errors together stay below it: a single wrong element of ordinary size does not.
 *
 * Without an activation only; with one these do nothing, as they do where the projected row is not finite by
 * rights, past its dtype's range too. Expected memory: a few vectors. When it does not suffice the report says so
 * (allocation_failed).
 */
#ifndef HUSK_REF_FREIVALDS_H
#define HUSK_REF_FREIVALDS_H

#include "ref/check.h"
#include "ref/conv.h"
#include "ref/gemm.h"

HUSK_BEGIN_DECLS

/* Every row of C, projected along n. */
void husk_ref_gemm_freivalds(const husk_ref_gemm *op, const husk_ref_array *out, uint64_t seed,
                             husk_ref_report *report);
/* Every position of y, projected along the output channels of each group. */
void husk_ref_conv_freivalds(const husk_ref_conv *op, const husk_ref_array *y, uint64_t seed,
                             husk_ref_report *report);

/* Sampled or complete check of the output as ref/check.h says, and Freivalds' where it was not complete. */
void husk_ref_gemm_check(const husk_ref_gemm *op, uint64_t seed, const husk_ref_array *out,
                         husk_ref_report *report);
void husk_ref_conv_check(const husk_ref_conv *op, uint64_t seed, const husk_ref_array *y,
                         husk_ref_report *report);

HUSK_END_DECLS

#endif
