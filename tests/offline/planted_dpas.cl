// SPDX-License-Identifier: MIT
// A matrix product of a unit that skl does not have: ocloc says INVALID opcode and reports success.
float8 __attribute__((overloadable)) intel_sub_group_f16_f16_matrix_mad_k16(int8 a, int8 b, float8 sum);

__attribute__((intel_reqd_sub_group_size(8))) __kernel void planted_dpas(__global int8 *a, __global float8 *y)
{
    const int i = (int)get_global_id(0);
    y[i] = intel_sub_group_f16_f16_matrix_mad_k16(a[2 * i], a[2 * i + 1], y[i]);
}
