// SPDX-License-Identifier: MIT
// Matrix multiplication for CPU devices: C = act(alpha * op(A) * op(B) + beta * C + bias).
//
// A work-group is one work-item that owns a range of rows and columns of one matrix of the batch. It
// walks its columns in strips. For every block of K it copies the strip of B into panels
// [block][TILE_N] that stay in the second-level cache, then, for every TILE_M rows, sweeps all panels of the
// strip with a register tile. The tile reads its rows of A where they lie (in_place), unless they would drive
// each other out of the first-level cache, or are columns: then they are copied before. Few large work-groups,
// one or two a core, are best: each of them packs its own operands.
// After Goto and van de Geijn, "Anatomy of high-performance matrix multiplication", TOMS 2008, with the
// loops over rows and columns exchanged: the panels of B are the larger operand kept.
//
//   -DTILE_M, -DTILE_NV, -DVW   the register tile, see lib/tile.clh
//   -DBLOCK_K=128..1024         most k steps in a block, a multiple of VW
//   -DSTRIP_FLOATS=...          room for the panels of a strip, about half of the second-level cache
//   -DHALF_VECTORS              with -DDTYPE_F64, see lib/vector.clh
//   -DB_PACKED                  B is the output of husk_gemm_pack_b, and is not copied
//   -DACT_SMOOTH                with the transcendental activations, see lib/activation.clh
#ifndef BLOCK_K
#error "BLOCK_K, the k steps in a block, is not set: the host passes -DBLOCK_K=128..1024, a multiple of VW"
#endif
#ifndef STRIP_FLOATS
#error "STRIP_FLOATS, the room for the panels of a strip of B, is not set: the host passes -DSTRIP_FLOATS=16384..262144"
#endif

#ifdef B_PACKED
#define TILE_B_SPACE __global
// Packed weights stream in from memory: asked for this many steps ahead, a multiplication by few rows takes half
// the time.
#define TILE_PREFETCH_B 32
#endif
#include "lib/vector.clh"
// Panels hold f32, widened once; packed weights stay what they are, since to read them is what takes the time.
#if defined(B_PACKED) && DATA_BYTES == 2
#define TILE_B_T data_t
#define TILE_LOAD_B(i, b) load_vf((b) + (i) * VW)
#define TILE_STORE_B(v, b) store_vf(v, b)
#else
#define TILE_STORE_B(v, b) STORE_VECTOR(vf, TILE_B_SPACE, v, b)
#endif
#include "lib/tile.clh"
#define ACT_T vf
#include "lib/activation.clh"
#include "lib/gemm.clh"
#include "lib/gemm_finish.clh"
#include "lib/gemm_panels.clh"
#include "lib/gemm_ahead.clh"
#include "lib/gemm_tile.clh"

// The room in accumulators.
#ifdef DTYPE_F64
#define STRIP_SIZE (STRIP_FLOATS / 2)
#else
#define STRIP_SIZE STRIP_FLOATS
#endif
// More rows than this are done as a full tile, zeros below; fewer are TAIL_M at a time.
#define FULL_ABOVE (TILE_M > 2 * TAIL_M ? TILE_M - TAIL_M : TAIL_M)

