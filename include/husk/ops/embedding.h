/* SPDX-License-Identifier: MIT */
/** @file
 * Embedding: rows of a table are selected by their numbers.
 *
 *     y[..., c] = table[indices[...], c]
 *
 * | tensor | shape | dtype |
 * | --- | --- | --- |
 * | table | [rows, columns] | f32, f16, bf16 or f64 |
 * | indices | any, at most 7 dimensions | i32 or i64 |
 * | y | the indices' shape, then columns | as table |
 *
 * Any strides. This is PyTorch's embedding, and ONNX's Gather along axis 0.
 *
 * An index below 0, or not below rows, gives a row of NaN, and nothing outside of the table is read. PyTorch fails, or
 * stops the device. In ONNX, indices from -rows on count from the end.
 */
#ifndef HUSK_OPS_EMBEDDING_H
#define HUSK_OPS_EMBEDDING_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

/** Options of husk_embedding() and its gradient. */
typedef struct husk_embedding_params {
    uint32_t size;               /**< sizeof this struct; HUSK_EMBEDDING_PARAMS() sets it. */
    uint32_t has_padding;        /**< 1: the row padding_index gets no gradient. Forward reads it as any other. */
    int64_t padding_index;       /**< Taken as it is, also 0. -rows to -1 count from the end, as in PyTorch. */
    uint32_t scale_by_frequency; /**< 1: a row's gradient is divided by how often the indices name the row. */
    uint32_t accumulate;         /**< Gradient only: bits of husk_accumulate. */
    const char *variant;         /**< NULL: the library chooses. */
} husk_embedding_params;

/** Makes a husk_embedding_params; see husk/export.h. */
#define HUSK_EMBEDDING_PARAMS(...) HUSK_MAKE(husk_embedding_params, __VA_ARGS__)

/**
 * Enqueue the selection. y must not overlap the others. The values are exactly the table's. Without indices or columns
 * nothing happens.
 */
HUSK_API husk_status husk_embedding(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *table,
                                    const husk_tensor *indices, const husk_tensor *y);

/**
 * Enqueue the gradient: dtable[r, c] is the sum of dy[..., c] where indices[...] = r.
 *
 * - Rows that no index names, and the padding row, get 0. Indices that name no row add to nothing.
 * - dy is as y. dtable is [rows, columns] in dy's dtype. All of it is written. It must not overlap the others.
 * - HUSK_ACCUMULATE_PARAMETERS adds to dtable. Rows without a gradient are then not changed.
 *
 * The indices are sorted by rows, keeping their order. Then every row is summed in the row-major order of the indices,
 * in f32 (f64 for f64) whatever is stored. The bits are the same on every device and in every layout, with two
 * exceptions: numbers below 2^-126 may count as zero, and OpenCL allows the division of scale_by_frequency 2.5 ulp.
 *
 * Scratch memory: 8 bytes for each row and for each index.
 *
 * @par Error
 * For a sum of k numbers (docs/operators.md):
 *
 *     |error| <= (4 + 2 sqrt k) 2^-24 sum |dy|      2^-53 in f64
 */
HUSK_API husk_status husk_embedding_backward(husk_queue *queue, const husk_embedding_params *params,
                                             const husk_tensor *indices, const husk_tensor *dy,
                                             const husk_tensor *dtable);

HUSK_END_DECLS

#endif
