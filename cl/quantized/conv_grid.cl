// SPDX-License-Identifier: MIT
// Convolution of bytes with a work-item an output, at any strides: for GPUs. Outputs are numbered with the width
// fastest, or, where memory is channels last, with the channels fastest.
//
//   -DWG=64|256    work-items a work-group (256 unless the device allows fewer)
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/quantized_grid.clh"

#ifndef WG
#error "WG, the work-items of a work-group, is not set: the host passes -DWG=64 or 256"
#endif

inline int take_last(long *number, int extent)
{
    const long quotient = *number / extent;
    const int rest = (int)(*number - quotient * extent);
    *number = quotient;
    return rest;
}

// registers husk_quantized_conv_grid: nvidia 128, amd 64
__kernel __attribute__((reqd_work_group_size(WG, 1, 1)))
void husk_quantized_conv_grid(const __global uchar *x_base, long x_offset, long x_n, long x_c, long x_d, long x_h,
                              long x_w, int x_sign, const __global uchar *w_base, long w_offset, long w_k, long w_c,
                              long w_d, long w_h, long w_w, __global uchar *y_base, long y_offset, long y_n, long y_c,
                              long y_d, long y_h, long y_w, int channels, int filters, int in_d, int in_h, int in_w,
                              int filter_d, int filter_h, int filter_w, int stride_d, int stride_h, int stride_w,
                              int pad_d, int pad_h, int pad_w, int dilation_d, int dilation_h, int dilation_w,
                              int out_d, int out_h, int out_w, int all_filters, int channels_fastest, long total,
                              int own_zero, FINISH_PARAMS)
{
    for (long output = get_global_id(0); output < total; output += get_global_size(0)) {
        long rest = output;
        int k = channels_fastest ? take_last(&rest, all_filters) : 0;
        const int ow = take_last(&rest, out_w), oh = take_last(&rest, out_h), od = take_last(&rest, out_d);
        if (!channels_fastest)
            k = take_last(&rest, all_filters);
        const long n = rest;
        const __global uchar *x = x_base + x_offset + n * x_n + (long)(k / filters * channels) * x_c;
        const __global uchar *w = w_base + w_offset + k * w_k;
        int sum = 0;
        for (int r = 0; r < filter_d; ++r) {
            const int d = od * stride_d - pad_d + r * dilation_d;
            if (d < 0 || d >= in_d)
                continue;
            for (int s = 0; s < filter_h; ++s) {
                const int h = oh * stride_h - pad_h + s * dilation_h;
                if (h < 0 || h >= in_h)
                    continue;
                for (int t = 0; t < filter_w; ++t) {
                    const int column = ow * stride_w - pad_w + t * dilation_w;
                    if (column < 0 || column >= in_w)
                        continue;
                    const __global uchar *from = x + d * x_d + h * x_h + column * x_w;
                    const __global uchar *by = w + r * w_d + s * w_h + t * w_w;
                    for (int c = 0; c < channels; ++c)
                        sum += (value_of_byte(from[c * x_c], x_sign) - own_zero) * value_of_byte(by[c * w_c], 128);
                }
            }
        }
        store_sum(sum, y_base, y_offset + n * y_n + k * y_c + od * y_d + oh * y_h + ow * y_w, k, FINISH_ARGS);
    }
}