// a_row, a_step: how far apart the rows of op(A) and its k steps lie; b_step, b_column: the k steps and
// the columns of op(B). Any stride is right; one of each pair is 1 where speed is wanted. With B_PACKED,
// b_step is how far apart two panels lie. Work-group (x, y, z) does columns x * group_columns..., rows
// y * group_rows..., both multiples of the tile, of group_matrices matrices and one of splits parts of k, split_k steps
// long; part number s is written c_split * s further on. It takes strip_width columns at a time and block_k steps,
// BLOCK_K at most: as many panels as STRIP_SIZE has room for. With in_place, which wants a_step 1, A is not copied.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_packed(const __global data_t *restrict a_base, long a_offset, long a_row, long a_step,
                               long a_batch, const __global data_t *restrict b_base, long b_offset,
                               long b_step, long b_column, long b_batch,
                               const __global data_t *restrict bias_base, long bias_offset, long bias_stride,
                               int bias_kind, __global data_t *restrict c_base, long c_offset, long c_row,
                               long c_column, long c_batch, long c_split, int wide, int m, int n, int all_k,
                               int batch, int group_rows, int group_columns, int group_matrices, int splits,
                               int split_k, int strip_width, int block_k, int in_place, float alpha, float beta,
                               ACT_PARAMS)
{
    ONE_ITEM();
    const int split = get_group_id(2) % splits;
    const int first = get_group_id(2) / splits * group_matrices;
    const int k = min(all_k - split * split_k, split_k);
    const int a_units = UNITS(wide & WIDE_A), b_units = UNITS(wide & WIDE_B), c_units = UNITS(wide & WIDE_C);
    const int bias_units = UNITS(wide & WIDE_BIAS);
    a_offset *= a_units;
    a_row *= a_units;
    a_step *= a_units;
    a_batch *= a_units;
#ifndef B_PACKED
    b_offset *= b_units;
    b_step *= b_units;
    b_column *= b_units;
    b_batch *= b_units;
#endif
    c_offset *= c_units;
    c_row *= c_units;
    c_column *= c_units;
    c_batch *= c_units;
    c_split *= c_units;
    bias_stride *= bias_units;
    const __global data_t *bias = bias_base + bias_offset * bias_units;
    const int row_begin = get_group_id(1) * group_rows;
    const int row_end = END_OF_SHARE(row_begin, group_rows, m);
    const int column_begin = get_group_id(0) * group_columns;
    const int column_end = END_OF_SHARE(column_begin, group_columns, n);

    acc_t a_panel[TILE_M * A_ROW] __attribute__((aligned(64)));
#ifndef B_PACKED
    const int panel_size = B_PANEL(block_k);
    acc_t b_panels[STRIP_SIZE] __attribute__((aligned(64)));
#endif
    const int all_columns = column_end - column_begin;
    const int strips = all_columns / strip_width + (all_columns % strip_width > 0);
    for (int round = 0; round < min(batch - first, group_matrices) * strips; ++round) {
        const int matrix = first + round / strips;
        const int strip = column_begin + round % strips * strip_width;
        const __global data_t *a = a_base + a_offset + matrix * a_batch + (long)split * split_k * a_step;
#ifdef B_PACKED
        const __global data_t *b = b_base + b_offset + matrix * b_batch + (long)split * split_k * TILE_N;
#else
        const __global data_t *b = b_base + b_offset + matrix * b_batch + (long)split * split_k * b_step;
#endif
        __global data_t *c = c_base + c_offset + matrix * c_batch + split * c_split;
        const int strip_columns = min(column_end - strip, strip_width);
        const int tiles = (strip_columns + TILE_N - 1) / TILE_N;
        int block = 0;
        do { // once even where k is 0: C is still scaled, biased and activated
            const int steps = min(k - block, block_k);
            const int last = block + steps == k;
            const finish_t finish = {alpha, block == 0 ? beta : 1.0f, last ? bias_kind : BIAS_NONE, bias_stride,
                                     last && act_kind != ACT_NONE, c_units, bias_units};
            const int is_plain = c_column == c_units && finish.bias_kind != BIAS_ROW && !finish.activates;
            ahead_t ahead = {stream_none(), stream_none(), 0, 0, a, c, 0, 0, 0};
            int copied = 1; // whether B's strip lies in the panels
#ifndef B_PACKED
            const __global data_t *b_block = b + block * b_step + strip * b_column;
            // Rows of B are copied by the first tile that needs them, all but those cut by the edge.
            copied = b_units != 1 || b_column != 1 || row_end - row_begin <= FULL_ABOVE;
            // A single tile of rows needs no copies: all steps write one, over each other.
            const int copy_step = row_end - row_begin <= TILE_M ? 0 : TILE_N;
            const int whole = copied ? 0 : strip_columns / TILE_N * TILE_N;
            if (whole < strip_columns)
                pack_b(b_panels + whole / TILE_N * panel_size, panel_size, b_block + whole * b_column, b_step, b_column,
                       b_units, steps, strip_columns - whole);
            const int next_steps = last ? min(k, block_k) : min(k - block - steps, block_k);
            const int next_columns = last ? min(column_end - strip - strip_columns, strip_width) : strip_columns;
            const __global data_t *next = last ? b + (strip + strip_columns) * b_column
                                               : b_block + steps * b_step;
            if (next_columns > 0)
                ahead.b = b_column == b_units ? stream_runs(next, b_step, next_steps, next_columns * b_units)
                          : b_step == b_units ? stream_runs(next, b_column, next_columns, next_steps * b_units)
                                              : stream_none();
            const int b_tiles = min(max((row_end - row_begin) / TILE_M, 1), AHEAD_TILES) * tiles;
            const int b_from = row_end - AHEAD_TILES * TILE_M;
            const int b_share = b_tiles > 0 ? (ahead.b.left + b_tiles - 1) / b_tiles : 0;
#endif
            for (int row = row_begin; row < row_end;) {
                // Rows that would take as many small tiles as a full one has are done as a full one, zeros below.
                const int full = row_end - row > FULL_ABOVE;
                const int rows = min(row_end - row, full ? TILE_M : TAIL_M);
                const __global data_t *row_bias = bias + (bias_kind == BIAS_ROW ? row * bias_stride : 0);
                const __global data_t *from_a = a + row * a_row + block * a_step;
#if DATA_BYTES == 2
                const int reads = 0; // rows of A where they lie would be widened once a step
#else
                const int reads = in_place && (!full || rows == TILE_M); // rows of A where they lie
#endif
                if (!reads)
                    pack_a(a_panel, from_a, a_row, a_step, a_units, rows, m - row, full ? TILE_M : TAIL_M, steps);
                // The rows below, or after the last ones the first ones of the next block.
                const int below = row_end - row - rows;
                const int next_rows = below > 0 ? min(below, TILE_M) : last ? 0 : min(row_end - row_begin, TILE_M);
                const __global data_t *next_a =
                    below > 0 ? from_a + rows * a_row : a + row_begin * a_row + (block + steps) * a_step;
                ahead.a = next_rows == 0 ? stream_none()
                          : a_step == a_units
                              ? stream_runs(next_a, a_row, next_rows, steps * a_units)
                          : a_row == a_units ? stream_lines(next_a + (next_rows - 1) * a_units, a_step, steps)
                                             : stream_none();
                ahead.a_share = (ahead.a.left + tiles - 1) / tiles;
#ifndef B_PACKED
                ahead.b_share = row > b_from ? b_share : 0;
#endif
                for (int j = 0; j < strip_columns; j += TILE_N) {
                    const int columns = min(strip_columns - j, TILE_N);
                    __global data_t *to = c + row * c_row + (strip + j) * c_column;
                    const __global data_t *from =
                        bias_kind == BIAS_COLUMN ? bias + (strip + j) * bias_stride : row_bias;
#ifdef B_PACKED
                    const __global data_t *panel = b + (strip + j) / TILE_N * b_step + (long)block * TILE_N;
#else
                    acc_t *panel = b_panels + j / TILE_N * panel_size;
#endif
                    ahead.c = to;
                    ahead.c_row = c_row;
                    ahead.c_rows = rows;
                    ahead.c_last = (columns - 1) * c_column;
                    vf acc[16 * TILE_NV]; // as many as REPEAT_16 names; the compiler drops those beyond the tile
                    acc_t lines[TILE_M * TILE_N] __attribute__((aligned(64)));
                    if (full) {
#ifndef B_PACKED
                        const int copies = !copied && columns == TILE_N;
                        if (reads && copies)
                            multiply_full(acc, 1, 1, a_panel, from_a, a_row, panel, b_block + j, b_step, panel,
                                          copy_step, steps, &ahead);
                        else if (copies)
                            multiply_full(acc, 1, 0, a_panel, a, 0, panel, b_block + j, b_step, panel, copy_step,
                                          steps, &ahead);
                        else
#endif
                        if (reads)
                            multiply_full(acc, 0, 1, a_panel, from_a, a_row, panel, a, 0, a_panel, 0, steps, &ahead);
                        else
                            multiply_full(acc, 0, 0, a_panel, a, 0, panel, a, 0, a_panel, 0, steps, &ahead);
                        if (is_plain && columns == TILE_N) {
                            store_plain(acc, TILE_M, rows, to, c_row, from, finish);
                            continue;
                        }
                        keep_tile(acc, TILE_M, lines);
                    } else {
                        ask_for_c(&ahead);
                        if (reads) {
                            multiply_tail_in_place(acc, from_a, a_row, rows, panel, steps);
                        } else {
                            tile_zero(acc, TAIL_M, TILE_NV);
                            tile_multiply(acc, TAIL_M, TILE_NV, a_panel, A_ROW, 1, panel, TILE_N, steps);
                        }
                        if (is_plain && columns == TILE_N) {
                            store_plain(acc, TAIL_M, rows, to, c_row, from, finish);
                            continue;
                        }
                        keep_tile(acc, TAIL_M, lines);
                    }
                    store_tile(lines, to, c_row, c_column, rows, columns, from, finish, ACT_ARGS);
                }
                copied = 1;
                row += rows;
            }
            block += steps;
        } while (block < k);
    }
}

