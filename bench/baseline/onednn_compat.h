/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_compat.h: what differs between oneDNN 2.x and 3.x, under one set of functions.
 *
 * In 2.x a memory descriptor is a struct, an operation has a descriptor of its own, and a primitive
 * descriptor is made from that; in 3.x memory descriptors are handles and primitive descriptors are made at
 * once. Here a memory descriptor is a pointer that onednn_md_destroy frees; NULL stands for "not there".
 */
#ifndef BENCH_BASELINE_ONEDNN_COMPAT_H
#define BENCH_BASELINE_ONEDNN_COMPAT_H

#include <stdlib.h>

#include "baseline/onednn_library.h"

#if DNNL_VERSION_MAJOR >= 3
typedef struct dnnl_memory_desc onednn_md;
#else
typedef dnnl_memory_desc_t onednn_md;
#endif

/* The descriptors of an rnn; those that do not apply are NULL. */
typedef struct onednn_rnn_mds {
    const onednn_md *src, *src_iter, *src_iter_c, *weights, *weights_iter, *bias, *dst, *dst_iter, *dst_iter_c;
} onednn_rnn_mds;

/*
 * A window's way over space, one entry a dimension. dilates count from 0, as oneDNN's do. The interface
 * declares its lists with all of their DNNL_MAX_NDIMS entries, so these have them.
 */
typedef struct onednn_window {
    dnnl_dims_t extent, strides, dilates, pad, pad_end;
} onednn_window;

#if DNNL_VERSION_MAJOR >= 3

static inline dnnl_status_t onednn_md_strided(onednn_md **md, dnnl_data_type_t type, int rank, const int64_t *dims,
                                              const int64_t *strides)
{
    return dnnl.memory_desc_create_with_strides(md, rank, dims, type, strides);
}

static inline dnnl_status_t onednn_md_tagged(onednn_md **md, dnnl_data_type_t type, int rank, const int64_t *dims,
                                             dnnl_format_tag_t tag)
{
    return dnnl.memory_desc_create_with_tag(md, rank, dims, type, tag);
}

static inline void onednn_md_destroy(onednn_md *md)
{
    if (md)
        dnnl.memory_desc_destroy(md);
}

static inline dnnl_status_t onednn_append_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha, float beta)
{
    return dnnl.post_ops_append_eltwise(ops, kind, alpha, beta);
}

static inline dnnl_status_t onednn_append_sum(dnnl_post_ops_t ops, float scale)
{
    return dnnl.post_ops_append_sum(ops, scale, 0, dnnl_f32);
}

static inline dnnl_status_t onednn_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onednn_md *src,
                                          const onednn_md *weights, const onednn_md *bias, const onednn_md *dst,
                                          const_dnnl_primitive_attr_t attr)
{
    return dnnl.matmul_primitive_desc_create(pd, engine, src, weights, bias, dst, attr);
}

static inline dnnl_status_t onednn_inner_product(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                                 const onednn_md *src, const onednn_md *weights, const onednn_md *bias,
                                                 const onednn_md *dst, const_dnnl_primitive_attr_t attr)
{
    return dnnl.inner_product_forward_primitive_desc_create(pd, engine, prop, src, weights, bias, dst, attr);
}

static inline dnnl_status_t onednn_convolution(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                               dnnl_alg_kind_t kind, const onednn_md *src, const onednn_md *weights,
                                               const onednn_md *bias, const onednn_md *dst, const onednn_window *window,
                                               const_dnnl_primitive_attr_t attr)
{
    return dnnl.convolution_forward_primitive_desc_create(pd, engine, prop, kind, src, weights, bias, dst,
                                                          window->strides, window->dilates, window->pad,
                                                          window->pad_end, attr);
}

static inline dnnl_status_t onednn_pooling(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           dnnl_alg_kind_t kind, const onednn_md *src, const onednn_md *dst,
                                           const onednn_window *window)
{
    return dnnl.pooling_forward_primitive_desc_create(pd, engine, prop, kind, src, dst, window->strides, window->extent,
                                                      window->dilates, window->pad, window->pad_end, NULL);
}

/* forward: the descriptor of the training pass that it belongs to. */
static inline dnnl_status_t onednn_pooling_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                    dnnl_alg_kind_t kind, const onednn_md *diff_src,
                                                    const onednn_md *diff_dst, const onednn_window *window,
                                                    const_dnnl_primitive_desc_t forward)
{
    return dnnl.pooling_backward_primitive_desc_create(pd, engine, kind, diff_src, diff_dst, window->strides,
                                                       window->extent, window->dilates, window->pad, window->pad_end,
                                                       forward, NULL);
}

