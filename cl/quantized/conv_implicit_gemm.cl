// SPDX-License-Identifier: MIT
// Convolution of bytes for CPU devices: a product of matrices (lib/quantized.clh) whose rows are what each output sees
// of an image with channels last. Other images, and those with padding, are laid out so in scratch memory first, as
// u8, with the zero point around them, so that no row has an edge.
#include "lib/quantized.clh"
#include "lib/quantized_lay_out.clh"

PACK_KERNEL(husk_quantized_conv_pack)
MULTIPLY_KERNEL(husk_quantized_conv_implicit_gemm)
LAY_OUT_KERNEL(husk_quantized_conv_lay_out)
