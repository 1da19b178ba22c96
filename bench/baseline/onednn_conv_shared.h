/* SPDX-License-Identifier: MIT */
/*
 * bench/baseline/onednn_conv_shared.h: what convolution and its gradients share.
 */
#ifndef BENCH_BASELINE_ONEDNN_CONV_SHARED_H
#define BENCH_BASELINE_ONEDNN_CONV_SHARED_H

#include "baseline/onednn_op.h"

enum {
    ONEDNN_CONV_OWN_WEIGHTS = 1,
    ONEDNN_CONV_OWN_ACTIVATIONS = 2,
    ONEDNN_CONV_CHANNELS_LAST = 4,
    ONEDNN_CONV_WINOGRAD = 8
};

onednn_window onednn_conv_window(const bench_conv *v);
/* The layout in which activations are computed. */
const onednn_md *onednn_conv_md(onednn_program *program, unsigned flags, int rank, const int64_t *dims,
                                const onednn_md *plain);
/* Products that a sum of this direction has, as husk/ops/conv.h counts them. */
int64_t onednn_conv_count_products(const bench_case *c);
/* Operations and error of a program that is Winograd's. */
void onednn_conv_describe_winograd(onednn_program *program, const bench_case *c);

#endif