static inline dnnl_status_t onednn_softmax(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           bool log, const onednn_md *md, int axis)
{
    return dnnl.softmax_forward_primitive_desc_create(pd, engine, prop, log ? dnnl_softmax_log : dnnl_softmax_accurate,
                                                      md, md, axis, NULL);
}

static inline dnnl_status_t onednn_softmax_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bool log,
                                                    const onednn_md *md, int axis, const_dnnl_primitive_desc_t forward)
{
    return dnnl.softmax_backward_primitive_desc_create(pd, engine, log ? dnnl_softmax_log : dnnl_softmax_accurate, md,
                                                       md, md, axis, forward, NULL);
}

static inline dnnl_status_t onednn_eltwise(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           dnnl_alg_kind_t kind, const onednn_md *md, float alpha, float beta)
{
    return dnnl.eltwise_forward_primitive_desc_create(pd, engine, prop, kind, md, md, alpha, beta, NULL);
}

/* dst = src + other, which is broadcast; attr's post-ops follow. */
static inline dnnl_status_t onednn_add(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onednn_md *src,
                                       const onednn_md *other, const_dnnl_primitive_attr_t attr)
{
    return dnnl.binary_primitive_desc_create(pd, engine, dnnl_binary_add, src, other, src, attr);
}

static inline dnnl_status_t onednn_vanilla_rnn(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                               dnnl_alg_kind_t kind, dnnl_rnn_direction_t direction,
                                               const onednn_rnn_mds *m, const_dnnl_primitive_attr_t attr)
{
    return dnnl.vanilla_rnn_forward_primitive_desc_create(pd, engine, prop, kind, direction, m->src, m->src_iter,
                                                          m->weights, m->weights_iter, m->bias, m->dst, m->dst_iter,
                                                          dnnl_rnn_flags_undef, 0, 0, attr);
}

static inline dnnl_status_t onednn_lstm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                        dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                        const_dnnl_primitive_attr_t attr)
{
    return dnnl.lstm_forward_primitive_desc_create(pd, engine, prop, direction, m->src, m->src_iter, m->src_iter_c,
                                                   m->weights, m->weights_iter, NULL, NULL, m->bias, m->dst,
                                                   m->dst_iter, m->dst_iter_c, dnnl_rnn_flags_undef, attr);
}

static inline dnnl_status_t onednn_gru(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bool reset_after,
                                       dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                       const_dnnl_primitive_attr_t attr)
{
    if (reset_after)
        return dnnl.lbr_gru_forward_primitive_desc_create(pd, engine, dnnl_forward_inference, direction, m->src,
                                                          m->src_iter, m->weights, m->weights_iter, m->bias, m->dst,
                                                          m->dst_iter, dnnl_rnn_flags_undef, attr);
    return dnnl.gru_forward_primitive_desc_create(pd, engine, dnnl_forward_inference, direction, m->src, m->src_iter,
                                                  m->weights, m->weights_iter, m->bias, m->dst, m->dst_iter,
                                                  dnnl_rnn_flags_undef, attr);
}

/* Gradients; forward: the descriptor of the pass that they belong to. */
static inline dnnl_status_t onednn_vanilla_rnn_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                        dnnl_alg_kind_t kind, dnnl_rnn_direction_t direction,
                                                        const onednn_rnn_mds *m, const_dnnl_primitive_desc_t forward)
{
    return dnnl.vanilla_rnn_backward_primitive_desc_create(
        pd, engine, dnnl_backward, kind, direction, m->src, m->src_iter, m->weights, m->weights_iter, m->bias, m->dst,
        m->dst_iter, m->src, m->src_iter, m->weights, m->weights_iter, m->bias, m->dst, m->dst_iter,
        dnnl_rnn_flags_undef, 0, 0, forward, NULL);
}

static inline dnnl_status_t onednn_lstm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                 dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                                 const_dnnl_primitive_desc_t forward)
{
    return dnnl.lstm_backward_primitive_desc_create(
        pd, engine, dnnl_backward, direction, m->src, m->src_iter, m->src_iter_c, m->weights, m->weights_iter, NULL,
        NULL, m->bias, m->dst, m->dst_iter, m->dst_iter_c, m->src, m->src_iter, m->src_iter_c, m->weights,
        m->weights_iter, NULL, NULL, m->bias, m->dst, m->dst_iter, m->dst_iter_c, dnnl_rnn_flags_undef, forward, NULL);
}

