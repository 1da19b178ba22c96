/* SPDX-License-Identifier: MIT */
/* bench/baseline/onednn_conv_backward.h: the gradients of convolution. */
#ifndef BENCH_BASELINE_ONEDNN_CONV_BACKWARD_H
#define BENCH_BASELINE_ONEDNN_CONV_BACKWARD_H

#include "baseline/onednn_op.h"

/* The gradients (dir=bwd_data, dir=bwd_weight). */
void onednn_conv_backward_build(onednn_program *program, const bench_case *c, const onednn_operands *operands,
                                unsigned flags);

#endif
