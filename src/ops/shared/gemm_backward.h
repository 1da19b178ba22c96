/* SPDX-License-Identifier: MIT */
/*
 * ops/shared/gemm_backward.h: what gemm_backward takes, for composites that plan their memory around it.
 */
#ifndef HUSK_OPS_SHARED_GEMM_BACKWARD_H
#define HUSK_OPS_SHARED_GEMM_BACKWARD_H

#include <husk/tensor.h>

/* Scratch memory that suffices for a dbias of so many numbers, each the sum of so many rows, in any configuration. */
uint64_t husk__gemm_backward_bias_bytes(int64_t rows, int64_t columns, husk_dtype dtype);

#endif
