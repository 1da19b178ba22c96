// SPDX-License-Identifier: MIT
// Matrix multiplication by a CPU's matrix engine (lib/amx.clh): C = act(alpha * op(A) * op(B) + beta * C + bias).
//
// A work-group is one work-item that owns a range of rows and columns of one matrix of the batch. It walks its columns
// in strips. For every block of K it copies the strip of B into panels that stay in the second-level cache, then, for
// every 32 rows, copies A into a panel that stays near the first-level cache, and multiplies it by all panels of the
// strip. Copying costs some cycles for each 64 bytes, multiplying 32 cycles for each 64 bytes of A and 32 columns of
// the strip, so a strip has as many columns as fit. Where K takes several blocks, sums wait in scratch memory, tile
// by tile. After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008.
//
//   -DPRODUCT_...            what is multiplied: see lib/amx.clh
//   -DBLOCK_TILES=8..64      most tiles of 32 steps in a block of K
//   -DSTRIP_WORDS=...        room for the panels of a strip, in words of 32 bits
//   -DB_PACKED, -DA_PACKED   B, or A, is the output of husk_gemm_cpu_matrix_pack, and is not copied
//   -DACT_SMOOTH             with the transcendental activations, see lib/activation.clh
#if !defined(BLOCK_TILES) || !defined(STRIP_WORDS)
#error "BLOCK_TILES and STRIP_WORDS, the room for panels, are not set: the host passes both"
#endif

#ifdef A_PACKED
#define AMX_A_SPACE __global
#endif
#ifdef B_PACKED
#define AMX_B_SPACE __global
#endif
// Sums are brought to C a tile of 16 x 16 at a time.
#define TILE_M 16
#define TILE_NV (16 / VW)
#include "lib/amx.clh"
#define ACT_T vf
#include "lib/activation.clh"
#include "lib/gemm.clh"
#include "lib/gemm_finish.clh"

// The panels of a strip of columns from b on: tile by tile of K, as rows of B lie side by side more often than columns.
inline void pack_strip(uint *panels, int panel, const __global data_t *b, long b_step, long b_column, int columns,
                       int steps)
{
    for (int p = 0; p < steps; p += AMX_STEPS, panels += AMX_STEP)
        for (int j = 0; j < columns; j += AMX_BLOCK)
            for (int tile = 0; tile < 2; ++tile)
                amx_pack(panels + j / AMX_BLOCK * panel, 0, tile,
                         b + p * b_step + (j + tile * AMX_SIDE) * b_column, b_column, b_step,
                         columns - j - tile * AMX_SIDE, min(steps - p, AMX_STEPS));
}

// The panel of 32 rows from a on; the lower half only where there are so many.
inline void pack_rows(uint *panel, const __global data_t *a, long a_row, long a_step, int rows, int steps)
{
    for (int p = 0; p < steps; p += AMX_STEPS, panel += AMX_STEP)
        for (int side = 0; side * AMX_SIDE < rows; ++side)
            amx_pack(panel, 1, side, a + p * a_step + side * AMX_SIDE * a_row, a_row, a_step,
                     rows - side * AMX_SIDE, min(steps - p, AMX_STEPS));
}

inline int tiles_of(int steps)
{
    return (steps + AMX_STEPS - 1) / AMX_STEPS;
}

// A tile of sums to C. The plain case, of 16 x 16 sums, columns side by side and no more to do than scaling and a bias
// of columns, is most of all.
inline void finish_tile(const float *lines, __global data_t *c, long c_row, long c_column, int rows, int columns,
                        const __global data_t *bias, finish_t finish, ACT_PARAMS)
{
    if (rows < TILE_M || columns < TILE_N || c_column != C_UNITS(finish) || finish.bias_kind == BIAS_ROW ||
        finish.activates) {
        store_tile(lines, c, c_row, c_column, rows, columns, bias, finish, ACT_ARGS);
        return;
    }
    for (int j = 0; j < TILE_N; j += VW) {
        const int at = j * C_UNITS(finish);
        const vf column_bias = finish.bias_kind == BIAS_COLUMN
                                   ? load_spread(bias + j * finish.bias_stride, finish.bias_stride, VW,
                                                 BIAS_UNITS(finish))
                                   : (vf)(0.0f);
        if (finish.scale_c == 0.0f)
            for (int i = 0; i < TILE_M; ++i)
                store_vf_either(load_private(lines + i * TILE_N + j) * finish.alpha + column_bias, c + i * c_row + at,
                                VW, C_UNITS(finish));
        else
            for (int i = 0; i < TILE_M; ++i)
                store_vf_either(MAD(load_vf_either(c + i * c_row + at, VW, C_UNITS(finish)), (vf)(finish.scale_c),
                                    load_private(lines + i * TILE_N + j) * finish.alpha + column_bias),
                                c + i * c_row + at, VW, C_UNITS(finish));
    }
}