// The last step of a multiplication whose k was split: adds up the parts, which lie by rows and part_split apart, in
// their order. Work-group x does group_rows rows of matrix y.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_add_parts(const __global acc_t *restrict part_base, long part_offset, long part_batch,
                                  long part_split, const __global data_t *restrict bias_base, long bias_offset,
                                  long bias_stride, int bias_kind, __global data_t *restrict c_base, long c_offset,
                                  long c_row, long c_column, long c_batch, int wide, int m, int n, int splits,
                                  int group_rows, float alpha, float beta, ACT_PARAMS)
{
    ONE_ITEM();
    const long matrix = get_group_id(1);
    const int c_units = UNITS(wide & WIDE_C), bias_units = UNITS(wide & WIDE_BIAS);
    c_offset *= c_units;
    c_row *= c_units;
    c_column *= c_units;
    c_batch *= c_units;
    bias_stride *= bias_units;
    const __global data_t *bias = bias_base + bias_offset * bias_units;
    const finish_t finish = {alpha, beta, bias_kind, bias_stride, act_kind != ACT_NONE, c_units, bias_units};
    const int row_begin = get_group_id(0) * group_rows;
    const int row_end = END_OF_SHARE(row_begin, group_rows, m);
    for (int row = row_begin; row < row_end; ++row) {
        const __global acc_t *parts = part_base + part_offset + matrix * part_batch + (long)row * n;
        __global data_t *to = c_base + c_offset + matrix * c_batch + row * c_row;
        const acc_t row_bias = bias_kind == BIAS_ROW ? load_either(bias + row * bias_stride, bias_units) : 0.0f;
        for (int j = 0; j < n; j += VW) {
            const int lanes = lanes_left(n - j);
            vf sum = (vf)(0.0f);
            for (int s = 0; s < splits; ++s)
                sum += load_acc_part(parts + s * part_split + j, lanes);
            const vf column_bias = bias_kind == BIAS_COLUMN
                                       ? load_spread(bias + j * bias_stride, bias_stride, lanes, bias_units)
                                       : (vf)(row_bias);
            store_vector(sum, column_bias, to + j * c_column, c_column, lanes, finish, ACT_ARGS);
        }
    }
}

