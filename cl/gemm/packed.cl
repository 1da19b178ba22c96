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

// The room in accumulators.
#ifdef DTYPE_F64
#define STRIP_SIZE (STRIP_FLOATS / 2)
#else
#define STRIP_SIZE STRIP_FLOATS
#endif
// Rows of the A panel lie this far apart: a power of two would put them all in one set of the cache.
#define A_ROW (BLOCK_K + VW)
// Likewise the panels of B, of block_k steps.
#define B_PANEL(block_k) ((block_k) * TILE_N + VW)
// What is left of a matrix below the last full tile is done this many rows at a time.
#define TAIL_M 4
#define FULL_ABOVE (TILE_M > 2 * TAIL_M ? TILE_M - TAIL_M : TAIL_M)

// Copies a block of lines x columns elements, VW x VW at most, transposed: element (i, j) goes to
// to[j * to_row + i] for j < to_rows; what is missing of the block becomes zeros.
inline void transpose_copy(acc_t *to, int to_row, int to_rows, const __global data_t *from, long from_row,
                           int units, int lines, int columns)
{
    vf block[VW];
    if (lines == VW && columns >= VW) {
#define LOAD(i) \
    if ((i) < VW) \
        block[i] = load_vf_either(from + (i) * from_row, VW, units);
        REPEAT_16(LOAD)
#undef LOAD
    } else {
        acc_t part[VW * VW];
        for (int i = 0; i < VW; ++i)
            store_private(i < lines ? load_vf_either(from + i * from_row, columns, units) : (vf)(0.0f),
                          part + i * VW);
#define RELOAD(i) \
    if ((i) < VW) \
        block[i] = load_private(part + (i) * VW);
        REPEAT_16(RELOAD)
#undef RELOAD
    }
    transpose_vf(block);
#define STORE(i) \
    if ((i) < VW && (i) < to_rows) \
        store_private(block[i], to + (i) * to_row);
    REPEAT_16(STORE)
#undef STORE
}

// Copies rows x steps elements to to[i * A_ROW + p]; element (i, p) is from[i * row + p * step]. Rows up to
// panel_rows and steps up to a multiple of VW are filled with zeros. The matrix has `there` rows from here on: where
// it is transposed whole vectors of them are read, and those beyond the tile left out.
inline void pack_a(acc_t *to, const __global data_t *from, long row, long step, int units, int rows, int there,
                   int panel_rows, int steps)
{
    if (step == units) {
        for (int i = 0; i < rows; ++i)
            for (int p = 0; p < steps; p += VW)
                store_private(load_vf_either(from + i * row + p * units, lanes_left(steps - p), units),
                              to + i * A_ROW + p);
    } else if (row == units) {
        for (int i = 0; i < TILE_M; i += VW)
            for (int p = 0; p < steps; p += VW)
                transpose_copy(to + i * A_ROW + p, A_ROW, min(TILE_M - i, VW), from + p * step + i * units,
                               step, units, min(steps - p, VW), there - i);
    } else {
        for (int i = 0; i < rows; ++i)
            for (int p = 0; p < steps; ++p)
                to[i * A_ROW + p] = load_either(from + i * row + p * step, units);
    }
    for (int i = rows; i < panel_rows; ++i)
        for (int p = 0; p < steps; p += VW)
            store_private((vf)(0.0f), to + i * A_ROW + p);
}

