// SPDX-License-Identifier: MIT
// Products of matrices of bytes for CPU devices: lib/quantized.clh says how, and what is to be defined.
#include "lib/quantized.clh"

PACK_KERNEL(husk_quantized_gemm_pack)
MULTIPLY_KERNEL(husk_quantized_gemm_packed)
