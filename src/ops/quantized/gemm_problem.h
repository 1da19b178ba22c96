/* SPDX-License-Identifier: MIT */
/*
 * ops/quantized/gemm_problem.h: a multiplication of bytes with every default filled in, shared by its variants.
 */
#ifndef HUSK_OPS_QUANTIZED_GEMM_PROBLEM_H
#define HUSK_OPS_QUANTIZED_GEMM_PROBLEM_H

#include <husk/ops/quantized_gemm.h>

#include "ops/quantized/calls.h"
#include "ops/quantized/products.h"

typedef struct husk__quantized_gemm_problem {
    husk__quantized_tensors tensors; /* a is the input, b the weights, c the output */
    husk__products products;
} husk__quantized_gemm_problem;

/* What must agree between packed weights and a plan that uses them. */
void husk__quantized_gemm_describe_packed(const husk_plan *plan, husk__key *key);
double husk__quantized_gemm_flops(const husk__candidate *candidate);

/* What tiles of a side take on a GPU, in the time of one unit's sums: those of all units that wait for the last. */
double husk__quantized_gemm_tiles_cost(const husk__candidate *candidate, int64_t side);
/* FINISH_PARAMS for kernels that take A's bytes as they are, i8 or u8. */
husk__arg *husk__quantized_gemm_write_finish(const husk__products *own, const husk__quantized_run *given,
                                             husk__arg *end);

/* Panels of tiles, the packed weights of cpu_matrix: gemm_cpu_matrix.c. */
uint64_t husk__quantized_gemm_cpu_matrix_bytes(const husk__products *own);
husk_status husk__quantized_gemm_cpu_matrix_pack(const husk_plan *plan, husk_queue *queue, const husk__products *own,
                                                 const husk_tensor *b, const husk__arg *to, const husk__scope *scope);

extern const husk__op husk__op_quantized_gemm;
extern const husk__variant husk__quantized_gemm_cpu_matrix;
extern const husk__variant husk__quantized_gemm_matrix;
extern const husk__variant husk__quantized_gemm_tiled;

#endif
