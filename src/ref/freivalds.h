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
 * times the root of its roundings' squares more; and what flushed denormals cost each output, times the root of n. In
 * f64 u is 2^-52, as ref/ref.h has it, and what the projections' own sums of n numbers err by is added, 6 * 2^-53
 * sqrt(n) of the right side. A wrong patch passes only when all its errors together stay below it.
 *
 * Winograd's tiles. There an output's bound follows the largest magnitude of its tile, max_t m_jt, for which the root
 * of sum_j (max_t m_jt)^2 were needed; what is taken is max_t of the roots of sum_j m_jt^2, which may be smaller, by
 * the root of a tile's outputs at most, where other channels have other largest ones. So Hoeffding's 3e-8 is promised
 * of outputs whose errors are within their own magnitudes' bounds alone, not of any within their tiles'.
 *
 * Blocks. What each output may err by adds up, what one of them is does not: of a whole row of 4,096 in bf16 the
 * tolerance is as large as an element. So a row is projected by blocks, as wide as 6 of an output's own error (2^-8 of
 * it in bf16, and f u sqrt k) times the root of the width is a tenth of a random output: 1,000 columns in f16, most
 * rows of f32 whole; and 16 where that were fewer: in bf16, and by Winograd's and the matrix engines' factors. B is
 * projected for each block, and what that costs is bounded: beyond 2^30 multiply-adds of a gemm (2^26 of a
 * convolution, whose sums are slower) blocks are wider. One block of a gemm's row costs a pass over A. One of a
 * convolution costs the whole of it over the channels of a group, twice, since norms are added up as well, and where a
 * tile's largest counts three times: where that were more than 2^29 terms, so many positions are drawn, evenly over
 * the output, that their sums have no more, tiles' norms included. A sum of a position is the least that is done. What
 * is drawn of one is a sample of positions, each with all of its channels: of depthwise convolutions, a sample of
 * outputs. A single wrong element of ordinary size is seen where its own bound is a fraction of it, and blocks are not
 * much wider than that; a patch also by how many rows it meets.
 *
 * Gradients. da = alpha z B' and, transposed, db = alpha z' A are projected as C is, with z = dy activation'(x) on the
 * left: they are linear in z, and what z errs by, e, adds 6 |alpha| sum_k e_k sqrt(sum_j b_kj^2). A matrix that serves
 * the whole batch has one sum over all of it. A convolution's dx is projected along the input channels, dw along the
 * filters of each group; a table's gradient along its rows.
 *
 * Of C, y and dx without an activation only; with one these do nothing, as they do where the projected row is not
 * finite by rights. Past its dtype's range what is not finite is compared by itself (husk_ref_projection_settle).
 * Expected memory: of gemm vectors of m and n and parts of A and B, 2^16 of k; of others what is projected. When it
 * does not suffice the report says so (allocation_failed).
 */
#ifndef HUSK_REF_FREIVALDS_H
#define HUSK_REF_FREIVALDS_H

#include "ref/check.h"
#include "ref/conv/conv.h"
#include "ref/lookup/embedding.h"
#include "ref/gemm/gemm.h"

HUSK_BEGIN_DECLS

/* Every row of C, projected along n. */
void husk_ref_gemm_freivalds(const husk_ref_gemm *op, const husk_ref_array *out, uint64_t seed,
                             husk_ref_report *report);
/* The bytes that it takes. */
int64_t husk_ref_gemm_freivalds_memory(const husk_ref_gemm *op, const husk_ref_array *out);
/* da and db, along k; of other gradients nothing. */
void husk_ref_gemm_backward_freivalds(const husk_ref_gemm_backward *op, const husk_ref_array *out, uint64_t seed,
                                      husk_ref_report *report);
/* Every position of y, or those that are drawn, projected along the output channels of each group. */
void husk_ref_conv_freivalds(const husk_ref_conv *op, const husk_ref_array *y, uint64_t seed, husk_ref_report *report);
/* The same of dx, along the input channels of each group. */
void husk_ref_conv_backward_data_freivalds(const husk_ref_conv_backward_data *op, const husk_ref_array *dx,
                                           uint64_t seed, husk_ref_report *report);
/* The same of the filters' elements, along the filters of each group. */
void husk_ref_conv_backward_weights_freivalds(const husk_ref_conv_backward_weights *op, const husk_ref_array *dw,
                                              uint64_t seed, husk_ref_report *report);
/* Every row of the table. */
void husk_ref_embedding_backward_freivalds(const husk_ref_embedding_backward *op, const husk_ref_array *dtable,
                                           uint64_t seed, husk_ref_report *report);

/* husk_ref_check, and Freivalds' check where not every output was compared. */
void husk_ref_gemm_check(const husk_ref_gemm *op, uint64_t seed, const husk_ref_array *out, husk_ref_report *report);
void husk_ref_gemm_backward_check(const husk_ref_gemm_backward *op, uint64_t seed, const husk_ref_array *out,
                                  husk_ref_report *report);
void husk_ref_conv_check(const husk_ref_conv *op, uint64_t seed, const husk_ref_array *y, husk_ref_report *report);
void husk_ref_conv_backward_data_check(const husk_ref_conv_backward_data *op, uint64_t seed, const husk_ref_array *dx,
                                       husk_ref_report *report);
void husk_ref_conv_backward_weights_check(const husk_ref_conv_backward_weights *op, uint64_t seed,
                                          const husk_ref_array *dw, husk_ref_report *report);
void husk_ref_embedding_backward_check(const husk_ref_embedding_backward *op, uint64_t seed,
                                       const husk_ref_array *dtable, husk_ref_report *report);

HUSK_END_DECLS

#endif