static inline dnnl_status_t onednn_convolution_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                             dnnl_alg_kind_t kind, const onednn_md *diff_src,
                                                             const onednn_md *weights, const onednn_md *diff_dst,
                                                             const onednn_window *window,
                                                             const_dnnl_primitive_desc_t forward)
{
    return dnnl.convolution_backward_data_primitive_desc_create(pd, engine, kind, diff_src, weights, diff_dst,
                                                                window->strides, window->dilates, window->pad,
                                                                window->pad_end, forward, NULL);
}

static inline dnnl_status_t onednn_convolution_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                                dnnl_alg_kind_t kind, const onednn_md *src,
                                                                const onednn_md *diff_weights,
                                                                const onednn_md *diff_bias, const onednn_md *diff_dst,
                                                                const onednn_window *window,
                                                                const_dnnl_primitive_desc_t forward)
{
    return dnnl.convolution_backward_weights_primitive_desc_create(pd, engine, kind, src, diff_weights, diff_bias,
                                                                   diff_dst, window->strides, window->dilates,
                                                                   window->pad, window->pad_end, forward, NULL);
}

static inline dnnl_status_t onednn_inner_product_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                               const onednn_md *diff_src, const onednn_md *weights,
                                                               const onednn_md *diff_dst,
                                                               const_dnnl_primitive_desc_t forward)
{
    return dnnl.inner_product_backward_data_primitive_desc_create(pd, engine, diff_src, weights, diff_dst, forward,
                                                                  NULL);
}

static inline dnnl_status_t onednn_inner_product_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                                  const onednn_md *src, const onednn_md *diff_weights,
                                                                  const onednn_md *diff_bias, const onednn_md *diff_dst,
                                                                  const_dnnl_primitive_desc_t forward)
{
    return dnnl.inner_product_backward_weights_primitive_desc_create(pd, engine, src, diff_weights, diff_bias, diff_dst,
                                                                     forward, NULL);
}

static inline dnnl_status_t onednn_eltwise_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                    dnnl_alg_kind_t kind, const onednn_md *md, float alpha, float beta,
                                                    const_dnnl_primitive_desc_t forward)
{
    return dnnl.eltwise_backward_primitive_desc_create(pd, engine, kind, md, md, md, alpha, beta, forward, NULL);
}

static inline dnnl_status_t onednn_batch_norm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                              const onednn_md *md, float epsilon, unsigned flags)
{
    return dnnl.batch_normalization_forward_primitive_desc_create(pd, engine, prop, md, md, epsilon, flags, NULL);
}

static inline dnnl_status_t onednn_batch_norm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                       const onednn_md *md, float epsilon, unsigned flags,
                                                       const_dnnl_primitive_desc_t forward)
{
    return dnnl.batch_normalization_backward_primitive_desc_create(pd, engine, dnnl_backward, md, md, md, epsilon,
                                                                   flags, forward, NULL);
}

static inline dnnl_status_t onednn_layer_norm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                              const onednn_md *md, const onednn_md *statistics, float epsilon,
                                              unsigned flags)
{
    return dnnl.layer_normalization_forward_primitive_desc_create(pd, engine, prop, md, md, statistics, epsilon, flags,
                                                                  NULL);
}

static inline dnnl_status_t onednn_layer_norm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                       const onednn_md *md, const onednn_md *statistics, float epsilon,
                                                       unsigned flags, const_dnnl_primitive_desc_t forward)
{
    return dnnl.layer_normalization_backward_primitive_desc_create(pd, engine, dnnl_backward, md, md, md, statistics,
                                                                   epsilon, flags, forward, NULL);
}

#else /* 2.x */

static inline dnnl_status_t onednn_md_strided(onednn_md **md, dnnl_data_type_t type, int rank, const int64_t *dims,
                                              const int64_t *strides)
{
    *md = calloc(1, sizeof **md);
    return *md ? dnnl.memory_desc_init_by_strides(*md, rank, dims, type, strides) : dnnl_out_of_memory;
}