#ifdef B_PACKED
// Packs op(B) [k, n] into panels [k][TILE_N], one after the other. Work-group x does panel x.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_pack_b(const __global data_t *restrict b_base, long b_offset, long b_step,
                               long b_column, __global TILE_B_T *restrict packed_base, long packed_offset,
                               int n, int k)
{
    ONE_ITEM();
    const int first = get_group_id(0) * TILE_N;
    const int columns = min(n - first, TILE_N);
    const __global data_t *b = b_base + b_offset + first * b_column;
    __global TILE_B_T *packed = packed_base + packed_offset + (long)first * k;
    acc_t panel[B_PANEL(BLOCK_K)] __attribute__((aligned(64)));
    for (int block = 0; block < k; block += BLOCK_K) {
        const int steps = min(k - block, BLOCK_K);
        pack_b(panel, B_PANEL(BLOCK_K), b + block * b_step, b_step, b_column, 1, steps, columns);
        for (int i = 0; i < steps * TILE_N; i += VW)
            TILE_STORE_B(load_private(panel + i), packed + (long)block * TILE_N + i);
    }
}

// ---- few rows ----

// Rows of A at most, and elements of A kept at once: with few rows all of k fits, and a panel is read from its
// beginning to its end, which is what memory is fastest at.
#define FEW_ROWS 8
#define FEW_KEPT 16384

