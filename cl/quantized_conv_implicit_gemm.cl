// SPDX-License-Identifier: MIT
// Convolution of bytes for CPU devices: a product of matrices (lib/quantized.clh) whose rows are what each output sees
// of an image with channels last. Other images, and those with padding, are laid out so in scratch memory first, as
// u8, with the zero point around them, so that no row has an edge.
#include "lib/quantized.clh"

PACK_KERNEL(husk_quantized_conv_pack)
MULTIPLY_KERNEL(husk_quantized_conv_implicit_gemm)

// A row of the padded image, [width + pads][channels]; x is at its first element inside.
ALWAYS_INLINE void lay_out_row(__global uchar *to, const __global uchar *x, long x_channel, long x_column,
                               int channels, int width, int before, int after, uchar flip, uchar zero)
{
    for (long i = 0; i < (long)before * channels; ++i)
        to[i] = zero;
    to += (long)before * channels;
    if (x_channel == 1) {
        const bool is_run = x_column == channels && (long)width * channels < INT_MAX;
        const int together = is_run ? width : 1; // pixels that lie one after the other
        for (int w = 0; w < width; w += together, to += (long)together * channels)
            copy_bytes(to, x + w * x_column, together * channels, flip);
    } else {
        int w = 0;
        if (x_column == 1 && channels % 4 == 0) { // VW columns of four channels at a time
            for (; w + VW <= width; w += VW) {
                for (int c = 0; c < channels; c += 4) {
                    const __global uchar *from = x + w + c * x_channel;
                    const vi words = convert_vi(LOAD_BYTES(from) ^ flip) |
                                     convert_vi(LOAD_BYTES(from + x_channel) ^ flip) << 8 |
                                     convert_vi(LOAD_BYTES(from + 2 * x_channel) ^ flip) << 16 |
                                     convert_vi(LOAD_BYTES(from + 3 * x_channel) ^ flip) << 24;
                    int lanes[VW];
                    vstore_vf(words, 0, lanes);
                    for (int i = 0; i < VW; ++i) {
                        __global uchar *word = to + (long)(w + i) * channels + c;
                        word[0] = (uchar)lanes[i];
                        word[1] = (uchar)(lanes[i] >> 8);
                        word[2] = (uchar)(lanes[i] >> 16);
                        word[3] = (uchar)(lanes[i] >> 24);
                    }
                }
            }
        }
        for (; w < width; ++w)
            for (int c = 0; c < channels; ++c)
                to[(long)w * channels + c] = x[w * x_column + c * x_channel] ^ flip;
        to += (long)width * channels;
    }
    for (long i = 0; i < (long)after * channels; ++i)
        to[i] = zero;
}

// share: rows of padded images a work-group takes, counted over images, depths and heights.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_quantized_conv_lay_out(const __global uchar *x_base, long x_offset, long x_n, long x_c, long x_d, long x_h,
                                 long x_w, int channels, int in_d, int in_h, int in_w, int pad_d, int pad_h, int pad_w,
                                 int padded_d, int padded_h, int padded_w, __global uchar *to_base, long to_offset,
                                 int flip, int zero, long total, long share)
{
    const long first = get_group_id(0) * share, last = min(first + share, total);
    const long row_bytes = (long)padded_w * channels;
    for (long row = first; row < last; ++row) {
        const int h = (int)(row % padded_h) - pad_h;
        const int d = (int)(row / padded_h % padded_d) - pad_d;
        const long n = row / padded_h / padded_d;
        const bool is_inside = h >= 0 && h < in_h && d >= 0 && d < in_d;
        const __global uchar *x = x_base + x_offset + n * x_n + (is_inside ? d * x_d + h * x_h : 0);
        lay_out_row(to_base + to_offset + row * row_bytes, x, x_c, x_w, channels, is_inside ? in_w : 0,
                    is_inside ? pad_w : padded_w, is_inside ? padded_w - in_w - pad_w : 0, (uchar)flip, (uchar)zero);
    }
}