static inline dnnl_status_t onednn_md_tagged(onednn_md **md, dnnl_data_type_t type, int rank, const int64_t *dims,
                                             dnnl_format_tag_t tag)
{
    *md = calloc(1, sizeof **md);
    return *md ? dnnl.memory_desc_init_by_tag(*md, rank, dims, type, tag) : dnnl_out_of_memory;
}

static inline void onednn_md_destroy(onednn_md *md)
{
    free(md);
}

static inline dnnl_status_t onednn_append_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t kind, float alpha, float beta)
{
    return dnnl.post_ops_append_eltwise(ops, 1.0f, kind, alpha, beta);
}

static inline dnnl_status_t onednn_append_sum(dnnl_post_ops_t ops, float scale)
{
    return dnnl.post_ops_append_sum(ops, scale);
}

/* The primitive descriptor of an operation that was described with this status. */
static inline dnnl_status_t onednn_pd_of(dnnl_status_t described, dnnl_primitive_desc_t *pd, const_dnnl_op_desc_t op,
                                         dnnl_engine_t engine, const_dnnl_primitive_attr_t attr)
{
    return described == dnnl_success ? dnnl.primitive_desc_create(pd, op, attr, engine, NULL) : described;
}

/* The same for the gradient of what the descriptor `forward` stands for. */
static inline dnnl_status_t onednn_backward_pd_of(dnnl_status_t described, dnnl_primitive_desc_t *pd,
                                                  const_dnnl_op_desc_t op, dnnl_engine_t engine,
                                                  const_dnnl_primitive_desc_t forward)
{
    return described == dnnl_success ? dnnl.primitive_desc_create(pd, op, NULL, engine, forward) : described;
}

static inline dnnl_status_t onednn_matmul(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onednn_md *src,
                                          const onednn_md *weights, const onednn_md *bias, const onednn_md *dst,
                                          const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t op;
    return onednn_pd_of(dnnl.matmul_desc_init(&op, src, weights, bias, dst), pd, &op, engine, attr);
}

static inline dnnl_status_t onednn_inner_product(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                                 const onednn_md *src, const onednn_md *weights, const onednn_md *bias,
                                                 const onednn_md *dst, const_dnnl_primitive_attr_t attr)
{
    dnnl_inner_product_desc_t op;
    return onednn_pd_of(dnnl.inner_product_forward_desc_init(&op, prop, src, weights, bias, dst), pd, &op, engine,
                        attr);
}

static inline dnnl_status_t onednn_convolution(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                               dnnl_alg_kind_t kind, const onednn_md *src, const onednn_md *weights,
                                               const onednn_md *bias, const onednn_md *dst, const onednn_window *window,
                                               const_dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t op;
    return onednn_pd_of(dnnl.dilated_convolution_forward_desc_init(&op, prop, kind, src, weights, bias, dst,
                                                                   window->strides, window->dilates, window->pad,
                                                                   window->pad_end),
                        pd, &op, engine, attr);
}

static inline dnnl_status_t onednn_pooling(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           dnnl_alg_kind_t kind, const onednn_md *src, const onednn_md *dst,
                                           const onednn_window *window)
{
    dnnl_pooling_v2_desc_t op;
    return onednn_pd_of(dnnl.pooling_v2_forward_desc_init(&op, prop, kind, src, dst, window->strides, window->extent,
                                                          window->dilates, window->pad, window->pad_end),
                        pd, &op, engine, NULL);
}

