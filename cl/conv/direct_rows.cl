// SPDX-License-Identifier: MIT
// Convolution without a matrix of patches, for CPUs, with vectors of positions (lib/direct.clh): one work-item is a
// work-group. A tile is two vectors of VW positions, each anywhere in the block, times a panel of up to TILE_M filters,
// a broadcast each; filters are cut evenly into panels of any height. A row's last vector is moved back until it is
// whole. Stores are vectors of neighbours; starting and storing a tile takes some 80 cycles a vector. For large images,
// first layers and few filters.
//
//   VW       4, 8 or 16: floats in a vector
//   TILE_M   4..14: filters in a register tile
#include "lib/direct.clh"

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
    const int depth = channels * kernel_d * kernel_h * kernel_w, staged = DATA_BYTES == 2 || block_rows > 0;
    const int row_tiles = (out_w + VW - 1) / VW, has_bias = flags & HAS_BIAS;
    const long image_tiles = (long)out_h * row_tiles;
    const struct part own = find_part((long)batch * out_d * image_tiles, panel_count(filters), filter_items, shares);
    const int group = own.group;

    const __global acc_t *w = w_base + w_offset + (long)group * filters * depth;
    __global int *taps = (__global int *)(scratch_base + scratch_offset) + own.number * scratch_item;
    __global acc_t *image = (__global acc_t *)taps + (depth + 15) / 16 * 16;

    const struct staging s = staging_of(max(1, block_rows), block_columns, kernel_d, kernel_h, kernel_w, stride_h,
                                        stride_w, dilation_h, dilation_w);
    const __global data_t *x = x_base + x_offset + group * channels * x_stride_c;
    const __global data_t *x_end = end_of_x(x_base + x_offset, CONV_ARGS);
    write_taps(taps, 0, kernel_h, staged, s, CONV_ARGS);

    for (long tile = own.tile_begin; tile < own.tile_end;) {
        const int most_rows = staged ? block_rows : out_h;
        struct block b = find_block(tile, own.tile_end, row_tiles, block_tiles, most_rows, out_d, out_h);
        const int first = b.first, count = b.count, last = first + count - 1;
        // Where a row's last vector is not whole it is moved back over its neighbour: that must be there too.
        const int whole = last + 1 == row_tiles ? min(first * VW, max(0, out_w - VW)) : first * VW;
        b.begin = last < row_tiles ? whole : 0;
        b.end = last < row_tiles ? min(out_w, (last + 1) * VW) : out_w;
        long row_step;
        const __global acc_t *source = find_image(&b, x, x_end, staged, s, row_tiles, image, &row_step, CONV_ARGS);
        __global data_t *y = y_base + y_offset + b.n * y_stride_n + (long)group * filters * y_stride_c +
                             b.od * y_stride_d + b.oh * y_stride_h;

        struct strip strips[MAX_TILES];
        for (int i = 0, at = first * VW, r = 0; i < count; ++i, at += VW) {
            if (at >= out_w) {
                at = 0;
                ++r;
            }
            const int back = min(at, max(0, at + VW - out_w));
            strips[i].x = r * row_step + (at - back - b.begin);
            strips[i].y = r * y_stride_h + (at - back);
            strips[i].low = back;
            strips[i].high = min(VW, out_w - (at - back));
        }

        const __global acc_t *next = 0;
#if DATA_BYTES == 4
        if (!staged && tile + count < own.tile_end)
            next = x + in_place(tile + count, image_tiles, row_tiles, row_tiles * VW, CONV_ARGS);
#endif
        for (int panel = own.panel_begin; panel < own.panel_end; ++panel) {
            const int first_filter = panel_start(filters, panel);
            const int height = panel_start(filters, panel + 1) - first_filter;
            acc_t start[16];
            for (int m = 0; m < height; ++m)
                start[m] =
                    has_bias ? bias_at(bias_base, bias_offset + group * filters + first_filter + m, flags) : 0.0f;
            multiply_rows(height, strips, count, source, y + first_filter * y_stride_c, taps,
                          w + (long)first_filter * depth, depth, start, y_stride_c,
                          panel + 1 == own.panel_end ? next : 0, ACT_ARGS);
        }
        tile += count;
    }
}
