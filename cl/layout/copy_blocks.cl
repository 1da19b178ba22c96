// SPDX-License-Identifier: MIT
// Copies for CPU devices: one work-item per work-group.
//
// Tensors are walked along y's fastest dimension and, where that is not x's fastest, along x's: a block of LINES by
// COLUMNS elements is read along x, turned in private memory and written along y, so that both sides go through memory
// in runs. Elements of four bytes that are not converted are turned in registers, VW by VW. Where the two are one
// dimension, a block is a piece of a row, and the compiler makes vectors of it.
//
//   -DCOPY_FROM=0..7, -DCOPY_TO=0..7   the dtypes, see lib/convert.clh
//   -DVW=4|8|16                        elements of four bytes that a vector holds
#include "lib/convert.clh"
#include "lib/inline.clh"
#include "lib/walk.clh"

#if COPY_FROM == COPY_TO && (COPY_FROM == CONVERT_F32 || COPY_FROM == CONVERT_I32)
#define TURNS_VECTORS
#define DTYPE_F32
#define TILE_M  1
#define TILE_NV 1
#include "lib/tile.clh"
#endif

#define LINES   32 // along x's fastest dimension
#define COLUMNS 64 // along y's

// A row: x_stride 0 repeats one element.
inline void copy_row(const __global from_t *x, long x_stride, __global to_t *y, long y_stride, long count)
{
    if (x_stride == 1 && y_stride == 1) {
        for (long i = 0; i < count; ++i)
            y[i] = convert(x[i]);
    } else if (x_stride == 0 && y_stride == 1) {
        const to_t value = convert(x[0]);
        for (long i = 0; i < count; ++i)
            y[i] = value;
    } else {
        for (long i = 0; i < count; ++i)
            y[i * y_stride] = convert(x[i * x_stride]);
    }
}

// lines rows of y, each of count elements; x's fastest dimension goes from line to line.
inline void copy_block(const __global from_t *x, long x_line, long x_stride, __global to_t *y, long y_line,
                       long y_stride, int lines, int count)
{
    to_t block[COLUMNS * LINES];
    for (int i = 0; i < count; ++i)
        for (int j = 0; j < lines; ++j)
            block[j * COLUMNS + i] = convert(x[i * x_stride + j * x_line]);
    for (int j = 0; j < lines; ++j)
        for (int i = 0; i < count; ++i)
            y[j * y_line + i * y_stride] = block[j * COLUMNS + i];
}

#ifdef TURNS_VECTORS
// The same where both are dense, x along the lines and y along the count. Whole squares: a line of the cache of every
// row of x is read once, and whole ones of y are written; the squares after the next are asked for.
inline void turn_block(const __global from_t *x_bits, long x_stride, __global to_t *y_bits, long y_line, int lines,
                       int count)
{
    const __global float *x = (const __global float *)x_bits;
    __global float *y = (__global float *)y_bits;
    const int whole_lines = lines / VW * VW, whole_count = count / VW * VW;
    for (int j = 0; j < whole_lines; j += VW)
        for (int i = 0; i < whole_count; i += VW) {
            vf block[VW];
#define LOAD(k) \
    if ((k) < VW) { \
        const __global float *from = x + (i + (k)) * x_stride + j; \
        block[k] = load_vf(from); \
        PREFETCH_FAR(from + 2 * VW * x_stride); \
    }
            REPEAT_16(LOAD)
#undef LOAD
            transpose_vf(block);
#define STORE(k) \
    if ((k) < VW) \
        store_vf(block[k], y + (j + (k)) * y_line + i);
            REPEAT_16(STORE)
#undef STORE
        }
    for (int j = 0; j < lines; ++j)
        for (int i = j < whole_lines ? whole_count : 0; i < count; ++i)
            y[j * y_line + i] = x[i * x_stride + j];
}
#endif

// Units are blocks, numbered over the outer dimensions (x, y in the walk), line blocks and column blocks of `piece`
// elements; share: units a work-group takes. lines_extent 1: there is one dimension alone.
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_copy_blocks(const __global from_t *x_base, long x_offset, __global to_t *y_base, long y_offset,
                      WALK_PARAMS_2(outer), long lines_extent, long x_line, long y_line, long count, long x_stride,
                      long y_stride, long piece, long units, long share)
{
    ONE_ITEM();
    const __global from_t *x = x_base + x_offset;
    __global to_t *y = y_base + y_offset;
    const long first = get_group_id(0) * share;
    const long last = min(first + share, units);
    const long line_blocks = (lines_extent + LINES - 1) / LINES;
    const long pieces = (count + piece - 1) / piece;
    WALK_2(outer);
    long before = -1;
    for (long unit = first; unit < last; ++unit) {
        const long column = unit % pieces * piece;
        const long line = unit / pieces % line_blocks * LINES;
        const long number = unit / pieces / line_blocks;
        if (number != before)
            walk_seek(&outer, number);
        before = number;
        const int lines = (int)min((long)LINES, lines_extent - line);
        const long here = min(piece, count - column);
        const __global from_t *x_block = x + outer.at[0] + line * x_line + column * x_stride;
        __global to_t *y_block = y + outer.at[1] + line * y_line + column * y_stride;
        if (lines_extent == 1)
            copy_row(x_block, x_stride, y_block, y_stride, here);
#ifdef TURNS_VECTORS
        else if (x_line == 1 && y_stride == 1)
            turn_block(x_block, x_stride, y_block, y_line, lines, (int)here);
#endif
        else
            copy_block(x_block, x_line, x_stride, y_block, y_line, y_stride, lines, (int)here);
    }
}