// One or two rows read a panel faster than anything but the hardware can ask for it.
#define FEW_NO_PREFETCH 2

// rows x TILE_N sums over steps; `chains` sums take turns, as one multiplication has to wait for the one before it.
// Element (i, p) of A is a[p * rows + i].
ALWAYS_INLINE void multiply_few(int rows, int chains, const acc_t *a, const __global TILE_B_T *b, int steps,
                                acc_t *lines)
{
    vf acc[16 * TILE_NV];
    tile_zero(acc, rows * chains, TILE_NV);
    int p = 0;
    for (; p + 4 <= steps; p += 4) {
#define STEP(q) \
    if (rows <= FEW_NO_PREFETCH) \
        tile_multiply_step_no_prefetch(acc + (q) % chains * rows * TILE_NV, rows, TILE_NV, a + (q) * rows, 1, \
                                b + (q) * TILE_N); \
    else \
        tile_multiply_step(acc + (q) % chains * rows * TILE_NV, rows, TILE_NV, a + (q) * rows, 1, b + (q) * TILE_N);
        REPEAT_4(STEP)
#undef STEP
        a += 4 * rows;
        b += 4 * TILE_N;
    }
    for (; p < steps; ++p) {
        tile_multiply_step(acc, rows, TILE_NV, a, 1, b);
        a += rows;
        b += TILE_N;
    }
#define ADD(i, j) acc[(i) * TILE_NV + (j)] += acc[((i) + rows) * TILE_NV + (j)];
#define ADD_FAR(i, j) acc[(i) * TILE_NV + (j)] += acc[((i) + 2 * rows) * TILE_NV + (j)];
#define ADD_FAR_ROW(i) if (chains > 2 && (i) < 2 * rows) { TILE_ROW_EACH(i, TILE_NV, ADD_FAR) }
#define ADD_ROW(i) if (chains > 1 && (i) < rows) { TILE_ROW_EACH(i, TILE_NV, ADD) }
    REPEAT_4(ADD_FAR_ROW)
    REPEAT_4(ADD_ROW)
#undef ADD_ROW
#undef ADD_FAR_ROW
#undef ADD_FAR
#undef ADD
    keep_tile(acc, rows, lines);
}

#if DATA_BYTES == 2
// Sums that wait for the next elements of A wait here, of so many columns at a time; C is too narrow for them.
#define FEW_COLUMNS (1024 / TILE_N * TILE_N)
#else
#define FEW_COLUMNS 0x40000000
#endif

