// SPDX-License-Identifier: MIT
// Convolution without a matrix of patches, for CPUs: one work-item is a work-group and computes with explicit
// vectors. Every element of the filter reads the image in place, or a staged copy of the block of rows it needs
// (lib/staging.clh), through a table of offsets: blocked direct convolution, arXiv 1808.05567, on plain layouts.
//
//   y[filter][position] = sum over k of weights[k][filter] * image[base of position + taps[k]]
//
// Two ways to fill the vectors:
//
// husk_conv_direct: filters. A tile is up to TILE_M neighbouring positions of a row, a broadcast each, times TILE_N
// filters. Rows are cut evenly, into tiles of any height, so that 7, 14, 28, 49 or 196 positions waste nothing.
// Channels-last outputs are stored as they are, others pass through a transpose: some 400 cycles a tile, which want
// 200 or more elements in a filter. Deep filters are cut into blocks of BLOCK_K, whose weights stay in the
// second-level cache while all tiles of a block of rows use them. For small images and deep filters.
//
// husk_conv_direct_rows: positions. A tile is two vectors of VW positions, each anywhere in the block, times a panel
// of up to TILE_M filters, a broadcast each; filters are cut evenly into panels of any height. A row's last vector is
// moved back until it is whole. Stores are vectors of neighbours; starting and storing a tile takes some 80 cycles a
// vector. For large images, first layers and few filters.
//
//   VW       4, 8 or 16: floats in a vector
//   TILE_M   4..14: positions, or filters, in a register tile
//   TILE_NV  1..3: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#define TILE_A_SPACE __global
#define TILE_B_SPACE __global
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/shares.clh"
#include "lib/staging.clh"

#define BLOCK_K 2048
#define MAX_TILES 64 // of a block

#define EACH_HEIGHT(STEP) \
    STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7) STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14)

// Whether the elements of a filter lie one after the other; the stride of an extent of 1 says nothing.
inline int is_dense(int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_c, long w_stride_d,
                    long w_stride_h, long w_stride_w)
{
    const long plane = (long)kernel_h * kernel_w;
    return (kernel_w == 1 || w_stride_w == 1) && (kernel_h == 1 || w_stride_h == kernel_w) &&
           (kernel_d == 1 || w_stride_d == plane) && (channels == 1 || w_stride_c == plane * kernel_d);
}

// lines[i] = element k + i of VW filters, zero where there is none.
ALWAYS_INLINE void load_filters(const __global data_t *w, long w_stride_k, int filters, int count, vf *lines)
{
#define LOAD_FILTER(i) \
    if ((i) < VW) \
        lines[i] = (i) < filters ? load_vf_part(w + (i) * w_stride_k, count) : (vf)(0.0f);
    REPEAT_16(LOAD_FILTER)
#undef LOAD_FILTER
    transpose_vf(lines);
}

// weights [groups*filters][depth] -> packed [group][panel][depth][TILE_N], zero where a panel has no filter.
// Work-group (panel, group, part) does a part of the depth.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_direct_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int panel = get_group_id(0), group = get_group_id(1), panels = get_num_groups(0);
    const long taps = (long)kernel_d * kernel_h * kernel_w, depth = channels * taps;
    const long parts = get_num_groups(2), part = get_group_id(2);
    const long begin = depth * part / parts, end = depth * (part + 1) / parts;
    const int rows = min(TILE_N, filters - panel * TILE_N);
    const __global data_t *w = w_base + w_offset + ((long)group * filters + (long)panel * TILE_N) * w_stride_k;
    __global acc_t *packed = packed_base + packed_offset + ((long)group * panels + panel) * depth * TILE_N;
    if (is_dense(channels, kernel_d, kernel_h, kernel_w, w_stride_c, w_stride_d, w_stride_h, w_stride_w)) {
        for (long k = begin; k < end; k += VW) {
            const int count = (int)min((long)VW, end - k);
            for (int v = 0; v < TILE_N; v += VW) {
                vf lines[VW];
                load_filters(w + v * w_stride_k + k, w_stride_k, rows - v, count, lines);
#define STORE_LINE(i) \
    if ((i) < VW && (i) < count) \
        store_acc(lines[i], packed + (k + (i)) * TILE_N + v);
                REPEAT_16(STORE_LINE)
#undef STORE_LINE
            }
        }
        return;
    }
    for (long k = begin; k < end; ++k) {
        const long tap = k % taps;
        const __global data_t *from = w + k / taps * w_stride_c + tap / ((long)kernel_h * kernel_w) * w_stride_d +
                                      tap / kernel_w % kernel_h * w_stride_h + tap % kernel_w * w_stride_w;
        for (int m = 0; m < TILE_N; ++m)
            packed[k * TILE_N + m] = m < rows ? load_one(from, m * w_stride_k) : 0.0f;
    }
}

