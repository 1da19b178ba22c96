// SPDX-License-Identifier: MIT
// Products of matrices of bytes by a matrix engine of GPUs: the loop of lib/fragment_loop.clh, with sums in i32.
//
// A's bytes are taken as they are, i8 or u8, so its zero point, where it has one, costs the sums of B's columns: each
// item adds up a part of a column of the tile that is being multiplied, 16 bytes at a time, and brings them together
// at the end. With tiles of 128 and 256 items that is 8 words an item for each 64 steps, beside 32 mma.sync of its
// sub-group.
//
// Bytes travel in fours. Those of which the steps lie side by side (rows of A; B stored as [n, k]) come as words, with
// nv_mma straight into tiles; where lines do (B stored as [k, n]), a four is taken apart, byte by byte.
//
//   -DBLOCK_M ...  see lib/fragment.clh, of which it takes an engine
//   -DINDEX_64     where an element of A or B lies 2^31 or further from its base
//   -DACT_SMOOTH   with the transcendental activations, see lib/activation.clh
#include "lib/fragment_operands.clh"
#include "lib/quantized_grid.clh"

#if !defined(PRODUCT_I8) && !defined(PRODUCT_U8)
#error "this kernel multiplies bytes: -DPRODUCT_I8 or -DPRODUCT_U8"
#endif

// Items that share a column of the tile.
#define SHARERS (GROUP_ITEMS / BLOCK_N)
#if GROUP_ITEMS % BLOCK_N != 0 || CHUNKS % SHARERS != 0
#error "the work-items must divide the columns of a tile of B in chunks"
#endif

// The sum of an item's part of its column.
ALWAYS_INLINE int column_part(const __local tile_t *b_tile, uint item)
{
    const int line = item % BLOCK_N, first = item / BLOCK_N * (CHUNKS / SHARERS);
    int total = 0;
#pragma unroll
    for (int i = 0; i < CHUNKS / SHARERS; ++i) {
        const uint4 words = *(const __local uint4 *)(b_tile + tile_at(line, (first + i) * CHUNK));
        total = DOT_4(0x01010101u, words.x, total);
        total = DOT_4(0x01010101u, words.y, total);
        total = DOT_4(0x01010101u, words.z, total);
        total = DOT_4(0x01010101u, words.w, total);
    }
    return total;
}

#define ADD_UP(now) \
    if (zero != 0) \
        total += column_part(b_tiles[now], item);

// a_row, a_step: how far apart the rows of A and its k steps lie; b_step, b_column likewise; any stride is right.
// a_aligned: one stride of A is 1 and the other a multiple of 4. zero: A's zero point.
// registers husk_quantized_gemm_matrix BLOCK_M=32: nvidia 152, amd 120
// registers husk_quantized_gemm_matrix BLOCK_M=64 ENGINE_AMD_MFMA: amd 120
// registers husk_quantized_gemm_matrix: nvidia 256, amd 256
__attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
__kernel void husk_quantized_gemm_matrix(const __global uchar *a_base, long a_offset, long a_row, long a_step,
                                         long a_group, int a_aligned, const __global uchar *b_base, long b_offset,
                                         long b_step, long b_column, long b_group, int b_aligned,
                                         __global uchar *c_base, long c_offset, long c_row, long c_column,
                                         long c_group, int m, int n, int k, FINISH_PARAMS)
{
    const uint item = get_local_id(0); // unsigned: dividing is then shifting
    QUANTIZED_PLACE(BLOCK_M, BLOCK_N);
    const int begin = 0, end = k;
    const __global uchar *a = a_base + a_offset + matrix * a_group;
    const __global uchar *b = b_base + b_offset + matrix * b_group;
    const operand oa = {(index_t)a_row, (index_t)a_step, m - first_row, a_step == 1,
                        a_aligned && ((uintptr_t)a & 3) == 0, 1};
    const operand ob = {(index_t)b_column, (index_t)b_step, n - first_column, b_step == 1,
                        b_aligned && ((uintptr_t)b & 3) == 0, 1};
    a += first_row * oa.line_stride;
    b += first_column * ob.line_stride;

    __local int totals[GROUP_ITEMS];
    int total = 0;
    FRAGMENT_TILES
    OPERANDS
    const int tiles = (k + BLOCK_K - 1) / BLOCK_K;
    FRAGMENT_LOOP_ALSO(tiles, FETCH, KEEP, ADD_UP)
    totals[item] = total * zero;
    barrier(CLK_LOCAL_MEM_FENCE);

    const long to = c_offset + matrix * c_group;
#pragma unroll
    for (int j = 0; j < ITEM_N; ++j) {
        const int at = fragment_column(item, j), column = first_column + at;
        int correction = 0;
#pragma unroll
        for (int s = 0; s < SHARERS; ++s)
            correction += totals[s * BLOCK_N + at];
#pragma unroll
        for (int i = 0; i < ITEM_M; ++i) {
            const int row = first_row + fragment_row(item, i);
            if (row < m && column < n)
                store_sum(fragment_value(&acc, i, j) - correction, c_base, to + row * c_row + column * c_column, column,
                          FINISH_ARGS);
        }
    }
}
