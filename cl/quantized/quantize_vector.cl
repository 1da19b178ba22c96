// SPDX-License-Identifier: MIT
// y = saturate(round(x / scale) + zero) for CPU devices: a work-group takes a share of the elements, row by row.
// Divisions keep up with memory.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/quantize_vector.clh"

// Along which all strides are as they mostly are.
ALWAYS_INLINE long quantize_packed(__global uchar *y, const __global data_t *x, float scale, float zero, long length,
                                   int sign)
{
    long i = 0;
    for (; i + 2 * VW <= length; i += 2 * VW) {
        const vb first = quantize_vf(load_vf(x + i), (vf)(scale), (vf)(zero), sign);
        const vb second = quantize_vf(load_vf(x + i + VW), (vf)(scale), (vf)(zero), sign);
        STORE_BYTES(first, y + i);
        STORE_BYTES(second, y + i + VW);
    }
    return i;
}

ALWAYS_INLINE void quantize_row(__global uchar *y, long y_stride, const __global data_t *x, long x_stride,
                                const __global float *scale, long scale_stride, const __global uchar *zero,
                                int has_zero, long zero_stride, long length, int sign)
{
    long i = 0;
    if (y_stride == 1 && x_stride == 1 && scale_stride == 0 && zero_stride == 0)
        i = quantize_packed(y, x, *scale, zero_at(zero, has_zero, 0, sign), length, sign);
    for (; i < length; i += VW) {
        const int n = (int)min((long)VW, length - i);
        const vb bytes = quantize_vf(fetch_floats(x + i * x_stride, x_stride, n),
                                     fetch_scales(scale + i * scale_stride, scale_stride, n),
                                     fetch_zeros(zero + i * zero_stride, has_zero, zero_stride, n, sign), sign);
        if (y_stride == 1 && n == VW) {
            STORE_BYTES(bytes, y + i);
        } else {
            uchar lanes[VW];
            STORE_PRIVATE(vb, bytes, lanes);
            for (int j = 0; j < n; ++j)
                y[(i + j) * y_stride] = lanes[j];
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantize_vector(QUANTIZE_PARAMS(data_t, uchar), QUANTIZE_ROW_PARAMS)
{
    ONE_ITEM();
#define ROW(y, x, scale, zero, length) \
    quantize_row(y, y_stride, x, x_stride, scale, scale_stride, zero, has_zero, zero_stride, length, sign)
    EACH_PIECE(ROW)
#undef ROW
}
