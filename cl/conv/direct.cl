// SPDX-License-Identifier: MIT
// Convolution without a matrix of patches, for CPUs, with vectors of filters (lib/direct.clh): one work-item is a
// work-group. A tile is up to TILE_M neighbouring positions of a row, a broadcast each, times TILE_N filters. Rows are
// cut evenly, into tiles of any height, so that 7, 14, 28, 49 or 196 positions waste nothing. For small images and deep
// filters.
//
// Channels-last outputs are stored as they are, others pass through a transpose: some 400 cycles a tile, which want 200
// or more elements in a filter. Deep filters are cut into blocks of BLOCK_K, whose weights stay in the second-level
// cache while all tiles of a block of rows use them. A filter is taken by its rows, all channels of each, so that a
// tile leaves out those that lie in the padding: of 3x3 on 7x7 a tenth.
//
//   VW       4, 8 or 16: floats in a vector
//   TILE_M   4..14: positions in a register tile
//   TILE_NV  1..3: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#include "lib/direct_filters.clh"

#define BLOCK_K 2048

// lines[i] = start[i * start_step] + sum over k of x[taps[k] + i] * w[k]: a tile of `height` positions.
#define TILE_PARAMS \
    const __global acc_t *x, const __global int *taps, const __global acc_t *w, int depth, \
        const __global acc_t *start, int start_step, __global acc_t *lines, const __global acc_t *ahead, \
        const __global data_t *y, long y_step, int y_lines
#define TILE_ARGS x, taps, w, depth, start, start_step, lines, ahead, y, y_step, y_lines
#define ASK(q) PREFETCH_FAR(ahead + taps[k + (q)]);
#define DEFINE_TILE(h) \
    static __attribute__((noinline)) void multiply_##h(TILE_PARAMS) \
    { \
        const int height = h; \
        vf acc[16 * TILE_NV]; \
        REPEAT_16(START_ROW) \
        for (int k = 0, asked = 0; k < depth;) { \
            const int end = min(depth, k + ASKED_STEPS); \
            for (int i = 0; k >= depth - ASKED_BEFORE && i < ASKED_LINES && asked < y_lines; ++i, ++asked) \
                PREFETCH_WRITE(y + asked * y_step); \
            if (ahead && k + ASKED_STEPS <= depth) { \
                REPEAT_8(ASK) \
            } \
            for (; k < end; ++k, w += TILE_N) \
                tile_multiply_step(acc, h, TILE_NV, x + taps[k], 1, w); \
        } \
        REPEAT_16(KEEP_ROW) \
    }
EACH_HEIGHT(DEFINE_TILE)

inline void multiply(int height, TILE_PARAMS)
{
    switch (height) {
        EACH_HEIGHT(TILE_CASE)
    }
}