// Copies steps x columns elements into panels; element (p, j) is from[p * step + j * column]. Columns that
// fill up the last panel are zeros.
inline void pack_b(acc_t *to, int panel_size, const __global data_t *from, long step, long column, int units,
                   int steps, int columns)
{
    if (column == units) {
        for (int p = 0; p < steps; ++p) {
            const __global data_t *line = from + p * step;
            acc_t *panel = to + p * TILE_N;
            int j = 0;
            for (; j + TILE_N <= columns; j += TILE_N, panel += panel_size) {
                for (int v = 0; v < TILE_NV; ++v) {
                    PREFETCH_READ(line + 4 * step + (j + v * VW) * units);
                    store_private(load_vf_either(line + (j + v * VW) * units, VW, units), panel + v * VW);
                }
            }
            if (j < columns)
                for (int v = 0; v < TILE_N; v += VW)
                    store_private(load_vf_either(line + (j + v) * units, lanes_left(max(columns - j - v, 0)), units),
                                  panel + v);
        }
    } else if (step == units) {
        for (int j = 0; j < columns; j += VW) {
            acc_t *panel = to + j / TILE_N * panel_size + j % TILE_N;
            for (int p = 0; p < steps; p += VW) {
                transpose_copy(panel + p * TILE_N, TILE_N, VW, from + j * column + p * units,
                               column, units, min(columns - j, VW), min(steps - p, VW));
            }
        }
        // A vector of columns that lies wholly beyond the matrix is read by the tile all the same.
        for (int j = (columns + VW - 1) / VW * VW; j % TILE_N != 0; j += VW)
            for (int p = 0; p < steps; ++p)
                store_private((vf)(0.0f), to + j / TILE_N * panel_size + j % TILE_N + p * TILE_N);
    } else {
        for (int j = 0; j < (columns + TILE_N - 1) / TILE_N * TILE_N; ++j)
            for (int p = 0; p < steps; ++p)
                to[j / TILE_N * panel_size + j % TILE_N + p * TILE_N] =
                    j < columns ? load_either(from + p * step + j * column, units) : 0.0f;
    }
}

// ---- what is asked for while a tile is multiplied ----

// Elements of a cache line of 64 bytes.
#define LINE (64 / DATA_BYTES)
// Lines in a piece, one a k step.
#define PIECE 8
// The next block of B is asked for while the last rows of this one are multiplied, this many tiles of rows: asked for
// earlier, it would leave the second-level cache before it is copied.
#define AHEAD_TILES 8

// A part of a matrix, in pieces of PIECE lines. Either runs of elements side by side, or one column of lines.
typedef struct {
    const __global data_t *at;   // the next piece
    long line, run;              // from a line to the next, from a run to the next
    int pieces, piece, left;     // in a run; done of this one; in all
} stream_t;

inline stream_t stream_none(void)
{
    const stream_t none = {0, 0, 0, 1, 0, 0};
    return none;
}

// runs of count elements, run apart.
inline stream_t stream_runs(const __global data_t *from, long run, int runs, int count)
{
    const int pieces = (count + PIECE * LINE - 1) / (PIECE * LINE);
    const stream_t stream = {from, LINE, run, pieces, 0, runs * pieces};
    return stream;
}

// count lines, line apart.
inline stream_t stream_lines(const __global data_t *from, long line, int count)
{
    const int pieces = (count + PIECE - 1) / PIECE;
    const stream_t stream = {from, line, 0, pieces, 0, pieces};
    return stream;
}

ALWAYS_INLINE const __global data_t *stream_next(stream_t *stream)
{
    const __global data_t *piece = stream->at + stream->piece * (PIECE * stream->line);
    --stream->left;
    if (++stream->piece == stream->pieces) {
        stream->piece = 0;
        stream->at += stream->run;
    }
    return piece;
}

// What the tile in hand may ask for: pieces of the next rows of A, then of the next block of B; and its own part of
// C, so late that what streams by does not drive it out of the first-level cache again.
typedef struct {
    stream_t a, b;
    int a_share, b_share; // pieces for each tile
    const __global data_t *idle; // asked for where there is nothing else
    const __global data_t *c;
    long c_row, c_last; // to the next row, to the last column
    int c_rows;
} ahead_t;

// k steps before a tile's end at which it asks for its part of C.
#define ASK_FOR_C 48

inline void ask_for_c(const ahead_t *ahead)
{
    for (int i = 0; i < ahead->c_rows; ++i) {
        PREFETCH_WRITE(ahead->c + i * ahead->c_row);
        PREFETCH_WRITE(ahead->c + i * ahead->c_row + ahead->c_last);
    }
}

// ---- the register tile ----

// A column of A, from where it lies, times a row of B.
ALWAYS_INLINE void add_product_in_place(vf *acc, int rows, const __global data_t *a, long a_row, vf b0, vf b1, vf b2,
                                        vf b3)
{
#define MULTIPLY(i, j) acc[(i) * TILE_NV + (j)] = MAD(element, b##j, acc[(i) * TILE_NV + (j)]);
#define MULTIPLY_ROW(i) \
    if ((i) < rows) { \
        const vf element = (vf)(load_one(a, (i) * a_row)); \
        TILE_ROW_EACH(i, TILE_NV, MULTIPLY) \
    }
    REPEAT_16(MULTIPLY_ROW)
#undef MULTIPLY_ROW
#undef MULTIPLY
}

