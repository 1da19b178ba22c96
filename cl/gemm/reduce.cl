// SPDX-License-Identifier: MIT
// The last step of a matrix multiplication alone, on any device: adds the partial sums of a split K, scales,
// adds bias and activates. Work-item i does elements i, i + grid, i + 2 grid ..., neighbours along the rows of C; it is
// bound by memory.
//
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/dtype.clh"
#include "lib/activation.clh"
#include "lib/gemm.clh"

// C = act(alpha * sum of the partial sums + beta * C + bias). The partial sums may be C itself (one split,
// alpha 1, beta 0): then this only adds the bias and activates. No splits at all are sums of zero.
// registers husk_gemm_reduce ACT_SMOOTH DTYPE_F64: nvidia 64, amd 176
// registers husk_gemm_reduce ACT_SMOOTH: nvidia 64, amd 72
// registers husk_gemm_reduce: nvidia 64, amd 32
__attribute__((reqd_work_group_size(64, 1, 1)))
__kernel void husk_gemm_reduce(const __global data_t *part_base, long part_offset, long part_row,
                               long part_column, long part_split, long part_batch,
                               const __global data_t *bias_base, long bias_offset, long bias_stride,
                               int bias_kind, __global data_t *c_base, long c_offset, long c_row,
                               long c_column, long c_batch, int wide, int m, int n, int batch, int splits, float alpha,
                               float beta, ACT_PARAMS)
{
    const int part_units = UNITS(wide & WIDE_PARTS), c_units = UNITS(wide & WIDE_C);
    const int bias_units = UNITS(wide & WIDE_BIAS);
    for (long element = get_global_id(0); element < (long)batch * m * n; element += get_global_size(0)) {
        const long line = element / n;
        const long matrix = line / m;
        const int row = (int)(line - matrix * m);
        const int column = (int)(element - line * n);
        const __global data_t *part =
            part_base + (part_offset + matrix * part_batch + row * part_row + column * part_column) * part_units;
        __global data_t *to = c_base + (c_offset + matrix * c_batch + row * c_row + column * c_column) * c_units;
        acc_t sum = 0.0f;
        for (int s = 0; s < splits; ++s)
            sum += load_either(part + s * part_split * part_units, part_units);
        acc_t value = alpha * sum;
        if (beta != 0.0f)
            value = MAD((acc_t)beta, load_either(to, c_units), value);
        if (bias_kind != BIAS_NONE)
            value += load_either(
                bias_base + (bias_offset + (bias_kind == BIAS_COLUMN ? column : row) * bias_stride) * bias_units,
                bias_units);
        store_either(to, activate(value, ACT_ARGS), c_units);
    }
}
