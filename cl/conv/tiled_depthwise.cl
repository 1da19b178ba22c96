// SPDX-License-Identifier: MIT
// Depthwise convolution for GPUs (one input channel a group, `filters` of them a group): a work-item computes
// one output directly, since each input is used by so few outputs that the cache does what local memory would.
// One to three dimensions, any stride, padding, dilation and layout.
//
// Neighbouring work-items take neighbouring columns, or neighbouring channels where these lie together
// (channels_last), so that their loads and stores coalesce; in dimension 1 lie images, of which a work-item does every
// get_global_size(1)-th. Weights come packed by husk_conv_tiled_depthwise_pack, [group*filters][tap].
//
//   GROUP   work-items in a work-group, 64 unless set
#include "lib/dtype.clh"
#include "lib/activation.clh"
#include "lib/convolution.clh"

#ifndef GROUP
#define GROUP 64
#endif

// registers husk_conv_tiled_depthwise_pack: nvidia 32, amd 24
__kernel __attribute__((reqd_work_group_size(32, 1, 1)))
void husk_conv_tiled_depthwise_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const index_t taps = (index_t)kernel_d * kernel_h * kernel_w;
    const index_t tap = get_global_id(0), all_filters = (index_t)filters * channels;
    if (tap >= taps)
        return;
    for (index_t filter = get_global_id(1); filter < all_filters; filter += (index_t)get_global_size(1))
        packed_base[packed_offset + filter * taps + tap] =
            load_one(w_base, w_offset + filter * w_stride_k + tap / kernel_w / kernel_h * w_stride_d +
                                 tap / kernel_w % kernel_h * w_stride_h + tap % kernel_w * w_stride_w);
}

// registers husk_conv_tiled_depthwise ACT_SMOOTH DTYPE_F64: nvidia 64, amd 168
// registers husk_conv_tiled_depthwise ACT_SMOOTH: nvidia 72, amd 80
// registers husk_conv_tiled_depthwise: nvidia 72, amd 40
__kernel __attribute__((reqd_work_group_size(GROUP, 1, 1)))
void husk_conv_tiled_depthwise(const __global data_t *restrict x_base, long x_offset,
                               const __global acc_t *restrict w_base, long w_offset,
                               const __global data_t *restrict bias_base, long bias_offset, int flags,
                               __global data_t *restrict y_base, long y_offset, CONV_PARAMS, int channels_last,
                               ACT_PARAMS)
{
    CONV_UNITS
    const index_t positions = (index_t)out_d * out_h * out_w;
    const index_t all_filters = (index_t)groups * filters;
    const index_t id = get_global_id(0);
    if (id >= positions * all_filters)
        return;
    const index_t filter = channels_last ? id % all_filters : id / positions;
    const index_t position = channels_last ? id / all_filters : id % positions;
    const int od = position / out_w / out_h, oh = position / out_w % out_h, ow = position % out_w;
    const int depth = od * stride_d - pad_d, row = oh * stride_h - pad_h, column = ow * stride_w - pad_w;

    const __global acc_t *w = w_base + w_offset + filter * kernel_d * kernel_h * kernel_w;
    const acc_t bias = has_bias ? load_either(bias_base + bias_offset + filter * bias_units, bias_units) : 0.0f;
    for (index_t n = get_global_id(1); n < batch; n += (index_t)get_global_size(1)) {
        const __global data_t *x = x_base + x_offset + n * x_stride_n + filter / filters * x_stride_c;
        acc_t sum = bias;
        for (int d = 0; d < kernel_d; ++d) {
            const int id_in = depth + d * dilation_d;
            for (int r = 0; r < kernel_h; ++r) {
                const int ih = row + r * dilation_h;
                if ((uint)id_in >= (uint)in_d || (uint)ih >= (uint)in_h)
                    continue;
                const __global data_t *line = x + id_in * x_stride_d + ih * x_stride_h;
                for (int s = 0; s < kernel_w; ++s) {
                    const int iw = column + s * dilation_w;
                    if ((uint)iw < (uint)in_w)
                        sum = MAD(w[(d * kernel_h + r) * kernel_w + s], load_one(line, iw * x_stride_w), sum);
                }
            }
        }
        store_either(y_base + y_offset + n * y_stride_n + filter * y_stride_c + od * y_stride_d + oh * y_stride_h +
                         ow * y_stride_w,
                     activate(sum, ACT_ARGS), y_units);
    }
}
