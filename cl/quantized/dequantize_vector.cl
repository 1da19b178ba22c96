// SPDX-License-Identifier: MIT
// y = (x - zero) * scale for CPU devices: a work-group takes a share of the elements, row by row.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/quantize_vector.clh"

// Along which all strides are as they mostly are.
ALWAYS_INLINE long dequantize_packed(__global data_t *y, const __global uchar *x, float scale, float zero,
                                     long length, int sign)
{
    long i = 0;
    for (; i + 2 * VW <= length; i += 2 * VW) {
        const vf first = values_of_bytes(LOAD_BYTES(x + i), sign);
        const vf second = values_of_bytes(LOAD_BYTES(x + i + VW), sign);
        store_vf((first - zero) * scale, y + i);
        store_vf((second - zero) * scale, y + i + VW);
    }
    return i;
}

ALWAYS_INLINE void dequantize_row(__global data_t *y, long y_stride, const __global uchar *x, long x_stride,
                                  const __global float *scale, long scale_stride, const __global uchar *zero,
                                  int has_zero, long zero_stride, long length, int sign)
{
    long i = 0;
    if (y_stride == 1 && x_stride == 1 && scale_stride == 0 && zero_stride == 0)
        i = dequantize_packed(y, x, *scale, zero_at(zero, has_zero, 0, sign), length, sign);
    for (; i < length; i += VW) {
        const int n = (int)min((long)VW, length - i);
        const vf value = (fetch_bytes(x + i * x_stride, x_stride, n, sign) -
                          fetch_zeros(zero + i * zero_stride, has_zero, zero_stride, n, sign)) *
                         fetch_scales(scale + i * scale_stride, scale_stride, n);
        if (y_stride == 1) {
            store_vf_part(value, y + i, n);
        } else {
            acc_t lanes[VW];
            store_private(value, lanes);
            for (int j = 0; j < n; ++j)
                store_one(y, (i + j) * y_stride, lanes[j]);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_dequantize_vector(QUANTIZE_PARAMS(uchar, data_t), QUANTIZE_ROW_PARAMS)
{
    ONE_ITEM();
#define ROW(y, x, scale, zero, length) \
    dequantize_row(y, y_stride, x, x_stride, scale, scale_stride, zero, has_zero, zero_stride, length, sign)
    EACH_PIECE(ROW)
#undef ROW
}
