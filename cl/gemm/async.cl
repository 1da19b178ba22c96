// SPDX-License-Identifier: MIT
// Matrix multiplication by a matrix engine whose tiles are filled by asynchronous copies (NVIDIA, sm_80 on):
// C = act(alpha * op(A) * op(B) + beta * C + bias), as husk_gemm_tiled has it and with its arguments.
//
// A work-group computes a BLOCK_M x BLOCK_N tile of C by the loop of lib/fragment_async.clh; where C has too few tiles
// to fill the device, K is split over several work-groups whose partial sums gemm/reduce.cl adds. One stride of A and
// one of B is 1. Work-groups that run together compute a square of C rather than rows of it, so that what they read is
// small. At the end sums pass through the local memory of the tiles, 16 rows of each sub-group at a time, and
// neighbouring items finish and write neighbouring elements of C.
//
//   -DBLOCK_M ...  see lib/fragment.clh; -DSTAGES, -DA_ACROSS, -DB_ACROSS: lib/fragment_async.clh
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
//
// Menu: 128x128 by 128 items of 64x64 a sub-group, two stages of 64 bytes of each line (32 KiB) or five of 32 (40 KiB);
// 64x64 by 128 items of 32x32, three of 64 (24 KiB).
#include "lib/fragment_async.clh"
#include "lib/activation.clh"
#include "lib/gemm.clh"

#define SQUARE 8 // rows of tiles that run together

// alpha op(A) op(B), with beta C and the bias.
ALWAYS_INLINE acc_t finish(acc_t value, const __global data_t *c, int c_units, float beta, const __global data_t *bias,
                           int bias_units, int bias_kind)
{
    if (beta != 0.0f)
        value = MAD((acc_t)beta, load_either(c, c_units), value);
    if (bias_kind != BIAS_NONE)
        value += load_either(bias, bias_units);
    return value;
}

// wide: what is f32 beside data_t: C, the bias.
// registers husk_gemm_async BLOCK_M=128: nvidia 248
// registers husk_gemm_async ACT_SMOOTH: nvidia 112
// registers husk_gemm_async: nvidia 128
__attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
__kernel void husk_gemm_async(const __global data_t *restrict a_base, long a_offset, long a_row, long a_step,
                              long a_batch, int a_aligned, const __global data_t *restrict b_base, long b_offset,
                              long b_step, long b_column, long b_batch, int b_aligned,
                              const __global data_t *restrict bias_base, long bias_offset, long bias_stride,
                              int bias_kind, __global data_t *restrict c_base, long c_offset, long c_row,
                              long c_column, long c_batch, int wide, int m, int n, int k, int splits, int k_split,
                              float alpha, float beta, ACT_PARAMS)
{
    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    const int column_blocks = (n + BLOCK_N - 1) / BLOCK_N;
    const int row_blocks = (m + BLOCK_M - 1) / BLOCK_M;
    const long group = get_group_id(0), blocks = (long)row_blocks * column_blocks;
    const long part = group / blocks, in_part = group - part * blocks;
    const long band = in_part / ((long)SQUARE * column_blocks), in_band = in_part - band * SQUARE * column_blocks;
    const int band_rows = min(SQUARE, row_blocks - (int)band * SQUARE);
    const int first_row = ((int)band * SQUARE + (int)(in_band % band_rows)) * BLOCK_M;
    const int first_column = (int)(in_band / band_rows) * BLOCK_N;
    const long matrix = part / splits;
    const int begin = (int)(part - matrix * splits) * k_split;
    const int end = begin + min(k - begin, k_split);

    const __global operand_t *a = a_base + a_offset + matrix * a_batch;
    const __global operand_t *b = b_base + b_offset + matrix * b_batch;
    const int a_is_aligned = a_aligned && ((uintptr_t)a & 15) == 0;
    const int b_is_aligned = b_aligned && ((uintptr_t)b & 15) == 0;
    a += (long)first_row * a_row + (long)begin * a_step;
    b += (long)first_column * b_column + (long)begin * b_step;

    ASYNC_TILES
    async_side a_side = async_side_of(A_ALONG_K, a, a_row, a_step, m - first_row, end - begin, a_is_aligned, item);
    async_side b_side =
        async_side_of(B_ALONG_K, b, b_column, b_step, n - first_column, end - begin, b_is_aligned, item);
#pragma unroll 1
    for (int stage = 0; stage < STAGES; ++stage) {
        async_clear(&a_side, a_tiles(stage));
        async_clear(&b_side, b_tiles(stage));
    }
    const int tiles = (end - begin + BLOCK_K - 1) / BLOCK_K;
    ASYNC_LOOP(tiles, ASYNC_COPY)

    const int c_units = UNITS(wide & WIDE_C), bias_units = UNITS(wide & WIDE_BIAS);
    const __global data_t *bias = bias_base + bias_offset * bias_units;
    __global data_t *c = c_base + (c_offset + part * c_batch) * c_units;
    const int is_paired = c_column == 1 && c_row % 2 == 0 && ((uintptr_t)c & (2 * DATA_BYTES * c_units - 1)) == 0;
#define FINISHED(value, to, row, column) \
    activate(finish(alpha * (value), to, c_units, beta, \
                    bias + (bias_kind == BIAS_COLUMN ? (column) : (row)) * bias_stride * bias_units, bias_units, \
                    bias_kind), ACT_ARGS)
#define TWO(in_row, in_column, two) \
    const int to_row = first_row + in_row, to_column = first_column + in_column; \
    if (to_row >= m || to_column >= n) \
        continue; \
    __global data_t *to = c + (to_row * c_row + to_column * c_column) * c_units; \
    const acc_t first = FINISHED(two.x, to, to_row, to_column); \
    if (to_column + 1 == n) { \
        store_either(to, first, c_units); \
        continue; \
    } \
    const acc_t second = FINISHED(two.y, to + c_column * c_units, to_row, to_column + 1); \
    if (is_paired) { \
        store_two(to, first, second, c_units); \
    } else { \
        store_either(to, first, c_units); \
        store_either(to + c_column * c_units, second, c_units); \
    }
    ASYNC_FINISH(c_row == 1 && c_column != 1, TWO)
}