// a_row, a_step: how far apart the rows of op(A) and its k steps lie; b_step, b_column: the k steps and the columns of
// op(B). Any stride is right; one of each pair is 1 where speed is wanted. With B_PACKED, b_step is how far apart two
// panels lie, and b_batch two matrices, in words; with A_PACKED so a_row and a_batch. Work-group (x, y, z) does columns
// x * group_columns..., rows y * group_rows..., multiples of 32, of group_matrices matrices, strip_columns columns at a
// time and block_tiles tiles of K. Where K takes more, its sums wait at sums, group_sums floats for each group.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_cpu_matrix(const __global data_t *restrict a_base, long a_offset, long a_row, long a_step,
                                   long a_batch, const __global data_t *restrict b_base, long b_offset, long b_step,
                                   long b_column, long b_batch, const __global data_t *restrict bias_base,
                                   long bias_offset, long bias_stride, int bias_kind, __global data_t *restrict c_base,
                                   long c_offset, long c_row, long c_column, long c_batch,
                                   __global float *restrict sums_base, long sums_offset, long group_sums, int wide,
                                   int m, int n, int k, int batch, int group_rows, int group_columns,
                                   int group_matrices, int strip_columns, int block_tiles, float alpha, float beta,
                                   ACT_PARAMS)
{
    ONE_ITEM();
    const int first = get_group_id(2) * group_matrices;
    const int c_units = UNITS(wide & WIDE_C), bias_units = UNITS(wide & WIDE_BIAS);
    c_offset *= c_units;
    c_row *= c_units;
    c_column *= c_units;
    c_batch *= c_units;
    bias_stride *= bias_units;
    const __global data_t *bias = bias_base + bias_offset * bias_units;
    const int row_begin = get_group_id(1) * group_rows;
    const int row_end = min(m, row_begin + group_rows);
    const int column_begin = get_group_id(0) * group_columns;
    const int column_end = min(n, column_begin + group_columns);
    const long group = (get_group_id(2) * get_num_groups(1) + get_group_id(1)) * get_num_groups(0) + get_group_id(0);
    const int block_steps = block_tiles * AMX_STEPS;
    const int strips = (column_end - column_begin + strip_columns - 1) / strip_columns;
    const finish_t finish = {alpha, beta, bias_kind, bias_stride, act_kind != ACT_NONE, c_units, bias_units};

#ifndef A_PACKED
    uint a_panel[BLOCK_TILES * AMX_STEP] __attribute__((aligned(64)));
#endif
#ifndef B_PACKED
    uint b_panels[STRIP_WORDS] __attribute__((aligned(64)));
#endif
    amx_begin();
    for (int round = 0; round < min(batch - first, group_matrices) * strips; ++round) {
        const int matrix = first + round / strips;
        const int strip = column_begin + round % strips * strip_columns;
        const int strip_end = min(column_end, strip + strip_columns);
#ifdef A_PACKED
        const __global uint *a = (const __global uint *)a_base + a_offset + matrix * a_batch;
#else
        const __global data_t *a = a_base + a_offset + matrix * a_batch;
#endif
#ifdef B_PACKED
        const __global uint *b = (const __global uint *)b_base + b_offset + matrix * b_batch;
#else
        const __global data_t *b = b_base + b_offset + matrix * b_batch;
#endif
        __global data_t *c = c_base + c_offset + matrix * c_batch;
        int block = 0;
        do { // once even where k is 0: C is still scaled, biased and activated
            const int steps = min(k - block, block_steps), tiles = tiles_of(steps);
            const int is_last = block + steps == k;
            __global float *sums = sums_base + sums_offset + group * group_sums;
#ifndef B_PACKED
            pack_strip(b_panels, tiles * AMX_STEP, b + block * b_step + strip * b_column, b_step, b_column,
                       strip_end - strip, steps);
#endif
            for (int row = row_begin; row < row_end; row += AMX_BLOCK) {
                const int rows = min(row_end - row, AMX_BLOCK), is_tall = rows > AMX_SIDE;
#ifdef A_PACKED
                const __global uint *a_panel = a + row / AMX_BLOCK * a_row + (long)(block / AMX_STEPS) * AMX_STEP;
#else
                pack_rows(a_panel, a + row * a_row + block * a_step, a_row, a_step, rows, steps);
#endif
                for (int j = strip; j < strip_end; j += AMX_BLOCK) {
                    float lines[4 * AMX_TILE] __attribute__((aligned(64)));
#ifdef B_PACKED
                    const __global uint *panel = b + j / AMX_BLOCK * b_step + (long)(block / AMX_STEPS) * AMX_STEP;
#else
                    const uint *panel = b_panels + (j - strip) / AMX_BLOCK * (tiles * AMX_STEP);
#endif
                    if (is_last && block == 0) {
                        amx_multiply(a_panel, panel, tiles, is_tall, lines);
                    } else {
                        if (block == 0)
                            amx_multiply_first(a_panel, panel, tiles, is_tall, sums);
                        else
                            amx_multiply_more(a_panel, panel, tiles, is_tall, sums);
                        for (int e = 0; is_last && e < (is_tall ? 4 : 2) * AMX_TILE; e += VW)
                            store_private(LOAD_VECTOR(vf, __global, sums + e), lines + e);
                        sums += 4 * AMX_TILE;
                    }
                    for (int tile = 0; is_last && tile < (is_tall ? 4 : 2); ++tile) {
                        const int i = row + tile / 2 * AMX_SIDE, at = j + tile % 2 * AMX_SIDE;
                        finish_tile(lines + tile * AMX_TILE, c + i * c_row + at * c_column, c_row, c_column,
                                   min(row_end - i, AMX_SIDE), min(strip_end - at, AMX_SIDE),
                                   bias + (bias_kind == BIAS_ROW ? i : bias_kind == BIAS_COLUMN ? at : 0) * bias_stride,
                                   finish, ACT_ARGS);
                    }
                }
            }
            block += steps;
        } while (block < k);
    }
    amx_end();
}