// As husk_gemm_packed with B_PACKED for at most FEW_ROWS rows of one matrix. Work-group x does group_columns columns.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_gemm_few(const __global data_t *restrict a_base, long a_offset, long a_row, long a_step,
                            const __global data_t *restrict b_base, long b_offset, long b_step,
                            const __global data_t *restrict bias_base, long bias_offset, long bias_stride,
                            int bias_kind, __global data_t *restrict c_base, long c_offset, long c_row,
                            long c_column, int wide, int m, int n, int k, int group_columns, float alpha, float beta,
                            ACT_PARAMS)
{
    ONE_ITEM();
    const int a_units = UNITS(wide & WIDE_A), c_units = UNITS(wide & WIDE_C), bias_units = UNITS(wide & WIDE_BIAS);
    a_row *= a_units;
    a_step *= a_units;
    c_row *= c_units;
    c_column *= c_units;
    bias_stride *= bias_units;
    const __global data_t *a = a_base + a_offset * a_units;
    const __global data_t *b = b_base + b_offset;
    __global data_t *c = c_base + c_offset * c_units;
    const __global data_t *bias = bias_base + bias_offset * bias_units;
    const int column_begin = get_group_id(0) * group_columns;
    const int column_end = END_OF_SHARE(column_begin, group_columns, n);
    const int rows = m == 1 ? 1 : m == 2 ? 2 : m <= 4 ? 4 : FEW_ROWS;

    acc_t kept[FEW_KEPT] __attribute__((aligned(64)));
#if DATA_BYTES == 2
    acc_t waiting[FEW_ROWS * FEW_COLUMNS];
#endif
    for (int from_column = column_begin, to_column; from_column < column_end; from_column = to_column) {
        to_column = END_OF_SHARE(from_column, FEW_COLUMNS, column_end);
        int block = 0;
        do { // once even where k is 0
            const int steps = min(k - block, FEW_KEPT / rows);
            const int last = block + steps == k;
            const finish_t finish = {alpha, DATA_BYTES == 2 || block == 0 ? beta : 1.0f, last ? bias_kind : BIAS_NONE,
                                     bias_stride, last && act_kind != ACT_NONE, c_units, bias_units};
            if (steps < k || from_column == column_begin)
                for (int i = 0; i < rows; ++i)
                    for (int p = 0; p < steps; ++p)
                        kept[p * rows + i] =
                            i < m ? load_either(a + i * a_row + (block + p) * a_step, a_units) : 0.0f;
            for (int j = from_column; j < to_column; j += TILE_N) {
                const int columns = min(to_column - j, TILE_N);
                const __global TILE_B_T *panel = b + j / TILE_N * b_step + (long)block * TILE_N;
                const __global data_t *from = bias_kind == BIAS_COLUMN ? bias + j * bias_stride : bias;
                acc_t lines[FEW_ROWS * TILE_N] __attribute__((aligned(64)));
                if (rows == 1)
                    multiply_few(1, 4, kept, panel, steps, lines);
                else if (rows == 2)
                    multiply_few(2, 2, kept, panel, steps, lines);
                else if (rows == 4)
                    multiply_few(4, 1, kept, panel, steps, lines);
                else
                    multiply_few(FEW_ROWS, 1, kept, panel, steps, lines);
#if DATA_BYTES == 2
                acc_t *sums = waiting + (j - from_column) * FEW_ROWS;
                for (int i = 0; block > 0 && i < rows * TILE_N; i += VW)
                    store_private(load_private(lines + i) + load_private(sums + i), lines + i);
                for (int i = 0; !last && i < rows * TILE_N; i += VW)
                    store_private(load_private(lines + i), sums + i);
                if (!last)
                    continue;
#endif
                store_tile(lines, c + j * c_column, c_row, c_column, m, columns, from, finish, ACT_ARGS);
            }
            block += steps;
        } while (block < k);
    }
}
#endif