// One step that takes A from where it lies.
ALWAYS_INLINE void multiply_step_in_place(vf *acc, int rows, const __global data_t *a, long a_row,
                                          const TILE_B_SPACE TILE_B_T *b)
{
#ifdef TILE_PREFETCH_B
    PREFETCH_READ(b + TILE_PREFETCH_B * TILE_N);
    if (TILE_N > 16)
        PREFETCH_READ(b + TILE_PREFETCH_B * TILE_N + 16);
#endif
    const vf b0 = TILE_LOAD_B(0, b);
    const vf b1 = TILE_NV > 1 ? TILE_LOAD_B(1, b) : (vf)(0.0f);
    const vf b2 = TILE_NV > 2 ? TILE_LOAD_B(2, b) : (vf)(0.0f);
    const vf b3 = TILE_NV > 3 ? TILE_LOAD_B(3, b) : (vf)(0.0f);
    add_product_in_place(acc, rows, a, a_row, b0, b1, b2, b3);
}

// One step that takes B from where it lies, and leaves a copy in the panel.
ALWAYS_INLINE void multiply_step_copying(vf *acc, int in_place, const acc_t *a, const __global data_t *a_there,
                                         long a_row, const __global data_t *b, acc_t *copy)
{
    const vf b0 = load_vf(b);
    const vf b1 = TILE_NV > 1 ? load_vf(b + VW) : (vf)(0.0f);
    const vf b2 = TILE_NV > 2 ? load_vf(b + 2 * VW) : (vf)(0.0f);
    const vf b3 = TILE_NV > 3 ? load_vf(b + 3 * VW) : (vf)(0.0f);
#define COPY(i, j) store_private(b##j, copy + (j) * VW);
    TILE_ROW_EACH(0, TILE_NV, COPY)
#undef COPY
    if (in_place)
        add_product_in_place(acc, TILE_M, a_there, a_row, b0, b1, b2, b3);
    else
        tile_add_product(acc, TILE_M, TILE_NV, a, A_ROW, b0, b1, b2, b3);
}

// A full tile of sums from the panels a and b; where copies is set, from b's source, and into the panel; where
// in_place is, from the rows of A.
ALWAYS_INLINE void multiply_full(vf *acc, int copies, int in_place, const acc_t *a, const __global data_t *a_there,
                                 long a_row, const TILE_B_SPACE TILE_B_T *b, const __global data_t *source,
                                 long source_step, acc_t *copy, int copy_step, int steps,
                                 ahead_t *ahead)
{
#define STEP(q) \
    if (copies) \
        multiply_step_copying(acc, in_place, a + (q), a_there + (q), a_row, source + (q) * source_step, \
                              copy + (q) * copy_step); \
    else if (in_place) \
        multiply_step_in_place(acc, TILE_M, a_there + (q), a_row, b + (q) * TILE_N); \
    else \
        tile_multiply_step(acc, TILE_M, TILE_NV, a + (q), A_ROW, b + (q) * TILE_N);
    tile_zero(acc, TILE_M, TILE_NV);
    int a_left = min(ahead->a_share, ahead->a.left), b_left = min(ahead->b_share, ahead->b.left);
    int p = 0, ask = max(steps - ASK_FOR_C, 0);
    for (; p + PIECE <= steps; p += PIECE) {
        if (p >= ask) {
            ask_for_c(ahead);
            ask = steps;
        }
        const __global data_t *asked = ahead->idle;
        long line = 0;
        if (a_left > 0) {
            --a_left;
            line = ahead->a.line;
            asked = stream_next(&ahead->a);
        } else if (b_left > 0) {
            --b_left;
            line = ahead->b.line;
            asked = stream_next(&ahead->b);
        }
        if (copies || in_place) {
            // Written out, the loads of all steps would be done first, and spilled.
#pragma nounroll
            for (int q = 0; q < PIECE; ++q) {
                PREFETCH_FAR(asked);
                STEP(0)
                asked += line;
                a += 1;
                a_there += 1;
                b += TILE_N;
                source += source_step;
                copy += copy_step;
            }
        } else {
#define STEP_ASKING(q) \
    PREFETCH_FAR(asked + (q) * line); \
    STEP(q)
            REPEAT_8(STEP_ASKING)
#undef STEP_ASKING
            a += PIECE;
            a_there += PIECE;
            b += PIECE * TILE_N;
        }
    }
    for (; p < steps; ++p) {
        STEP(0)
        a += 1;
        a_there += 1;
        b += TILE_N;
        source += source_step;
        copy += copy_step;
    }
#undef STEP
}