// A block is up to block_tiles tiles of one image: whole rows, or a part of one row. block_rows is 0 where x is used
// in place, else the rows for which a work-item's scratch has room; block_columns is the outputs of a row in a block.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_direct(const __global data_t *restrict x_base, long x_offset, const __global acc_t *restrict w_base,
                      long w_offset, const __global data_t *restrict bias_base, long bias_offset, int flags,
                      __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                      __global acc_t *restrict scratch_base, long scratch_offset, long scratch_item, int block_tiles,
                      int block_rows, int block_columns, int filter_items, SHARES_PARAM, ACT_PARAMS)
{
    ONE_ITEM();
    const int depth = channels * kernel_d * kernel_h * kernel_w, staged = DATA_BYTES == 2 || block_rows > 0;
    const int row_tiles = (out_w + TILE_M - 1) / TILE_M, panels = (filters + TILE_N - 1) / TILE_N;
    const long image_tiles = (long)out_h * row_tiles;
    const struct part own = find_part((long)batch * out_d * image_tiles, panels, filter_items, shares);

    const __global acc_t *w = w_base + w_offset + (long)own.group * panels * depth * TILE_N;
    __global acc_t *bias_line = scratch_base + scratch_offset + own.number * scratch_item;
    __global acc_t *lines = bias_line + TILE_N; // 16 rows more than the tiles', for the last transpose
    __global int *taps = (__global int *)(lines + (block_tiles * TILE_M + 16) * TILE_N);
    __global acc_t *image = (__global acc_t *)taps + (depth + 15) / 16 * 16;

    const struct staging s = staging_of(max(1, block_rows), block_columns, kernel_d, kernel_h, kernel_w, stride_h,
                                        stride_w, dilation_h, dilation_w);
    const __global data_t *x = x_base + x_offset + own.group * channels * x_stride_c;
    const __global data_t *x_end = end_of_x(x_base + x_offset, CONV_ARGS);
    const int row_depth = depth / kernel_h;
    for (int h = 0; h < kernel_h; ++h)
        write_taps(taps + h * row_depth, h, h + 1, staged, s, CONV_ARGS);
    for (int i = 0; i < 16 * TILE_N; i += VW) // what a transpose of a low tile reads besides
        store_acc((vf)(0.0f), lines + i);

    for (long tile = own.tile_begin; tile < own.tile_end;) {
        const int most_rows = staged ? block_rows : out_h;
        struct block b = find_block(tile, own.tile_end, row_tiles, block_tiles, most_rows, out_d, out_h);
        cut_columns(&b, row_tiles, out_w);
        long row_step;
        const __global acc_t *source = find_image(&b, x, x_end, staged, s, row_tiles, image, &row_step, CONV_ARGS);
        __global data_t *y = y_base + y_offset + b.n * y_stride_n + (long)own.group * filters * y_stride_c +
                             b.od * y_stride_d + b.oh * y_stride_h;

        struct piece pieces[MAX_TILES];
        cut_pieces(pieces, &b, row_tiles, row_step, row_depth, CONV_ARGS);

        const __global acc_t *next = 0;
#if DATA_BYTES == 4
        if (!staged && tile + b.count < own.tile_end)
            next = x + in_place(tile + b.count, image_tiles, row_tiles, out_w, CONV_ARGS);
#endif
        for (int panel = own.panel_begin; panel < own.panel_end; ++panel) {
            const __global acc_t *asking = panel + 1 == own.panel_end ? next : 0;
            const int first_filter = panel * TILE_N, rows = min(TILE_N, filters - first_filter);
            fill_bias(bias_line, bias_base, bias_offset + own.group * filters + first_filter, rows, flags);
            int k = 0;
            do {
                const int k_count = min(BLOCK_K, depth - k), is_last = k + k_count == depth;
                for (int i = 0; i < b.count; ++i) {
                    const int height = pieces[i].height;
                    __global data_t *out = y + pieces[i].y + first_filter * y_stride_c;
                    __global acc_t *sums = lines + (depth > BLOCK_K ? i * TILE_M * TILE_N : 0);
                    const int from = max(k, pieces[i].first), steps = min(k + k_count, pieces[i].end) - from;
                    // Once at least: the bias is what sums begin with.
                    if (steps > 0 || k == 0)
                        multiply(height, source + pieces[i].x, taps + from, w + ((long)panel * depth + from) * TILE_N,
                             max(steps, 0), k ? sums : bias_line, k ? TILE_N : 0, sums,
                             asking ? asking + pieces[i].x + height - 1 : asking,
                             out + (y_stride_c == 1 ? rows - 1 : (height - 1) * y_stride_w),
                             y_stride_c == 1 ? y_stride_w : y_stride_c,
                             !is_last ? 0 : y_stride_c == 1 ? height : rows);
                    if (is_last)
                        write_tile(sums, height, rows, out, y_stride_c, y_stride_w, ACT_ARGS);
                }
                k += k_count;
            } while (k < depth);
        }
        tile += b.count;
    }
}