// lines[i] = start[i * start_step] + sum over k of x[taps[k] + i] * w[k]: a tile of `height` positions.
#define TILE_PARAMS \
    const __global acc_t *x, const __global int *taps, const __global acc_t *w, int depth, \
        const __global acc_t *start, int start_step, __global acc_t *lines, const __global acc_t *ahead, \
        const __global data_t *y, long y_step, int y_lines
#define START(i, j) acc[(i) * TILE_NV + (j)] = load_acc(start + (i) * start_step + (j) * VW);
#define KEEP(i, j) store_acc(acc[(i) * TILE_NV + (j)], lines + (i) * TILE_N + (j) * VW);
#define START_ROW(i) \
    if ((i) < height) { \
        TILE_ROW_EACH(i, TILE_NV, START) \
    }
#define KEEP_ROW(i) \
    if ((i) < height) { \
        TILE_ROW_EACH(i, TILE_NV, KEEP) \
    }
// Where `ahead` is set, what the next block reads in place of x is asked for, for so many steps at a time. The tile's
// part of y is asked for a few lines at a time before the end: many at once are all that a core can wait for, and x
// waits behind them.
#define ASKED_STEPS 8
#define ASKED_LINES 4
#define ASKED_BEFORE 64
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
#define CASE(h) \
    case h: \
        if (h <= TILE_M) \
            multiply_##h(x, taps, w, depth, start, start_step, lines, ahead, y, y_step, y_lines); \
        break;
    switch (height) {
        EACH_HEIGHT(CASE)
    }
#undef CASE
}

// A finished tile to its place: lines[height][TILE_N] of `count` filters.
inline void write_tile(const __global acc_t *lines, int height, int count, __global data_t *y, long y_stride_c,
                       long y_stride_w, ACT_PARAMS)
{
    if (y_stride_c == 1) {
        for (int i = 0; i < height; ++i)
            for (int j = 0; j < count; j += VW) {
                vf value = load_acc(lines + i * TILE_N + j);
                if (act_kind != ACT_NONE)
                    value = activate(value, ACT_ARGS);
                store_vf_part(value, y + i * y_stride_w + j, count - j);
            }
        return;
    }
    for (int first = 0; first < height; first += VW)
        for (int j = 0; j < count; j += VW) {
            vf block[VW];
            const int filters = min(VW, count - j), positions = min(VW, height - first);
            __global data_t *out = y + first * y_stride_w + j * y_stride_c;
#define LOAD_LINE(i) \
    if ((i) < VW) \
        block[i] = load_acc(lines + (first + (i)) * TILE_N + j);
            REPEAT_16(LOAD_LINE)
#undef LOAD_LINE
            transpose_vf(block);
            if (act_kind != ACT_NONE) {
#define ACTIVATE(i) \
    if ((i) < VW) \
        block[i] = activate(block[i], ACT_ARGS);
                REPEAT_16(ACTIVATE)
#undef ACTIVATE
            }
            if (y_stride_w == 1) {
#define STORE_LINE(i) \
    if ((i) < VW && (i) < filters) \
        store_vf_part(block[i], out + (i) * y_stride_c, positions);
                REPEAT_16(STORE_LINE)
#undef STORE_LINE
            } else {
                acc_t line[VW];
#define STORE_LINE(i) \
    if ((i) < VW && (i) < filters) { \
        store_private(block[i], line); \
        for (int p = 0; p < positions; ++p) \
            store_one(out, (i) * y_stride_c + p * y_stride_w, line[p]); \
    }
                REPEAT_16(STORE_LINE)
#undef STORE_LINE
            }
        }
}

