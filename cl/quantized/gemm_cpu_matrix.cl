// SPDX-License-Identifier: MIT
// Products of matrices of bytes by a CPU's matrix engine: what quantized/gemm_packed.cl computes, 32 x 32 sums at once.
//
// B lies in panels of 32 columns, packed beforehand (husk_quantized_gemm_cpu_matrix_pack), and behind each panel the
// sums of its columns, so that A's zero point costs a multiplication a sum; A's bytes are taken as they are, i8 or u8.
// A work-group is one work-item that owns a range of rows and columns of one matrix, and walks them as
// gemm/cpu_matrix.cl does: strips of columns, blocks of K, and 32 rows at a time, copied into a panel that is
// multiplied by the strip's.
//
// What it has to cost, by the manual; no such CPU was at hand. A tile of either operand is 1 KiB, 64 steps. 32 x 32
// sums of 64 steps are four tdpb*d of 16 cycles: 64 cycles for 65,536 products, 2,048 operations a cycle, twice those
// of bf16. Beside them four tiles are loaded, 8 cycles each: 32 bytes a cycle of B from the second-level cache, where
// a strip's block stays (512 columns of 1024 steps are 512 KiB, a quarter of 2 MiB), and as many of A's 32 KiB from
// the first. Copying 32 rows of A takes some 3 cycles for each 64 bytes, 96 a tile of steps, against 64 for each 32
// columns: of 512 columns that is a tenth more. Then come 64 vectors of sums, some 300 cycles to be scaled and stored
// as floats, 1,000 where they are divided to become bytes again, against K for their products: with K of 1024 bytes
// for an output take as long as the products.
//
//   -DPRODUCT_I8|U8          A's bytes: see lib/amx.clh
//   -DBLOCK_TILES=8..64      most tiles of 64 steps in a block of K
//   -DACT_SMOOTH             with the transcendental activations, see lib/activation.clh
#ifndef BLOCK_TILES
#error "BLOCK_TILES, the room for a panel of A, is not set: the host passes 8 to 64"
#endif

#define AMX_B_SPACE __global
#define TILE_M 16
#define TILE_NV (16 / VW)
#include "lib/amx.clh"
#include "lib/quantized_store.clh"

inline int tiles_of(int steps)
{
    return (steps + AMX_STEPS - 1) / AMX_STEPS;
}

// Words of a panel of B, and the sums of its columns.
inline long panel_words(int k)
{
    return (long)tiles_of(k) * AMX_STEP + AMX_BLOCK;
}

// The panel of 32 rows from a on; the lower half only where there are so many.
inline void pack_rows(uint *panel, const __global uchar *a, long a_row, long a_step, int rows, int steps)
{
    for (int p = 0; p < steps; p += AMX_STEPS, panel += AMX_STEP)
        for (int side = 0; side * AMX_SIDE < rows; ++side)
            amx_pack(panel, 1, side, a + p * a_step + side * AMX_SIDE * a_row, a_row, a_step,
                     rows - side * AMX_SIDE, min(steps - p, AMX_STEPS));
}

// A tile of sums to C, from `column` on; totals: of its columns of B.
inline void finish_tile(const int *lines, const __global int *totals, __global uchar *c, long at, long c_row,
                        long c_column, int column, int rows, int columns, const finish_t *finish, ACT_PARAMS)
{
    for (int j = 0; j < columns; j += VW) {
        const int n = min(columns - j, VW);
        const vi correction = LOAD_WORDS(totals + j) * (vi)(finish->zero);
        const vf scale = scales_of(finish, column + j, n), bias = biases_of(finish, column + j, n);
        for (int i = 0; i < rows; ++i)
            store_sums(*(const __private vi *)(lines + i * TILE_N + j) - correction, c, at + i * c_row + j * c_column,
                       c_column, n, scale, bias, finish, ACT_ARGS);
    }
}