/* forward: the descriptor of the training pass that it belongs to. */
static inline dnnl_status_t onednn_pooling_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                    dnnl_alg_kind_t kind, const onednn_md *diff_src,
                                                    const onednn_md *diff_dst, const onednn_window *window,
                                                    const_dnnl_primitive_desc_t forward)
{
    dnnl_pooling_v2_desc_t op;
    return onednn_backward_pd_of(dnnl.pooling_v2_backward_desc_init(&op, kind, diff_src, diff_dst, window->strides,
                                                                    window->extent, window->dilates, window->pad,
                                                                    window->pad_end),
                                 pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_softmax(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           bool log, const onednn_md *md, int axis)
{
    dnnl_softmax_desc_t op;
    dnnl_logsoftmax_desc_t log_op;
    if (log)
        return onednn_pd_of(dnnl.logsoftmax_forward_desc_init(&log_op, prop, md, axis), pd, &log_op, engine, NULL);
    return onednn_pd_of(dnnl.softmax_forward_desc_init(&op, prop, md, axis), pd, &op, engine, NULL);
}

static inline dnnl_status_t onednn_softmax_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bool log,
                                                    const onednn_md *md, int axis, const_dnnl_primitive_desc_t forward)
{
    dnnl_softmax_desc_t op;
    dnnl_logsoftmax_desc_t log_op;
    if (log)
        return onednn_backward_pd_of(dnnl.logsoftmax_backward_desc_init(&log_op, md, md, axis), pd, &log_op, engine,
                                     forward);
    return onednn_backward_pd_of(dnnl.softmax_backward_desc_init(&op, md, md, axis), pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_eltwise(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                           dnnl_alg_kind_t kind, const onednn_md *md, float alpha, float beta)
{
    dnnl_eltwise_desc_t op;
    return onednn_pd_of(dnnl.eltwise_forward_desc_init(&op, prop, kind, md, alpha, beta), pd, &op, engine, NULL);
}

/* dst = src + other, which is broadcast; attr's post-ops follow. */
static inline dnnl_status_t onednn_add(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, const onednn_md *src,
                                       const onednn_md *other, const_dnnl_primitive_attr_t attr)
{
    dnnl_binary_desc_t op;
    return onednn_pd_of(dnnl.binary_desc_init(&op, dnnl_binary_add, src, other, src), pd, &op, engine, attr);
}

static inline dnnl_status_t onednn_vanilla_rnn(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                               dnnl_alg_kind_t kind, dnnl_rnn_direction_t direction,
                                               const onednn_rnn_mds *m, const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t op;
    return onednn_pd_of(dnnl.vanilla_rnn_forward_desc_init(&op, prop, kind, direction, m->src, m->src_iter, m->weights,
                                                           m->weights_iter, m->bias, m->dst, m->dst_iter,
                                                           dnnl_rnn_flags_undef, 0, 0),
                        pd, &op, engine, attr);
}

static inline dnnl_status_t onednn_lstm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                        dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                        const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t op;
    return onednn_pd_of(dnnl.lstm_forward_desc_init(&op, prop, direction, m->src, m->src_iter, m->src_iter_c,
                                                    m->weights, m->weights_iter, m->bias, m->dst, m->dst_iter,
                                                    m->dst_iter_c, dnnl_rnn_flags_undef),
                        pd, &op, engine, attr);
}

static inline dnnl_status_t onednn_gru(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, bool reset_after,
                                       dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                       const_dnnl_primitive_attr_t attr)
{
    dnnl_rnn_desc_t op;
    // The two share a signature and differ in the formula.
    __typeof__(dnnl.gru_forward_desc_init) describe =
        reset_after ? dnnl.lbr_gru_forward_desc_init : dnnl.gru_forward_desc_init;
    return onednn_pd_of(describe(&op, dnnl_forward_inference, direction, m->src, m->src_iter, m->weights,
                                 m->weights_iter, m->bias, m->dst, m->dst_iter, dnnl_rnn_flags_undef),
                        pd, &op, engine, attr);
}

/* Gradients; forward: the descriptor of the pass that they belong to. */
static inline dnnl_status_t onednn_vanilla_rnn_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                        dnnl_alg_kind_t kind, dnnl_rnn_direction_t direction,
                                                        const onednn_rnn_mds *m, const_dnnl_primitive_desc_t forward)
{
    dnnl_rnn_desc_t op;
    return onednn_backward_pd_of(dnnl.vanilla_rnn_backward_desc_init(
                                     &op, dnnl_backward, kind, direction, m->src, m->src_iter, m->weights,
                                     m->weights_iter, m->bias, m->dst, m->dst_iter, m->src, m->src_iter, m->weights,
                                     m->weights_iter, m->bias, m->dst, m->dst_iter, dnnl_rnn_flags_undef, 0, 0),
                                 pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_lstm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                 dnnl_rnn_direction_t direction, const onednn_rnn_mds *m,
                                                 const_dnnl_primitive_desc_t forward)
{
    dnnl_rnn_desc_t op;
    return onednn_backward_pd_of(dnnl.lstm_backward_desc_init(&op, dnnl_backward, direction, m->src, m->src_iter,
                                                              m->src_iter_c, m->weights, m->weights_iter, m->bias,
                                                              m->dst, m->dst_iter, m->dst_iter_c, m->src, m->src_iter,
                                                              m->src_iter_c, m->weights, m->weights_iter, m->bias,
                                                              m->dst, m->dst_iter, m->dst_iter_c, dnnl_rnn_flags_undef),
                                 pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_convolution_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                             dnnl_alg_kind_t kind, const onednn_md *diff_src,
                                                             const onednn_md *weights, const onednn_md *diff_dst,
                                                             const onednn_window *window,
                                                             const_dnnl_primitive_desc_t forward)
{
    dnnl_convolution_desc_t op;
    return onednn_backward_pd_of(
        dnnl.dilated_convolution_backward_data_desc_init(&op, kind, diff_src, weights, diff_dst, window->strides,
                                                         window->dilates, window->pad, window->pad_end),
        pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_convolution_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                                dnnl_alg_kind_t kind, const onednn_md *src,
                                                                const onednn_md *diff_weights,
                                                                const onednn_md *diff_bias, const onednn_md *diff_dst,
                                                                const onednn_window *window,
                                                                const_dnnl_primitive_desc_t forward)
{
    dnnl_convolution_desc_t op;
    return onednn_backward_pd_of(dnnl.dilated_convolution_backward_weights_desc_init(
                                     &op, kind, src, diff_weights, diff_bias, diff_dst, window->strides,
                                     window->dilates, window->pad, window->pad_end),
                                 pd, &op, engine, forward);
}

static inline dnnl_status_t onednn_inner_product_backward_data(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                               const onednn_md *diff_src, const onednn_md *weights,
                                                               const onednn_md *diff_dst,
                                                               const_dnnl_primitive_desc_t forward)
{
    dnnl_inner_product_desc_t op;
    return onednn_backward_pd_of(dnnl.inner_product_backward_data_desc_init(&op, diff_src, weights, diff_dst), pd, &op,
                                 engine, forward);
}

static inline dnnl_status_t onednn_inner_product_backward_weights(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                                  const onednn_md *src, const onednn_md *diff_weights,
                                                                  const onednn_md *diff_bias, const onednn_md *diff_dst,
                                                                  const_dnnl_primitive_desc_t forward)
{
    dnnl_inner_product_desc_t op;
    return onednn_backward_pd_of(
        dnnl.inner_product_backward_weights_desc_init(&op, src, diff_weights, diff_bias, diff_dst), pd, &op, engine,
        forward);
}

static inline dnnl_status_t onednn_eltwise_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                    dnnl_alg_kind_t kind, const onednn_md *md, float alpha, float beta,
                                                    const_dnnl_primitive_desc_t forward)
{
    dnnl_eltwise_desc_t op;
    return onednn_backward_pd_of(dnnl.eltwise_backward_desc_init(&op, kind, md, md, alpha, beta), pd, &op, engine,
                                 forward);
}

static inline dnnl_status_t onednn_batch_norm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                              const onednn_md *md, float epsilon, unsigned flags)
{
    dnnl_batch_normalization_desc_t op;
    return onednn_pd_of(dnnl.batch_normalization_forward_desc_init(&op, prop, md, epsilon, flags), pd, &op, engine,
                        NULL);
}

static inline dnnl_status_t onednn_batch_norm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                       const onednn_md *md, float epsilon, unsigned flags,
                                                       const_dnnl_primitive_desc_t forward)
{
    dnnl_batch_normalization_desc_t op;
    return onednn_backward_pd_of(
        dnnl.batch_normalization_backward_desc_init(&op, dnnl_backward, md, md, epsilon, flags), pd, &op, engine,
        forward);
}

static inline dnnl_status_t onednn_layer_norm(dnnl_primitive_desc_t *pd, dnnl_engine_t engine, dnnl_prop_kind_t prop,
                                              const onednn_md *md, const onednn_md *statistics, float epsilon,
                                              unsigned flags)
{
    dnnl_layer_normalization_desc_t op;
    return onednn_pd_of(dnnl.layer_normalization_forward_desc_init(&op, prop, md, statistics, epsilon, flags), pd, &op,
                        engine, NULL);
}

static inline dnnl_status_t onednn_layer_norm_backward(dnnl_primitive_desc_t *pd, dnnl_engine_t engine,
                                                       const onednn_md *md, const onednn_md *statistics, float epsilon,
                                                       unsigned flags, const_dnnl_primitive_desc_t forward)
{
    dnnl_layer_normalization_desc_t op;
    return onednn_backward_pd_of(
        dnnl.layer_normalization_backward_desc_init(&op, dnnl_backward, md, md, statistics, epsilon, flags), pd, &op,
        engine, forward);
}

#endif

#endif
