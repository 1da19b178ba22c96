/* SPDX-License-Identifier: MIT */
/*
 * husk/ops/embedding.h: rows of a table, by their numbers.
 *
 *     y[..., c] = table[indices[...], c]
 *
 * table: [rows, columns], f32, f16, bf16 or f64. indices: any shape of at most 7 dimensions, i32 or i64. y: the
 * indices' shape and one dimension more, the columns, of the table's dtype. Any strides. As PyTorch's embedding and
 * ONNX's Gather along axis 0.
 *
 * An index below 0 or not below rows gives a row of NaN, and nothing outside of the table is read. (PyTorch fails, or
 * stops the device, in ONNX indices from -rows on count from the end.)
 */
#ifndef HUSK_OPS_EMBEDDING_H
#define HUSK_OPS_EMBEDDING_H

#include <husk/gradient.h>

HUSK_BEGIN_DECLS

typedef struct husk_embedding_params {
    uint32_t size;               /* sizeof this struct: HUSK_EMBEDDING_PARAMS sets it */
    uint32_t has_padding;        /* 1: the row padding_index gets no gradient; forward reads it as any other */
    int64_t padding_index;       /* as it is; -rows to -1 count from the end, as in PyTorch */
    uint32_t scale_by_frequency; /* 1: a row's gradient is divided by how often the indices name the row */
    uint32_t accumulate;         /* husk_accumulate's bits, for the gradient alone */
    const char *variant;         /* NULL: chosen */
} husk_embedding_params;

#define HUSK_EMBEDDING_PARAMS(...) HUSK_MAKE(husk_embedding_params, __VA_ARGS__)

/* y must not overlap the others. The values are the table's, exactly. Without indices or columns nothing happens. */
HUSK_API husk_status husk_embedding(husk_queue *queue, const husk_embedding_params *params, const husk_tensor *table,
                                    const husk_tensor *indices, const husk_tensor *y);

/*
 * dtable[r, c] = sum of dy[..., c] where indices[...] = r; zero for rows that no index names, and for the padding row.
 * Indices that name no row add to nothing. dy: as y; dtable: [rows, columns] of dy's dtype, all of which is written; it
 * must not overlap the others. accumulate: HUSK_ACCUMULATE_PARAMETERS adds to dtable, and leaves rows that get no
 * gradient as they are.
 *
 * The indices are sorted by rows, keeping their order, then every row is summed in the indices' row-major order, in f32
 * (of f64: f64) whatever is stored: the same bits on every device, in every layout, but for what is below 2^-126, which
 * may count as zero, and what scale_by_frequency divides, for which OpenCL allows 2.5 ulp. Workspace: 8 bytes a row and
 * an index. |error| of a sum of k numbers: (4 + 2 sqrt k) 2^-24 sum |dy| (of f64: 2^-53), see docs/operators.md.
 */
HUSK_API husk_status husk_embedding_backward(husk_queue *queue, const husk_embedding_params *params,
                                             const husk_tensor *indices, const husk_tensor *dy,
                                             const husk_tensor *dtable);

HUSK_END_DECLS

#endif