// Where the block that begins with this tile lies in the image, which is used in place; rows are of `width` positions.
inline long in_place(long tile, long image_tiles, int row_tiles, long width, CONV_PARAMS)
{
    const long plane = tile / image_tiles, row = tile % image_tiles / row_tiles;
    return plane / out_d * x_stride_n + plane % out_d * stride_d * x_stride_d + row * stride_h * x_stride_h +
           width * (tile % row_tiles) / row_tiles;
}

// A tile of the block: where it begins in the image and in y, and its positions.
struct piece {
    long x, y;
    int height;
};

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
    const int3 place = group_place(shares);
    const int group = place.z, staged = DATA_BYTES == 2 || block_rows > 0, has_bias = flags & HAS_BIAS;
    const long column_items = get_num_groups(0), column_item = place.x, filter_item = place.y;
    const int depth = channels * kernel_d * kernel_h * kernel_w;
    const int row_tiles = (out_w + TILE_M - 1) / TILE_M;
    const long image_tiles = (long)out_h * row_tiles;
    const long tiles = (long)batch * out_d * image_tiles;
    const int panels = (filters + TILE_N - 1) / TILE_N;

    // This item's share.
    const long tile_begin = tiles * column_item / column_items, tile_end = tiles * (column_item + 1) / column_items;
    const int panel_begin = panels * filter_item / filter_items;
    const int panel_end = panels * (filter_item + 1) / filter_items;

    const __global acc_t *w = w_base + w_offset + (long)group * panels * depth * TILE_N;
    const long item = (group * (long)filter_items + filter_item) * column_items + column_item;
    __global acc_t *bias_line = scratch_base + scratch_offset + item * scratch_item;
    __global acc_t *lines = bias_line + TILE_N; // 16 rows more than the tiles', for the last transpose
    __global int *taps = (__global int *)(lines + (block_tiles * TILE_M + 16) * TILE_N);
    __global acc_t *image = (__global acc_t *)taps + (depth + 15) / 16 * 16;

    const struct staging s = staging_of(max(1, block_rows), block_columns, kernel_d, kernel_h, kernel_w, stride_h,
                                        stride_w, dilation_h, dilation_w);
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    write_taps(taps, staged, s, CONV_ARGS);
    for (int i = 0; i < 16 * TILE_N; i += VW) // what a transpose of a low tile reads besides
        store_acc((vf)(0.0f), lines + i);

    for (long tile = tile_begin; tile < tile_end;) {
        const long plane = tile / image_tiles, row = tile % image_tiles / row_tiles;
        const int n = plane / out_d, od = plane % out_d, oh = row, first = tile % row_tiles;
        // To the end of the row, or of as many rows as fit.
        int count = row_tiles - first;
        if (first == 0 && row_tiles <= block_tiles)
            count = min(min(out_h - oh, staged ? block_rows : out_h), block_tiles / row_tiles) * row_tiles;
        count = (int)min((long)min(count, block_tiles), tile_end - tile);
        const int last = first + count - 1;
        const int begin = last < row_tiles ? (int)((long)out_w * first / row_tiles) : 0;
        const int end = last < row_tiles ? (int)((long)out_w * (last + 1) / row_tiles) : out_w;
        const __global data_t *x = x_base + x_offset + n * x_stride_n + group * channels * x_stride_c;
        const __global acc_t *source = image;
        long row_step = (long)s.step * s.row;
        if (staged)
            stage_block(x, s, (last + row_tiles) / row_tiles, end - begin, od, oh, begin, x_end, image, CONV_ARGS);
#if DATA_BYTES == 4
        if (!staged) {
            source = x + od * stride_d * x_stride_d + oh * stride_h * x_stride_h + begin;
            row_step = stride_h * x_stride_h;
        }
#endif
        __global data_t *y = y_base + y_offset + n * y_stride_n + (long)group * filters * y_stride_c +
                             od * y_stride_d + oh * y_stride_h;

        struct piece pieces[MAX_TILES];
        for (int i = 0, at = first, r = 0; i < count; ++i, ++at) {
            if (at == row_tiles) {
                at = 0;
                ++r;
            }
            const int ow = (long)out_w * at / row_tiles;
            pieces[i].height = (int)((long)out_w * (at + 1) / row_tiles) - ow;
            pieces[i].x = r * row_step + (ow - begin);
            pieces[i].y = r * y_stride_h + ow * y_stride_w;
        }

        const __global acc_t *next = 0;
#if DATA_BYTES == 4
        if (!staged && tile + count < tile_end)
            next = x_base + x_offset + group * channels * x_stride_c +
                   in_place(tile + count, image_tiles, row_tiles, out_w, CONV_ARGS);
#endif
        for (int panel = panel_begin; panel < panel_end; ++panel) {
            const __global acc_t *asking = panel + 1 == panel_end ? next : 0;
            const int first_filter = panel * TILE_N, rows = min(TILE_N, filters - first_filter);
            for (int j = 0; j < TILE_N; ++j)
                bias_line[j] =
                    has_bias && j < rows ? bias_at(bias_base, bias_offset + group * filters + first_filter + j, flags)
                                         : 0.0f;
            int k = 0;
            do {
                const int k_count = min(BLOCK_K, depth - k), is_last = k + k_count == depth;
                for (int i = 0; i < count; ++i) {
                    const int height = pieces[i].height;
                    __global data_t *out = y + pieces[i].y + first_filter * y_stride_c;
                    __global acc_t *sums = lines + (depth > BLOCK_K ? i * TILE_M * TILE_N : 0);
                    multiply(height, source + pieces[i].x, taps + k, w + ((long)panel * depth + k) * TILE_N, k_count,
                             k ? sums : bias_line, k ? TILE_N : 0, sums,
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
        tile += count;
    }
}

// ---- vectors of positions ----

// Filters are cut evenly into as few panels as there can be; where a panel begins.
inline int panel_count(int filters)
{
    return (filters + TILE_M - 1) / TILE_M;
}

inline int panel_start(int filters, int panel)
{
    return (int)((long)filters * panel / panel_count(filters));
}

// weights [groups*filters][depth] -> packed [group][panel][depth][height].
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_direct_rows_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int panel = get_group_id(0), group = get_group_id(1);
    const long taps = (long)kernel_d * kernel_h * kernel_w, depth = channels * taps;
    const int begin = panel_start(filters, panel), height = panel_start(filters, panel + 1) - begin;
    const long first = (long)group * filters + begin;
    const __global data_t *w = w_base + w_offset + first * w_stride_k;
    __global acc_t *packed = packed_base + packed_offset + first * depth;
    if (is_dense(channels, kernel_d, kernel_h, kernel_w, w_stride_c, w_stride_d, w_stride_h, w_stride_w)) {
        for (long k = 0; k < depth; k += VW) {
            const int count = (int)min((long)VW, depth - k);
            for (int v = 0; v < height; v += VW) {
                // A vector may write into the next row, which comes later, but not past the panel.
                const int part = height > VW || (depth - k - VW) * height < VW ? min(VW, height - v) : VW;
                vf lines[VW];
                load_filters(w + v * w_stride_k + k, w_stride_k, height - v, count, lines);
#define STORE_LINE(i) \
    if ((i) < VW && (i) < count) \
        store_acc_part(lines[i], packed + (k + (i)) * height + v, part);
                REPEAT_16(STORE_LINE)
#undef STORE_LINE
            }
        }
        return;
    }
    for (int c = 0; c < channels; ++c)
        for (int d = 0; d < kernel_d; ++d)
            for (int h = 0; h < kernel_h; ++h)
                for (int s = 0; s < kernel_w; ++s, packed += height) {
                    const __global data_t *tap =
                        w + c * w_stride_c + d * w_stride_d + h * w_stride_h + s * w_stride_w;
                    for (int m = 0; m < height; ++m)
                        packed[m] = load_one(tap, m * w_stride_k);
                }
}

// A vector of positions: where it begins in the image and in y, and the lanes that are stored.
struct strip {
    long x, y;
    int low, high;
};

// Lanes low .. high-1 of a vector.
inline void store_lanes(vf v, __global data_t *p, int low, int high)
{
#if defined(HAS_MASKED_LANES) && DATA_BYTES == 4
    const ushort mask = (ushort)((1u << high) - (1u << low));
    __builtin_ia32_storeups512_mask((float *)(ulong)p, __builtin_astype(v, masked_vf), mask);
#elif defined(HAS_MASKED_HALVES)
    const ushort mask = (ushort)((1u << high) - (1u << low));
    __builtin_ia32_storedquhi256_mask((masked_vh *)(ulong)p, __builtin_astype(narrow(v), masked_vh), mask);
#else
    acc_t lanes[VW];
    store_private(v, lanes);
    for (int i = low; i < high; ++i)
        store_one(p, i, lanes[i]);
#endif
}

// y[i] = bias[i] + sum over k of w[k][i] * x[taps[k]]: `height` filters of tiles of `vectors` vectors of positions, as
// many tiles as `count` strips make whole.
#define ROWS_PARAMS \
    const struct strip *strip, int count, const __global acc_t *x, __global data_t *y, const __global int *taps, \
        const __global acc_t *panel, int depth, const acc_t *bias, long y_stride_c, const __global acc_t *ahead, \
        ACT_PARAMS
#define ROWS_ARGS x, y, taps, panel, depth, bias, y_stride_c, ahead, ACT_ARGS
#define BEGIN(i, j) acc[(i) * width + (j)] = (vf)(bias[i]);
#define ACTIVATE_ONE(i, j) acc[(i) * width + (j)] = activate(acc[(i) * width + (j)], ACT_ARGS);
#define STORE_WHOLE(i, j) store_vf(acc[(i) * width + (j)], y##j + (i) * y_stride_c);
#define STORE_SOME(i, j) store_lanes(acc[(i) * width + (j)], y##j + (i) * y_stride_c, strip[j].low, strip[j].high);
#define EACH_IN_ROW(i, STEP) \
    STEP(i, 0) if (width > 1) { STEP(i, 1) }
#define BEGIN_ROW(i) if ((i) < height) { EACH_IN_ROW(i, BEGIN) }
#define ACTIVATE_ROW(i) if ((i) < height) { EACH_IN_ROW(i, ACTIVATE_ONE) }
#define STORE_WHOLE_ROW(i) if ((i) < height) { EACH_IN_ROW(i, STORE_WHOLE) }
#define STORE_SOME_ROW(i) if ((i) < height) { EACH_IN_ROW(i, STORE_SOME) }
#define MULTIPLY_ROW(i) \
    if ((i) < height) { \
        const vf element = (vf)(w[i]); \
        acc[(i) * width] = MAD(element, b0, acc[(i) * width]); \
        if (width > 1) \
            acc[(i) * width + 1] = MAD(element, b1, acc[(i) * width + 1]); \
    }
#define ASK_FIRST(q) PREFETCH_FAR(ahead0 + taps[k + (q)]);
#define ASK_SECOND(q) PREFETCH_FAR(ahead1 + taps[k + (q)]);
#define DEFINE_ROWS(h, v) \
    static __attribute__((noinline)) void rows_##h##_##v(ROWS_PARAMS) \
    { \
        const int height = h, width = v; \
        for (; count >= v; count -= v, strip += v) { \
            const __global acc_t *x0 = x + strip[0].x, *x1 = x + strip[v - 1].x; \
            __global data_t *y0 = y + strip[0].y, *y1 = y + strip[v - 1].y; \
            const __global acc_t *ahead0 = ahead + strip[0].x + VW - 1, *ahead1 = ahead + strip[v - 1].x + VW - 1; \
            const __global acc_t *w = panel; \
            vf acc[16 * 2]; \
            REPEAT_16(BEGIN_ROW) \
            for (int k = 0, asked = 0; k < depth;) { \
                const int end = min(depth, k + ASKED_STEPS); \
                for (int i = 0; k >= depth - ASKED_BEFORE && i < ASKED_LINES && asked < h; ++i, ++asked) { \
                    PREFETCH_WRITE(y0 + asked * y_stride_c + VW - 1); \
                    if (width > 1) \
                        PREFETCH_WRITE(y1 + asked * y_stride_c + VW - 1); \
                } \
                if (ahead && k + ASKED_STEPS <= depth) { \
                    REPEAT_8(ASK_FIRST) \
                    if (width > 1) { \
                        REPEAT_8(ASK_SECOND) \
                    } \
                } \
                for (; k < end; ++k, w += h) { \
                    const vf b0 = load_acc(x0 + taps[k]), b1 = width > 1 ? load_acc(x1 + taps[k]) : b0; \
                    REPEAT_16(MULTIPLY_ROW) \
                } \
            } \
            if (act_kind != ACT_NONE) { \
                REPEAT_16(ACTIVATE_ROW) \
            } \
            if (strip[0].high - strip[0].low == VW && strip[v - 1].high - strip[v - 1].low == VW) { \
                REPEAT_16(STORE_WHOLE_ROW) \
            } else { \
                REPEAT_16(STORE_SOME_ROW) \
            } \
        } \
    }
#define DEFINE_ROWS_1(h) DEFINE_ROWS(h, 1)
#define DEFINE_ROWS_2(h) DEFINE_ROWS(h, 2)
EACH_HEIGHT(DEFINE_ROWS_1)
EACH_HEIGHT(DEFINE_ROWS_2)

inline void multiply_rows(int height, ROWS_PARAMS)
{
    const int odd = count % 2;
    const struct strip *last = strip + count - odd;
#define CASE(h) \
    case h: \
        if (h <= TILE_M) { \
            rows_##h##_2(strip, count, ROWS_ARGS); \
            rows_##h##_1(last, odd, ROWS_ARGS); \
        } \
        break;
    switch (height) {
        EACH_HEIGHT(CASE)
    }
#undef CASE
}

// A block is up to block_tiles vectors of one image: whole rows, or a part of one row; else as husk_conv_direct.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_direct_rows(const __global data_t *restrict x_base, long x_offset,
                           const __global acc_t *restrict w_base, long w_offset,
                           const __global data_t *restrict bias_base, long bias_offset, int flags,
                           __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                           __global acc_t *restrict scratch_base, long scratch_offset, long scratch_item,
                           int block_tiles, int block_rows, int block_columns, int filter_items, SHARES_PARAM,
                           ACT_PARAMS)
{
    ONE_ITEM();
    const int3 place = group_place(shares);
    const int group = place.z, staged = DATA_BYTES == 2 || block_rows > 0, has_bias = flags & HAS_BIAS;
    const long column_items = get_num_groups(0), column_item = place.x, filter_item = place.y;
    const int depth = channels * kernel_d * kernel_h * kernel_w;
    const int row_tiles = (out_w + VW - 1) / VW;
    const long image_tiles = (long)out_h * row_tiles;
    const long tiles = (long)batch * out_d * image_tiles;
    const int panels = panel_count(filters);

    // This item's share.
    const long tile_begin = tiles * column_item / column_items, tile_end = tiles * (column_item + 1) / column_items;
    const int panel_begin = panels * filter_item / filter_items;
    const int panel_end = panels * (filter_item + 1) / filter_items;

    const __global acc_t *w = w_base + w_offset + (long)group * filters * depth;
    __global int *taps = (__global int *)(scratch_base + scratch_offset) +
                         ((group * (long)filter_items + filter_item) * column_items + column_item) * scratch_item;
    __global acc_t *image = (__global acc_t *)taps + (depth + 15) / 16 * 16;

    const struct staging s = staging_of(max(1, block_rows), block_columns, kernel_d, kernel_h, kernel_w, stride_h,
                                        stride_w, dilation_h, dilation_w);
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    write_taps(taps, staged, s, CONV_ARGS);

    for (long tile = tile_begin; tile < tile_end;) {
        const long plane = tile / image_tiles;
        const int n = plane / out_d, od = plane % out_d, oh = tile % image_tiles / row_tiles, first = tile % row_tiles;
        int count = row_tiles - first;
        if (first == 0 && row_tiles <= block_tiles)
            count = min(min(out_h - oh, staged ? block_rows : out_h), block_tiles / row_tiles) * row_tiles;
        count = (int)min((long)min(count, block_tiles), tile_end - tile);
        const int last = first + count - 1;
        // Where a row's last vector is not whole it is moved back over its neighbour: that must be there too.
        const int begin = last < row_tiles ? (last + 1 == row_tiles ? min(first * VW, max(0, out_w - VW)) : first * VW)
                                           : 0;
        const int end = last < row_tiles ? min(out_w, (last + 1) * VW) : out_w;
        const __global data_t *x = x_base + x_offset + n * x_stride_n + group * channels * x_stride_c;
        const __global acc_t *source = image;
        long row_step = (long)s.step * s.row;
        if (staged)
            stage_block(x, s, (last + row_tiles) / row_tiles, end - begin, od, oh, begin, x_end, image, CONV_ARGS);
#if DATA_BYTES == 4
        if (!staged) {
            source = x + od * stride_d * x_stride_d + oh * stride_h * x_stride_h + begin;
            row_step = stride_h * x_stride_h;
        }
#endif
        __global data_t *y = y_base + y_offset + n * y_stride_n + (long)group * filters * y_stride_c +
                             od * y_stride_d + oh * y_stride_h;

        struct strip strips[MAX_TILES];
        for (int i = 0, at = first * VW, r = 0; i < count; ++i, at += VW) {
            if (at >= out_w) {
                at = 0;
                ++r;
            }
            const int back = min(at, max(0, at + VW - out_w));
            strips[i].x = r * row_step + (at - back - begin);
            strips[i].y = r * y_stride_h + (at - back);
            strips[i].low = back;
            strips[i].high = min(VW, out_w - (at - back));
        }

        const __global acc_t *next = 0;
#if DATA_BYTES == 4
        if (!staged && tile + count < tile_end)
            next = x_base + x_offset + group * channels * x_stride_c +
                   in_place(tile + count, image_tiles, row_tiles, row_tiles * VW, CONV_ARGS);
#endif
        for (int panel = panel_begin; panel < panel_end; ++panel) {
            const int first_filter = panel_start(filters, panel);
            const int height = panel_start(filters, panel + 1) - first_filter;
            acc_t start[16];
            for (int m = 0; m < height; ++m)
                start[m] =
                    has_bias ? bias_at(bias_base, bias_offset + group * filters + first_filter + m, flags) : 0.0f;
            multiply_rows(height, strips, count, source, y + first_filter * y_stride_c, taps,
                          w + (long)first_filter * depth, depth, start, y_stride_c,
                          panel + 1 == panel_end ? next : 0, ACT_ARGS);
        }
        tile += count;
    }
}