// Sums of TAIL_M rows or fewer, whose elements lie side by side, from where they lie.
ALWAYS_INLINE void multiply_tail_in_place(vf *acc, const __global data_t *a, long a_row, int rows,
                                          const TILE_B_SPACE TILE_B_T *b, int steps)
{
    // Rows that are missing are the last one again.
    const __global data_t *a1 = a + min(1, rows - 1) * a_row;
    const __global data_t *a2 = a + min(2, rows - 1) * a_row;
    const __global data_t *a3 = a + min(3, rows - 1) * a_row;
    tile_zero(acc, TAIL_M, TILE_NV);
    for (int p = 0; p < steps; ++p, b += TILE_N) {
#define MULTIPLY(i, j) \
    acc[(i) * TILE_NV + (j)] = MAD(element##i, TILE_LOAD_B(j, b), acc[(i) * TILE_NV + (j)]);
        const vf element0 = (vf)(load_one(a, p)), element1 = (vf)(load_one(a1, p));
        const vf element2 = (vf)(load_one(a2, p)), element3 = (vf)(load_one(a3, p));
        TILE_ROW_EACH(0, TILE_NV, MULTIPLY)
        TILE_ROW_EACH(1, TILE_NV, MULTIPLY)
        TILE_ROW_EACH(2, TILE_NV, MULTIPLY)
        TILE_ROW_EACH(3, TILE_NV, MULTIPLY)
#undef MULTIPLY
    }
}

// The first rows of a tile of tile_rows whose columns do not pass the edge and lie side by side, with no more to do
// than scaling and a bias of columns: straight from the registers.
ALWAYS_INLINE void store_plain(const vf *acc, int tile_rows, int rows, __global data_t *c, long c_row,
                               const __global data_t *bias, finish_t finish)
{
    const int has_bias = finish.bias_kind == BIAS_COLUMN;
    const int units = C_UNITS(finish), step = VW * units;
#define BIAS(j) (has_bias && (j) < TILE_NV ? load_spread(bias + (j) * VW * finish.bias_stride, \
                                                         finish.bias_stride, VW, BIAS_UNITS(finish)) : (vf)(0.0f))
    const vf bias0 = BIAS(0), bias1 = BIAS(1), bias2 = BIAS(2), bias3 = BIAS(3);
#undef BIAS
#define STORE(i, j) store_vf_either(acc[(i) * TILE_NV + (j)] * finish.alpha + bias##j, to + (j) * step, VW, units);
#define UPDATE(i, j) \
    store_vf_either(MAD(load_vf_either(to + (j) * step, VW, units), (vf)(finish.scale_c), \
                        acc[(i) * TILE_NV + (j)] * finish.alpha + bias##j), to + (j) * step, VW, units);
#define STORE_ROW(i) \
    if ((i) < tile_rows && (i) < rows) { \
        __global data_t *to = c + (i) * c_row; \
        TILE_ROW_EACH(i, TILE_NV, STORE) \
    }
#define UPDATE_ROW(i) \
    if ((i) < tile_rows && (i) < rows) { \
        __global data_t *to = c + (i) * c_row; \
        TILE_ROW_EACH(i, TILE_NV, UPDATE) \
    }
    if (finish.scale_c == 0.0f) {
        REPEAT_16(STORE_ROW)
    } else {
        REPEAT_16(UPDATE_ROW)
    }
#undef UPDATE_ROW
#undef STORE_ROW
#undef UPDATE
#undef STORE
}

ALWAYS_INLINE void keep_tile(const vf *acc, int tile_rows, acc_t *lines)
{
#define KEEP(i, j) store_private(acc[(i) * TILE_NV + (j)], lines + ((i) * TILE_NV + (j)) * VW);
#define KEEP_ROW(i) \
    if ((i) < tile_rows) { \
        TILE_ROW_EACH(i, TILE_NV, KEEP) \
    }
    REPEAT_16(KEEP_ROW)
#undef KEEP_ROW
#undef KEEP
}

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