#if defined(A_PACKED) || defined(B_PACKED)
// Packs rows of op(A) [m, k], or columns of op(B) [k, n], into panels of 32, one after the other; line, step: how far
// apart they lie, and their k steps. Work-group (x, y) does panel x of matrix y or, by_steps, tile x of K of all its
// panels: whichever reads what lies side by side.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_cpu_matrix_pack(const __global data_t *restrict base, long offset, long line, long step,
                                        long batch, __global uint *restrict packed_base, long packed_offset, int is_a,
                                        int lines, int k, int by_steps)
{
    ONE_ITEM();
    const int panels = (lines + AMX_BLOCK - 1) / AMX_BLOCK, tiles = tiles_of(k), x = get_group_id(0);
    const __global data_t *from = base + offset + get_group_id(1) * batch;
    __global uint *packed = packed_base + packed_offset + (long)get_group_id(1) * panels * tiles * AMX_STEP;
    uint panel[AMX_STEP] __attribute__((aligned(64)));
    for (int i = 0; i < (by_steps ? panels : tiles); ++i) {
        const int p = by_steps ? i : x, t = by_steps ? x : i;
        __global uint *to = packed + ((long)p * tiles + t) * AMX_STEP;
        const __global data_t *there = from + (long)t * AMX_STEPS * step + (long)p * AMX_BLOCK * line;
        for (int tile = 0; tile < 2; ++tile)
            amx_pack(panel, is_a, tile, there + tile * AMX_SIDE * line, line, step,
                     lines - p * AMX_BLOCK - tile * AMX_SIDE, min(k - t * AMX_STEPS, AMX_STEPS));
        for (int word = 0; word < AMX_STEP; word += 16)
            *(__global unaligned_words *)(to + word) = WORDS(panel + word);
    }
}
#endif
