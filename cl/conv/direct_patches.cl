// SPDX-License-Identifier: MIT
// Convolution with vectors of filters (lib/direct.clh) whose tiles read copies of their patches, for CPUs: one
// work-item is a work-group. Otherwise as conv/direct.cl. A step of a tile in 16 registers takes six cycles, in which
// there is no time to look up where an element lies, nor to wait for its cache line. So of a block of tiles block_steps
// steps are copied, and all panels of filters read the copy from its beginning to its end. For deep filters, many of
// them, and small images.
//
//   patches[tile][k][position of the tile]
//
// Where the depth takes several blocks of steps, the sums of all the block's tiles wait in scratch memory.
//
//   VW       4, 8 or 16: floats in a vector
//   TILE_M   4..14: positions in a register tile
//   TILE_NV  1..3: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#include "lib/direct_filters.clh"

// lines[i] = start[i * start_step] + sum over k of a[k * height + i] * w[k]: a tile of `height` positions.
#define TILE_PARAMS \
    const __global acc_t *a, const __global acc_t *w, int depth, const __global acc_t *start, int start_step, \
        __global acc_t *lines, const __global data_t *y, long y_step, int y_lines
#define TILE_ARGS a, w, depth, start, start_step, lines, y, y_step, y_lines
#define DEFINE_TILE(h) \
    static __attribute__((noinline)) void multiply_##h(TILE_PARAMS) \
    { \
        const int height = h; \
        vf acc[16 * TILE_NV]; \
        REPEAT_16(START_ROW) \
        for (int k = 0; k < depth; k += ASKED_BEFORE) { \
            const int steps = min(ASKED_BEFORE, depth - k); \
            for (int i = 0; k + steps == depth && i < y_lines; ++i) \
                PREFETCH_WRITE(y + i * y_step); \
            tile_multiply(acc, h, TILE_NV, a, 1, h, w, TILE_N, steps); \
            a += steps * h; \
            w += steps * TILE_N; \
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

// Rows of x lie far apart, which the hardware does not foresee: they are asked for so many steps ahead.
#define COPY_AHEAD 16

#ifdef __clang__
#define COPY_FLOATS(n) STORE_VECTOR(float##n, __global, LOAD_VECTOR(float##n, __global, source), to);
#else
#define COPY_FLOATS(n) vstore##n(vload##n(0, source), 0, to);
#endif

// Steps k..k_end-1 of all tiles, of which tile i goes to patches + i * patch. No element is stored twice: stores that
// overlap wait for each other.
inline void copy_patches(const __global acc_t *image, const struct piece *pieces, int count, const __global int *taps,
                         int k, int k_end, int depth, __global acc_t *patches, int patch)
{
    for (int i = 0; i < count; ++i) {
        const __global acc_t *from = image + pieces[i].x;
        __global acc_t *to = patches + i * patch;
        const int height = pieces[i].height;
        for (int step = k; step < k_end; ++step) {
            const __global acc_t *source = from + taps[step];
            PREFETCH_READ(from + taps[min(step + COPY_AHEAD, depth - 1)]);
            for (int v = 0; v + 4 <= height; v += 4, source += 4, to += 4)
                COPY_FLOATS(4)
            if (height & 2) {
                COPY_FLOATS(2)
                source += 2;
                to += 2;
            }
            if (height & 1)
                *to++ = *source;
        }
    }
}

// A block is up to block_tiles tiles of one image: whole rows, or a part of one row. block_rows is 0 where x is used
// in place, else the rows for which a work-item's scratch has room; block_columns is the outputs of a row in a block;
// block_steps the steps of a patch that are copied at a time.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_direct_patches(const __global data_t *restrict x_base, long x_offset,
                             const __global acc_t *restrict w_base, long w_offset,
                             const __global data_t *restrict bias_base, long bias_offset, int flags,
                             __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                             __global acc_t *restrict scratch_base, long scratch_offset, long scratch_item,
                             int block_tiles, int block_rows, int block_columns, int block_steps, int filter_items,
                             SHARES_PARAM, ACT_PARAMS)
{
    ONE_ITEM();
    const int depth = channels * kernel_d * kernel_h * kernel_w, staged = DATA_BYTES == 2 || block_rows > 0;
    const int row_tiles = (out_w + TILE_M - 1) / TILE_M, panels = (filters + TILE_N - 1) / TILE_N;
    const struct part own = find_part((long)batch * out_d * out_h * row_tiles, panels, filter_items, shares);

    // Its scratch: biases of a panel, a finished tile, the patches, the sums that wait, the table of offsets, and the
    // staged image.
    const __global acc_t *w = w_base + w_offset + (long)own.group * panels * depth * TILE_N;
    const int patch = ((block_steps * TILE_M + 15) / 16 | 1) * 16; // lines are odd: patches share no set of the cache
    const int tile_sums = TILE_M * TILE_N;
    __global acc_t *bias_line = scratch_base + scratch_offset + own.number * scratch_item;
    __global acc_t *lines = bias_line + TILE_N; // 16 rows, for the transpose of a low tile
    __global acc_t *patches = lines + 16 * TILE_N;
    __global acc_t *waiting = patches + block_tiles * patch;
    __global int *taps = (__global int *)(waiting + (depth > block_steps ? (long)(panels + filter_items - 1) /
                                                                               filter_items * block_tiles * tile_sums
                                                                         : 0));
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

        int k = 0;
        do {
            const int k_end = min(depth, k + block_steps), is_last = k_end == depth;
            copy_patches(source, pieces, b.count, taps, k, k_end, depth, patches, patch);
            for (int panel = own.panel_begin; panel < own.panel_end; ++panel) {
                const int first_filter = panel * TILE_N, rows = min(TILE_N, filters - first_filter);
                if (k == 0)
                    fill_bias(bias_line, bias_base, bias_offset + own.group * filters + first_filter, rows, flags);
                for (int i = 0; i < b.count; ++i) {
                    const int height = pieces[i].height;
                    __global data_t *out = y + pieces[i].y + first_filter * y_stride_c;
                    __global acc_t *sums = waiting + ((long)(panel - own.panel_begin) * block_tiles + i) * tile_sums;
                    __global acc_t *to = is_last ? lines : sums;
                    const int from = clamp(pieces[i].first, k, k_end), steps = max(0, min(k_end, pieces[i].end) - from);
                    multiply(height, patches + i * patch + (from - k) * height,
                             w + ((long)panel * depth + from) * TILE_N, steps, k ? sums : bias_line, k ? TILE_N : 0, to,
                             out + (y_stride_c == 1 ? rows - 1 : (height - 1) * y_stride_w),
                             y_stride_c == 1 ? y_stride_w : y_stride_c,
                             !is_last ? 0 : y_stride_c == 1 ? height : rows);
                    if (is_last)
                        write_tile(to, height, rows, out, y_stride_c, y_stride_w, ACT_ARGS);
                }
            }
            k = k_end;
        } while (k < depth);
        tile += b.count;
    }
}
