/* SPDX-License-Identifier: MIT */
/*
 * baseline/onednn_library.h: oneDNN's C interface, opened at run time.
 *
 * The library is opened by the onednn worker alone and not linked, for three reasons: clbench starts where
 * oneDNN is not installed; no other worker carries its code and its OpenMP threads; and what its OpenMP
 * runtime reads from the environment when it is loaded can be set just before (docs/baselines.md).
 */
#ifndef BENCH_BASELINE_ONEDNN_LIBRARY_H
#define BENCH_BASELINE_ONEDNN_LIBRARY_H

#include <stdbool.h>

#include <oneapi/dnnl/dnnl.h>

#include "worker/runner.h"

/* What both interfaces have under the same name. */
#define ONEDNN_FUNCTIONS_COMMON(X)    \
    X(version)                        \
    X(get_effective_cpu_isa)          \
    X(engine_create)                  \
    X(engine_destroy)                 \
    X(stream_create)                  \
    X(stream_wait)                    \
    X(stream_destroy)                 \
    X(memory_desc_equal)              \
    X(memory_desc_get_size)           \
    X(memory_create)                  \
    X(memory_get_data_handle)         \
    X(memory_destroy)                 \
    X(primitive_attr_create)          \
    X(primitive_attr_destroy)         \
    X(primitive_attr_set_post_ops)    \
    X(primitive_attr_set_fpmath_mode) \
    X(post_ops_create)                \
    X(post_ops_destroy)               \
    X(post_ops_append_eltwise)        \
    X(post_ops_append_sum)            \
    X(post_ops_append_binary)         \
    X(primitive_desc_query)           \
    X(primitive_desc_query_md)        \
    X(primitive_desc_destroy)         \
    X(primitive_create)               \
    X(primitive_execute)              \
    X(primitive_destroy)              \
    X(reorder_primitive_desc_create)  \
    X(sgemm)

#if DNNL_VERSION_MAJOR >= 3
#define ONEDNN_FUNCTIONS_VERSION(X)                         \
    X(memory_desc_create_with_strides)                      \
    X(memory_desc_create_with_tag)                          \
    X(memory_desc_destroy)                                  \
    X(primitive_attr_set_scales_mask)                       \
    X(primitive_attr_set_zero_points_mask)                  \
    X(matmul_primitive_desc_create)                         \
    X(inner_product_forward_primitive_desc_create)          \
    X(convolution_forward_primitive_desc_create)            \
    X(pooling_forward_primitive_desc_create)                \
    X(pooling_backward_primitive_desc_create)               \
    X(softmax_forward_primitive_desc_create)                \
    X(softmax_backward_primitive_desc_create)               \
    X(eltwise_forward_primitive_desc_create)                \
    X(binary_primitive_desc_create)                         \
    X(vanilla_rnn_forward_primitive_desc_create)            \
    X(lstm_forward_primitive_desc_create)                   \
    X(gru_forward_primitive_desc_create)                    \
    X(lbr_gru_forward_primitive_desc_create)                \
    X(convolution_backward_data_primitive_desc_create)      \
    X(convolution_backward_weights_primitive_desc_create)   \
    X(inner_product_backward_data_primitive_desc_create)    \
    X(inner_product_backward_weights_primitive_desc_create) \
    X(eltwise_backward_primitive_desc_create)               \
    X(batch_normalization_forward_primitive_desc_create)    \
    X(batch_normalization_backward_primitive_desc_create)   \
    X(layer_normalization_forward_primitive_desc_create)    \
    X(layer_normalization_backward_primitive_desc_create)   \
    X(vanilla_rnn_backward_primitive_desc_create)           \
    X(lstm_backward_primitive_desc_create)
#else
#define ONEDNN_FUNCTIONS_VERSION(X)                   \
    X(memory_desc_init_by_strides)                    \
    X(memory_desc_init_by_tag)                        \
    X(primitive_attr_set_output_scales)               \
    X(primitive_attr_set_zero_points)                 \
    X(primitive_desc_create)                          \
    X(matmul_desc_init)                               \
    X(inner_product_forward_desc_init)                \
    X(dilated_convolution_forward_desc_init)          \
    X(pooling_v2_forward_desc_init)                   \
    X(pooling_v2_backward_desc_init)                  \
    X(softmax_forward_desc_init)                      \
    X(softmax_backward_desc_init)                     \
    X(logsoftmax_forward_desc_init)                   \
    X(logsoftmax_backward_desc_init)                  \
    X(eltwise_forward_desc_init)                      \
    X(binary_desc_init)                               \
    X(vanilla_rnn_forward_desc_init)                  \
    X(lstm_forward_desc_init)                         \
    X(gru_forward_desc_init)                          \
    X(lbr_gru_forward_desc_init)                      \
    X(dilated_convolution_backward_data_desc_init)    \
    X(dilated_convolution_backward_weights_desc_init) \
    X(inner_product_backward_data_desc_init)          \
    X(inner_product_backward_weights_desc_init)       \
    X(eltwise_backward_desc_init)                     \
    X(batch_normalization_forward_desc_init)          \
    X(batch_normalization_backward_desc_init)         \
    X(layer_normalization_forward_desc_init)          \
    X(layer_normalization_backward_desc_init)         \
    X(vanilla_rnn_backward_desc_init)                 \
    X(lstm_backward_desc_init)
#endif

#define ONEDNN_FUNCTIONS(X) ONEDNN_FUNCTIONS_COMMON(X) ONEDNN_FUNCTIONS_VERSION(X)

/* dnnl.engine_create is dnnl_engine_create, and so on. */
typedef struct onednn_functions {
#define ONEDNN_MEMBER(name) __typeof__(&dnnl_##name) name;
    ONEDNN_FUNCTIONS(ONEDNN_MEMBER)
#undef ONEDNN_MEMBER
} onednn_functions;

/* Filled by onednn_library_open. */
extern onednn_functions dnnl;

/* Open the library so that it works with this many threads, which sleep soon after their work is done. */
bench_answer onednn_library_open(int threads, char reason[BENCH_REASON_TEXT]);
/* End the threads it has started; those needed again are started again. The main thread is free to move. */
void onednn_library_rest(void);
/* "OpenMP" ... */
const char *onednn_library_threading(void);

#endif
