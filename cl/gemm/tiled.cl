// SPDX-License-Identifier: MIT
// Matrix multiplication for GPUs: C = act(alpha * op(A) * op(B) + beta * C + bias).
//
// A work-group computes a BLOCK_M x BLOCK_N tile of C. It walks K in steps of BLOCK_K by the loop of
// lib/fragment_loop.clh. The multiplication is lib/fragment.clh's. Where C has too few tiles to
// fill the device, K is split over several work-groups whose partial sums gemm/reduce.cl adds, always in
// the same order.
//
//   -DBLOCK_M ...  see lib/fragment.clh: plain multiply-adds (variant tiled), or a matrix engine (variant matrix)
//   -DINDEX_64     where an element of a tensor lies 2^31 or further from its base
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
//
// Menu of tiled (local memory with padding): 128x128x8 by 8x8 (256 items, 16.5 KiB), 64x64x16 by 4x4 (256 items,
// 17 KiB), 64x64x16 by 8x8 (64 items, 17 KiB), 32x32x16 by 4x4 (64 items, 9 KiB). Menu of matrix: 128x128, 64x64 and
// 32x32 with 64 bytes of each line and part (32, 16 and 8 KiB); src/select/engine.c has the engines' items.
#include "lib/fragment_operands.clh"
#include "lib/activation.clh"
#include "lib/gemm.clh"

// a_row, a_step: how far apart the rows of op(A) and its k steps lie; b_step, b_column likewise; any
// stride is right. a_aligned: one stride of A is 1 and the other a multiple of 4. splits: work-groups that share
// the K of one tile, k_split steps each (a multiple of BLOCK_K); with more than one, C is the buffer of
// partial sums, c_batch apart. Work-groups: column blocks, then row blocks, then splits, then the batch.
// registers husk_gemm_tiled BLOCK_M=32: nvidia 128, amd 184
// registers husk_gemm_tiled BLOCK_M=64 ENGINE_AMD_MFMA: amd 80
// registers husk_gemm_tiled ITEM_M=4: nvidia 128, amd 184
// registers husk_gemm_tiled ENGINE_AMD_MFMA: amd 176
// registers husk_gemm_tiled BLOCK_M=64 ENGINE_AMD_WMMA=12: amd 176
// registers husk_gemm_tiled BLOCK_M=64 ENGINE_AMD_WMMA=11: amd 184
// registers husk_gemm_tiled: nvidia 256, amd 248
__attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
__kernel void husk_gemm_tiled(const __global data_t *restrict a_base, long a_offset, long a_row, long a_step,
                              long a_batch, int a_aligned, const __global data_t *restrict b_base,
                              long b_offset, long b_step, long b_column, long b_batch, int b_aligned,
                              const __global data_t *restrict bias_base, long bias_offset, long bias_stride,
                              int bias_kind, __global data_t *restrict c_base, long c_offset, long c_row,
                              long c_column, long c_batch, int wide, int m, int n, int k, int splits, int k_split,
                              float alpha, float beta, ACT_PARAMS)
{
    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    const int column_blocks = (n + BLOCK_N - 1) / BLOCK_N;
    const int row_blocks = (m + BLOCK_M - 1) / BLOCK_M;
    const long group = get_group_id(0);
    const long block_row = group / column_blocks;
    const long part = block_row / row_blocks;
    const long matrix = part / splits;
    const int first_column = (int)(group - block_row * column_blocks) * BLOCK_N;
    const int first_row = (int)(block_row - part * row_blocks) * BLOCK_M;
    const int begin = (int)(part - matrix * splits) * k_split;
    const int end = begin + min(k - begin, k_split);

    const int a_units = UNITS(wide & WIDE_A), b_units = UNITS(wide & WIDE_B), c_units = UNITS(wide & WIDE_C);
    const int bias_units = UNITS(wide & WIDE_BIAS);
    const __global data_t *a = a_base + (a_offset + matrix * a_batch) * a_units;
    const __global data_t *b = b_base + (b_offset + matrix * b_batch) * b_units;
    const operand oa = {(index_t)a_row * a_units, (index_t)a_step * a_units, m - first_row, a_step == 1,
                        a_aligned && ((uintptr_t)a & (4 * DATA_BYTES * a_units - 1)) == 0, a_units};
    const operand ob = {(index_t)b_column * b_units, (index_t)b_step * b_units, n - first_column, b_step == 1,
                        b_aligned && ((uintptr_t)b & (4 * DATA_BYTES * b_units - 1)) == 0, b_units};
    a += first_row * oa.line_stride + begin * oa.step_stride;
    b += first_column * ob.line_stride + begin * ob.step_stride;

    FRAGMENT_TILES
    OPERANDS
    const int tiles = (end - begin + BLOCK_K - 1) / BLOCK_K;
    FRAGMENT_LOOP(tiles, FETCH, KEEP)

    const __global data_t *bias = bias_base + bias_offset * bias_units;
    __global data_t *c = c_base + (c_offset + part * c_batch) * c_units;
#pragma unroll
    for (int i = 0; i < ITEM_M; ++i) {
        const int row = first_row + fragment_row(item, i);
#pragma unroll
        for (int j = 0; j < ITEM_N; ++j) {
            const int column = first_column + fragment_column(item, j);
            if (row < m && column < n) {
                __global data_t *to = c + (row * (index_t)c_row + column * (index_t)c_column) * c_units;
                acc_t value = alpha * fragment_value(&acc, i, j);
                if (beta != 0.0f)
                    value = MAD((acc_t)beta, load_either(to, c_units), value);
                if (bias_kind != BIAS_NONE)
                    value += load_either(
                        bias + (bias_kind == BIAS_COLUMN ? column : row) * bias_stride * bias_units, bias_units);
#ifdef ACT_SMOOTH
                store_either(to, value, c_units);
#else
                store_either(to, activate(value, ACT_ARGS), c_units);
#endif
            }
        }
    }
#ifdef ACT_SMOOTH
    // A second pass over the item's own elements, which are f32 (the host sees to it), not unrolled: unrolled above,
    // the transcendental functions are so much code that compilers give up unrolling and put the sums into memory.
#pragma unroll 1
    for (int at = 0; at < ITEM_M * ITEM_N; ++at) {
        const int row = first_row + fragment_row(item, at / ITEM_N);
        const int column = first_column + fragment_column(item, at % ITEM_N);
        if (row < m && column < n) {
            __global data_t *to = c + (row * (index_t)c_row + column * (index_t)c_column) * c_units;
            store_either(to, activate(load_either(to, c_units), ACT_ARGS), c_units);
        }
    }
#endif
}