// a_row, a_step: how far apart the rows of A and its k steps lie; any stride is right, a_step 1 is fast. b_group: words
// from a matrix' panels to the next one's. Work-group (x, y, z) does columns x * group_columns..., rows y *
// group_rows..., multiples of 32, of matrix z, strip_columns columns at a time and block_tiles tiles of K. Where K
// takes more, its sums wait at sums, group_sums of them for each group. zero: A's zero point.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_quantized_gemm_cpu_matrix(const __global uchar *a_base, long a_offset, long a_row, long a_step,
                                             long a_group, const __global uint *b_base, long b_offset, long b_group,
                                             __global uchar *c_base, long c_offset, long c_row, long c_column,
                                             long c_group, __global int *sums_base, long sums_offset, long group_sums,
                                             int m, int n, int k, int group_rows, int group_columns, int strip_columns,
                                             int block_tiles, FINISH_PARAMS)
{
    ONE_ITEM();
    const int matrix = (int)get_group_id(2);
    const int row_begin = (int)get_group_id(1) * group_rows, row_end = min(m, row_begin + group_rows);
    const int column_begin = (int)get_group_id(0) * group_columns, column_end = min(n, column_begin + group_columns);
    const long group = (matrix * (long)get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    const long element = kind == OUTPUT_BYTES ? 1 : kind == OUTPUT_SUMS ? 4 : (long)sizeof(data_t);
    const __global uchar *a = a_base + a_offset + matrix * a_group;
    const __global uint *b = b_base + b_offset + matrix * b_group;
    __global uchar *c = c_base + (c_offset + matrix * c_group) * element;
    const int block_steps = block_tiles * AMX_STEPS;
    const finish_t finish = FINISH_FROM(0);
    uint a_panel[BLOCK_TILES * AMX_STEP] __attribute__((aligned(64)));

    amx_begin();
    for (int strip = column_begin; strip < column_end; strip += strip_columns) {
        const int strip_end = min(column_end, strip + strip_columns);
        int block = 0;
        do { // once even where k is 0: sums of nothing are scaled, too
            const int steps = min(k - block, block_steps), is_last = block + steps == k;
            __global int *sums = sums_base + sums_offset + group * group_sums;
            for (int row = row_begin; row < row_end; row += AMX_BLOCK) {
                const int rows = min(row_end - row, AMX_BLOCK), is_tall = rows > AMX_SIDE;
                pack_rows(a_panel, a + row * a_row + block * a_step, a_row, a_step, rows, steps);
                for (int j = strip; j < strip_end; j += AMX_BLOCK) {
                    int lines[4 * AMX_TILE] __attribute__((aligned(64)));
                    const __global uint *panel = b + j / AMX_BLOCK * panel_words(k);
                    const __global int *totals = (const __global int *)panel + panel_words(k) - AMX_BLOCK;
                    panel += (long)(block / AMX_STEPS) * AMX_STEP;
                    if (is_last && block == 0) {
                        amx_multiply(a_panel, panel, tiles_of(steps), is_tall, lines);
                    } else {
                        if (block == 0)
                            amx_multiply_first(a_panel, panel, tiles_of(steps), is_tall, sums);
                        else
                            amx_multiply_more(a_panel, panel, tiles_of(steps), is_tall, sums);
                        for (int e = 0; is_last && e < (is_tall ? 4 : 2) * AMX_TILE; e += VW)
                            *(__private vi *)(lines + e) = LOAD_WORDS(sums + e);
                        sums += 4 * AMX_TILE;
                    }
                    for (int tile = 0; is_last && tile < (is_tall ? 4 : 2); ++tile) {
                        const int i = row + tile / 2 * AMX_SIDE, at = j + tile % 2 * AMX_SIDE;
                        finish_tile(lines + tile * AMX_TILE, totals + tile % 2 * AMX_SIDE, c,
                                    i * c_row + at * c_column, c_row, c_column, at, min(row_end - i, AMX_SIDE),
                                    min(strip_end - at, AMX_SIDE), &finish, ACT_ARGS);
                    }
                }
            }
            block += steps;
        } while (block < k);
    }
    amx_end();
}

#define PACKED_AT_ONCE 2 // panels: of bytes side by side whole cache lines are read

// Packs columns of B [k, n] into panels of 32, one after the other, and their sums. Work-group (x, y) does
// PACKED_AT_ONCE panels of matrix y.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_quantized_gemm_cpu_matrix_pack(const __global uchar *b_base, long b_offset, long b_step,
                                                  long b_column, long b_group, __global uint *packed_base,
                                                  long packed_offset, int n, int k)
{
    ONE_ITEM();
    const int panels = (n + AMX_BLOCK - 1) / AMX_BLOCK, tiles = tiles_of(k);
    const int first = (int)get_group_id(0) * PACKED_AT_ONCE, last = min(first + PACKED_AT_ONCE, panels);
    const __global uchar *b = b_base + b_offset + get_group_id(1) * b_group;
    __global uint *packed = packed_base + packed_offset + get_group_id(1) * panels * panel_words(k);
    int totals[PACKED_AT_ONCE * AMX_BLOCK];
    uint panel[AMX_STEP] __attribute__((aligned(64)));
    for (int j = 0; j < PACKED_AT_ONCE * AMX_BLOCK; ++j)
        totals[j] = 0;
    for (int t = 0; t < tiles; ++t)
        for (int p = first; p < last; ++p) {
            __global uint *to = packed + p * panel_words(k) + (long)t * AMX_STEP;
            for (int tile = 0; tile < 2; ++tile) {
                const int column = p * AMX_BLOCK + tile * AMX_SIDE;
                amx_pack(panel, 0, tile, b + (long)t * AMX_STEPS * b_step + column * b_column, b_column, b_step,
                         n - column, min(k - t * AMX_STEPS, AMX_STEPS));
            }
            for (int tile = 0; tile < 2; ++tile) {
                int16 sums = (int16)(0);
                for (int word = tile * AMX_TILE; word < (tile + 1) * AMX_TILE; word += AMX_SIDE) {
                    const int16 words = as_int16(WORDS(panel + word));
                    sums += ((words << 24) >> 24) + ((words << 16) >> 24) + ((words << 8) >> 24) + (words >> 24);
                    *(__global unaligned_words *)(to + word) = as_uint16(words);
                }
                __private int *of = totals + (p - first) * AMX_BLOCK + tile * AMX_SIDE;
                *(__private unaligned_words *)of += as_uint16(sums);
            }
        }
    for (int p = first; p < last; ++p)
        for (int j = 0; j < AMX_BLOCK; ++j)
            packed[p * panel_words(k) + (long)tiles * AMX_STEP + j] = (uint)totals[(p - first) * AMX_BLOCK + j];
}
