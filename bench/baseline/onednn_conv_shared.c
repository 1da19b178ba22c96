// SPDX-License-Identifier: MIT
// oneDNN: what convolution and its gradients share.
#include "baseline/onednn_conv_shared.h"

#include <math.h>
#include <string.h>

#include "cases/size.h"

static const onednn_md *channels_last(onednn_program *program, int rank, const int64_t *dims)
{
    static const dnnl_format_tag_t tags[] = {dnnl_nwc, dnnl_nhwc, dnnl_ndhwc};
    return onednn_program_md_tagged(program, rank, dims, tags[rank - 3]);
}

const onednn_md *onednn_conv_md(onednn_program *program, unsigned flags, int rank, const int64_t *dims,
                                const onednn_md *plain)
{
    if (flags & ONEDNN_CONV_OWN_ACTIVATIONS)
        return onednn_program_md_any(program, rank, dims);
    return flags & ONEDNN_CONV_CHANNELS_LAST ? channels_last(program, rank, dims) : plain;
}

onednn_window onednn_conv_window(const bench_conv *v)
{
    onednn_window window = {.extent = {0}};
    for (int i = 0; i < v->space; i++) {
        window.strides[i] = v->stride[i];
        window.dilates[i] = v->dilation[i] - 1;
        window.pad[i] = v->pad[i];
        window.pad_end[i] = v->pad_end[i];
    }
    return window;
}

int64_t onednn_conv_count_products(const bench_case *c)
{
    const bench_conv *v = &c->as.conv;
    int64_t count = c->dir == BENCH_BWD_WEIGHT ? v->n : (c->dir == BENCH_BWD_DATA ? v->k : v->c) / v->groups;
    for (int i = 0; i < v->space; i++)
        count *= c->dir == BENCH_BWD_WEIGHT ? v->out[i] : v->filter[i];
    return count;
}

/*
 * Multiplications are 1/4 or 1/2.25 of the direct method's, transforms apart: y and dx by F(4x4, 3x3) or F(2x2, 3x3),
 * dw, where a tile of dy stands in the filter's place, by F(3x3, 4x4). The bound is the direct one times how much the
 * transforms of one dimension amplify rounding errors: the largest row sum of |A| (|G| 1) (|B| 1) / 3, of dw / 4, with
 * the matrices of arXiv 1509.09308. In two dimensions the worst case is its square and the random case about its root.
 * wino_4x3 has the points 0, 5/8, -5/8, 3/2, -3/2, with which the random cases of docs/operators.md are 8.2 and 6.6.
 */
void onednn_conv_describe_winograd(onednn_program *program, const bench_case *c)
{
    const bool large = strstr(program->name, "wino_4x3") || strstr(program->name, "4x4");
    const double amplification = c->dir == BENCH_BWD_WEIGHT ? 40.0 / 3.0 : large ? 16.0 : 8.0 / 3.0;
    program->executed_flops = bench_case_flops(c) / (large ? 4.0 : 2.25);
    program->error_factor = amplification * (4 + 2 * sqrt((double)onednn_conv_count_products(c)));
}
