// SPDX-License-Identifier: MIT
// oneDNN: what matrix multiplication and its gradients share.
#include "baseline/onednn_gemm_shared.h"

const onednn_md *onednn_gemm_md(onednn_program *program, int64_t batch, int64_t rows, int64_t columns, int64_t leading,
                                bool transposed, bool any)
{
    const int64_t stored = transposed ? columns : rows;
    const int64_t dims[3] = {batch, rows, columns};
    const int64_t strides[3] = {stored * leading, transposed ? 1 : leading, transposed ? leading : 1};
    const int skip = batch > 1 ? 0 : 1;
    return any ? onednn_program_md_any(program, 3 - skip, dims + skip)
               : onednn_program_md(program, 3 - skip, dims + skip, strides + skip);
}
