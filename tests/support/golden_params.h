/* SPDX-License-Identifier: MIT */
/*
 * support/golden_params.h: for GOLDEN_TABLE (support/golden_table.h), the fields of the struct's member `params`, each
 * with a comma behind it. Sizes, variants and what else says nothing of the result are not among them.
 */
#ifndef HUSK_TESTS_GOLDEN_PARAMS_H
#define HUSK_TESTS_GOLDEN_PARAMS_H

#include "support/golden_table.h"

// clang-format off
#define GOLDEN_NO_PARAMS(type)
#define GOLDEN_ACTIVATION(type) GOLDEN_FIELDS(type, params.activation, params.slope),
#define GOLDEN_ATTENTION(type) \
    GOLDEN_FIELDS(type, params.causal, params.scale, params.dropout, params.seed, params.offset),
#define GOLDEN_BINARY(type) GOLDEN_FIELDS(type, params.op, params.alpha, params.beta),
#define GOLDEN_CONCAT(type) GOLDEN_FIELDS(type, params.axis),
#define GOLDEN_CONV(type) \
    GOLDEN_FIELDS(type, params.stride, params.pad, params.pad_end_extra, params.dilation, params.groups, \
                  params.activation, params.activation_slope),
#define GOLDEN_DROPOUT(type) GOLDEN_FIELDS(type, params.p, params.seed, params.offset),
#define GOLDEN_EMBEDDING(type) \
    GOLDEN_FIELDS(type, params.has_padding, params.padding_index, params.scale_by_frequency),
#define GOLDEN_GEMM(type) \
    GOLDEN_FIELDS(type, params.transpose_a, params.transpose_b, params.activation, params.activation_slope),
#define GOLDEN_GRAD_NORM(type) GOLDEN_FIELDS(type, params.kind, params.max_norm),
#define GOLDEN_GRAD_SCALE(type) GOLDEN_FIELDS(type, params.factor, params.limit, params.divides),
#define GOLDEN_LOSS(type) \
    GOLDEN_FIELDS(type, params.kind, params.reduction, params.beta, params.label_smoothing, params.log_target, \
                  params.ignore_index),
#define GOLDEN_NORM(type) \
    GOLDEN_FIELDS(type, params.kind, params.axis, params.groups, params.epsilon, params.momentum, params.training),
#define GOLDEN_ONE_HOT(type) GOLDEN_FIELDS(type, params.on, params.off),
#define GOLDEN_OPTIMIZER(type) \
    GOLDEN_FIELDS(type, params.kind, params.rate, params.momentum, params.dampening, params.beta, params.beta2, \
                  params.epsilon, params.weight_decay, params.nesterov, params.centered, params.amsgrad),
#define GOLDEN_PAD(type) GOLDEN_FIELDS(type, params.mode, params.value, params.before, params.after),
#define GOLDEN_PLATEAU(type) \
    GOLDEN_FIELDS(type, params.better, params.rate, params.factor, params.patience, params.threshold, \
                  params.absolute, params.cooldown, params.least_rate),
#define GOLDEN_POOL(type) \
    GOLDEN_FIELDS(type, params.kind, params.window, params.stride, params.pad, params.pad_end_extra, \
                  params.dilation, params.global, params.ceil_mode, params.count_pad),
#define GOLDEN_QUANTIZE(type) GOLDEN_FIELDS(type, params.axis),
#define GOLDEN_QUANTIZED_GEMM(type) GOLDEN_FIELDS(type, params.activation, params.activation_slope),
#define GOLDEN_RATE(type) \
    GOLDEN_FIELDS(type, params.kind, params.rate, params.factor, params.steps, params.end_rate, params.power, \
                  params.growth, params.start_rate, params.rise, params.warmup, params.warmup_rate),
#define GOLDEN_REDUCE(type) GOLDEN_FIELDS(type, params.kind, params.axis_count, params.axes),
#define GOLDEN_RESIZE(type) \
    GOLDEN_FIELDS(type, params.mode, params.coordinates, params.rounding, params.cubic_coefficient, params.scale),
#define GOLDEN_RNN(type) \
    GOLDEN_FIELDS(type, params.cell, params.hidden_size, params.layers, params.bidirectional, params.reset),
#define GOLDEN_ROTARY(type) \
    GOLDEN_FIELDS(type, params.interleaved, params.rotary_dimension, params.first_position, params.base),
#define GOLDEN_SOFTMAX(type) GOLDEN_FIELDS(type, params.axis, params.log),
#define GOLDEN_UNARY(type) GOLDEN_FIELDS(type, params.op, params.low, params.high, params.exponent),
// clang-format on

#endif
