// SPDX-License-Identifier: MIT
// Winograd convolution F(m x m, 3x3), m = 2 or 4, stride 1, dilation 1, any padding (arXiv 1509.09308), for CPUs.
//
// The output is cut into m x m tiles. Each needs (m+2) x (m+2) inputs; transformed, its filters become one
// product per point of the tile and channel, instead of 9 m*m/((m+2)*(m+2)): 2.25 times fewer multiplications
// for F(2x2), 4 times for F(4x4). The sums are rounded differently: the largest error over |a||b| grows by
// about 2 for F(2x2) and 10 for F(4x4); see docs/operators.md.
//
// Vectors are channels: of the image while it is transformed, of the output in the products and after. So an
// image of 7x7 keeps all lanes as busy as one of 224x224, and memory with channels last needs no transposing.
//
// One work-item takes a range of tiles (of all images) and of filters. For a block of tiles at a time it
//   1. transforms the input of all channels into scratch, [point][part][vector of channels][tile][VW], where a
//      part is the tiles of one register tile, at most TILE_M;
//   2. for every panel of TILE_N filters, multiplies the points' matrices into scratch, a part at a time
//      (weights come transformed by husk_conv_winograd_pack, [group][panel][point][channel][TILE_N]: a step
//      takes TILE_NV vectors of weights and one element of every tile), and transforms the products back while
//      they are in the cache.
// Rows of scratch that are used together begin an odd number of vectors apart: in different sets of the cache.
// Blocks are small, so that weights, which stream through the cache, do not drive them out.
//
//   VW        4, 8 or 16: floats in a vector
//   TILE_OUT  2 or 4: m
//   TILE_M    1..14: tiles in a register tile
//   TILE_NV   1..2: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#define TILE_A_SPACE __global
#define TILE_B_SPACE __global
#define TILE_PREFETCH_B 64
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"
#include "lib/shares.clh"
#include "lib/winograd.clh"

// Tensors with more elements lie beyond the second-level cache.
#define FAR_ELEMENTS (1 << 18)

// Asks for memory that is needed later, into the second-level cache.
#if defined(__clang__) && (defined(__x86_64__) || defined(__aarch64__))
#define PREFETCH_FAR(p) __builtin_prefetch((const void *)(ulong)(p), 0, 2)
#else
#define PREFETCH_FAR(p)
#endif

// G g and A^T m of the paper, one dimension.
ALWAYS_INLINE void transform_weights(const vf *g, vf *t)
{
#if TILE_OUT == 4
    const vf ends = (g[0] + g[2]) * (-1.0f / 6.0f), middle = g[1] * (-1.0f / 6.0f);
    const vf far = MAD(g[2], (vf)(1.0f / 6.0f), g[0] * (1.0f / 24.0f)), near = g[1] * (1.0f / 12.0f);
    t[0] = g[0] * 0.25f;
    t[1] = ends + middle;
    t[2] = ends - middle;
    t[3] = far + near;
    t[4] = far - near;
    t[5] = g[2];
#else
    const vf ends = (g[0] + g[2]) * 0.5f, middle = g[1] * 0.5f;
    t[0] = g[0];
    t[1] = ends + middle;
    t[2] = ends - middle;
    t[3] = g[2];
#endif
}

ALWAYS_INLINE void transform_output(const vf *m, vf *t)
{
#if TILE_OUT == 4
    const vf a = m[1] + m[2], b = m[1] - m[2], c = m[3] + m[4], d = m[3] - m[4];
    t[0] = m[0] + a + c;
    t[1] = MAD((vf)(2.0f), d, b);
    t[2] = MAD((vf)(4.0f), c, a);
    t[3] = MAD((vf)(8.0f), d, b) + m[5];
#else
    t[0] = m[0] + m[1] + m[2];
    t[1] = m[1] - m[2] - m[3];
#endif
}

// What a filter's width of the last panel is: whole vectors.
inline int panel_vectors(int filters, int panel)
{
    return min(TILE_NV, (filters - panel * TILE_N + VW - 1) / VW);
}

// Elements before a panel of filters: every point of a panel has VW elements more than it needs.
inline long weights_before(int filters, int channels, int panel)
{
    return POINTS * ((long)min(panel * TILE_N, (filters + VW - 1) / VW * VW) * channels + (long)panel * VW);
}

// The taps of `count` channels of `lanes` filters as vectors of filters, [channel][tap][VW].
inline void load_taps(const __global data_t *w, const __global data_t *end, int lanes, int count, long w_stride_k,
                      long w_stride_c, long w_stride_h, long w_stride_w, acc_t *taps)
{
    if (w_stride_w == 1 && w_stride_h == 3 && w_stride_c == 9) {
        transpose_pixels(w, w_stride_k, lanes, 9 * count, end, INT_MAX, 0, taps);
        return;
    }
    for (int c = 0; c < count; ++c)
        for (int i = 0; i < 9; ++i, taps += VW) {
            const __global data_t *from = w + c * w_stride_c + i / 3 * w_stride_h + i % 3 * w_stride_w;
            store_private((vf)(0.0f), taps);
            for (int m = 0; m < lanes; ++m)
                taps[m] = load_one(from, m * w_stride_k);
        }
}

// weights [groups*filters][channels][3][3] -> [group][panel][point][channel][width of the panel].
// A work-item takes some channels of a panel.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_winograd_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int panels = (filters + TILE_N - 1) / TILE_N;
    const int panel = get_group_id(0), group = get_group_id(1);
    const int vectors = panel_vectors(filters, panel);
    const int channel_vectors = (channels + VW - 1) / VW;
    const int begin = (int)((long)channel_vectors * get_group_id(2) / get_num_groups(2)) * VW;
    const int end = min(channels, (int)((long)channel_vectors * (get_group_id(2) + 1) / get_num_groups(2)) * VW);
    const long point_stride = (long)channels * vectors * VW + VW;
    const __global data_t *w = w_base + w_offset + ((long)group * filters + (long)panel * TILE_N) * w_stride_k;
    // Past the last element: behind it, where filters lie further apart, there may be no memory.
    const __global data_t *w_end = w_base + w_offset + ((long)get_num_groups(1) * filters - 1) * w_stride_k +
                                   (channels - 1) * w_stride_c + 2 * w_stride_h + 2 * w_stride_w + 1;
    __global acc_t *packed = packed_base + packed_offset +
                              group * weights_before(filters, channels, panels) +
                              weights_before(filters, channels, panel);
    acc_t taps[TILE_NV * 9 * VW * VW];
    for (int first = begin; first < end; first += VW) {
        const int count = min(VW, end - first);
        for (int v = 0; v < vectors; ++v)
            load_taps(w + v * VW * w_stride_k + first * w_stride_c, w_end,
                      min(VW, filters - panel * TILE_N - v * VW), count, w_stride_k, w_stride_c, w_stride_h,
                      w_stride_w, taps + v * 9 * VW * VW);
        for (int c = 0; c < count; ++c)
            for (int v = 0; v < vectors; ++v) {
                const acc_t *from = taps + (v * VW + c) * 9 * VW;
                __global acc_t *to = packed + ((first + c) * vectors + v) * VW;
                vf half_way[3 * TILE_IN];
                for (int j = 0; j < 3; ++j) {
                    const vf filter[3] = {load_private(from + j * VW), load_private(from + (3 + j) * VW),
                                          load_private(from + (6 + j) * VW)};
                    vf t[TILE_IN];
                    transform_weights(filter, t);
#define KEEP(i) half_way[(i) * 3 + j] = t[i];
                    EACH_IN(KEEP)
#undef KEEP
                }
                for (int i = 0; i < TILE_IN; ++i) {
                    vf t[TILE_IN];
                    transform_weights(half_way + i * 3, t);
#define GIVE(j) store_acc(t[j], to + (i * TILE_IN + (j)) * point_stride);
                    EACH_IN(GIVE)
#undef GIVE
                }
            }
    }
}

// One point of a part of a block: inputs [channel vector][rows][VW] times weights [channel][vectors*VW].
ALWAYS_INLINE void multiply_part(const __global acc_t *v, const __global acc_t *w, int channels, int rows,
                                 int vectors, __global acc_t *out)
{
    vf acc[TILE_M * TILE_NV];
    tile_zero(acc, rows, vectors);
    for (int c = 0; c < channels; c += VW) {
        tile_multiply(acc, rows, vectors, v, VW, 1, w, vectors * VW, min(VW, channels - c));
        v += rows * VW;
        w += vectors * VW * VW;
    }
#define KEEP(i, j) store_acc(acc[(i) * vectors + (j)], out + (i) * TILE_N + (j) * VW);
#define KEEP_ROW(i) \
    if ((i) < rows) { \
        TILE_ROW_EACH(i, vectors, KEEP) \
    }
    REPEAT_16(KEEP_ROW)
#undef KEEP_ROW
#undef KEEP
}

// Every number of rows is code of its own.
#define PART_OF(rows, vectors) \
    case rows: \
        multiply_part(v, w, channels, (rows) <= TILE_M ? (rows) : 1, vectors, out); \
        break;
#if TILE_M > 12
#define EACH_PART(vectors) \
    PART_OF(1, vectors) PART_OF(2, vectors) PART_OF(3, vectors) PART_OF(4, vectors) PART_OF(5, vectors) \
    PART_OF(6, vectors) PART_OF(7, vectors) PART_OF(8, vectors) PART_OF(9, vectors) PART_OF(10, vectors) \
    PART_OF(11, vectors) PART_OF(12, vectors) PART_OF(13, vectors) PART_OF(14, vectors)
#elif TILE_M > 6
#define EACH_PART(vectors) \
    PART_OF(1, vectors) PART_OF(2, vectors) PART_OF(3, vectors) PART_OF(4, vectors) PART_OF(5, vectors) \
    PART_OF(6, vectors) PART_OF(7, vectors) PART_OF(8, vectors) PART_OF(9, vectors) PART_OF(10, vectors) \
    PART_OF(11, vectors) PART_OF(12, vectors)
#else
#define EACH_PART(vectors) \
    PART_OF(1, vectors) PART_OF(2, vectors) PART_OF(3, vectors) PART_OF(4, vectors) PART_OF(5, vectors) \
    PART_OF(6, vectors)
#endif

inline void multiply(const __global acc_t *v, const __global acc_t *w, int channels, int rows,
                     __global acc_t *out)
{
    switch (rows) {
        EACH_PART(TILE_NV)
    }
}

inline void multiply_narrow(const __global acc_t *v, const __global acc_t *w, int channels, int rows,
                            __global acc_t *out)
{
    switch (rows) {
        EACH_PART(1)
    }
}

// The points of one tile and VW filters to TILE_OUT rows of TILE_OUT outputs, in rows VW outputs apart.
ALWAYS_INLINE void back_column(const __global acc_t *points, long row_stride, vf *half_way)
{
    vf m[TILE_IN], t[TILE_OUT];
#define TAKE(i) m[i] = load_acc(points + (i) * row_stride);
    EACH_IN(TAKE)
#undef TAKE
    transform_output(m, t);
#define GIVE(i) half_way[(i) * TILE_IN] = t[i];
    EACH_OUT(GIVE)
#undef GIVE
}

ALWAYS_INLINE void back_row(const vf *half_way, vf bias, acc_t *line, ACT_PARAMS)
{
    vf t[TILE_OUT];
    transform_output(half_way, t);
#define FINISH(j) store_private(activate(t[j] + bias, ACT_ARGS), line + (j) * VW);
    EACH_OUT(FINISH)
#undef FINISH
}

ALWAYS_INLINE void transform_back(const __global acc_t *points, long point_stride, vf bias, acc_t *lines,
                                  ACT_PARAMS)
{
    vf half_way[TILE_OUT * TILE_IN];
#define COLUMN(j) back_column(points + (j) * point_stride, TILE_IN * point_stride, half_way + (j));
    EACH_IN(COLUMN)
#undef COLUMN
#define ROW(i) back_row(half_way + (i) * TILE_IN, bias, lines + (i) * VW * VW, ACT_ARGS);
    EACH_OUT(ROW)
#undef ROW
}

// A row of at most VW outputs of `lanes` filters to its place in y.
ALWAYS_INLINE void store_outputs(const acc_t *line, int length, int lanes, __global data_t *out,
                                 long y_stride_c, long y_stride_w, int y_units)
{
    if (y_stride_w == Y_UNITS) {
        vf rows[VW];
#define TAKE(i) \
    if ((i) < VW) \
        rows[(i) % VW] = load_private(line + (i) % VW * VW);
        REPEAT_16(TAKE)
#undef TAKE
        transpose_vf(rows);
        if (lanes == VW && length == VW) {
#define GIVE(i) \
    if ((i) < VW) \
        store_vf_either(rows[(i) % VW], out + (i) * y_stride_c, VW, Y_UNITS);
            REPEAT_16(GIVE)
#undef GIVE
        } else {
#define GIVE(i) \
    if ((i) < VW && (i) < lanes) \
        store_vf_either(rows[(i) % VW], out + (i) * y_stride_c, length, Y_UNITS);
            REPEAT_16(GIVE)
#undef GIVE
        }
        return;
    }
    for (int j = 0; j < length; ++j, out += y_stride_w, line += VW) {
        if (y_stride_c == Y_UNITS) {
            store_vf_either(load_private(line), out, lanes, Y_UNITS);
        } else {
            for (int i = 0; i < lanes; ++i)
                store_either(out + i * y_stride_c, line[i], Y_UNITS);
        }
    }
}

#define LINE (64 / DATA_BYTES)

// `rows` rows of `length` neighbouring elements, by lines of 64 bytes.
inline void ask_for_rows(const __global data_t *from, int rows, int length, long stride)
{
    for (int i = 0; i < rows; ++i, from += stride)
        for (int j = 0; j < length + LINE - 1; j += LINE)
            PREFETCH_FAR(from + min(j, length - 1));
}

// Where one filter's outputs of a block will go.
inline void ask_for_outputs(const __global data_t *y, long at, int count, int tiles_h, int tiles_w, int out_h,
                            int out_w, long y_stride_n, long y_stride_h, int y_units)
{
    while (count > 0) {
        const int image = at / tiles_w / tiles_h, tile_column = at % tiles_w;
        const int row = at / tiles_w % tiles_h * TILE_OUT, column = tile_column * TILE_OUT;
        const int length = min(tiles_w - tile_column, count);
        ask_for_rows(y + image * y_stride_n + row * y_stride_h + column * Y_UNITS, min(TILE_OUT, out_h - row),
                     min(length * TILE_OUT, out_w - column) * Y_UNITS, y_stride_h);
        at += length;
        count -= length;
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_winograd(const __global data_t *restrict x_base, long x_offset,
                        const __global acc_t *restrict w_base, long w_offset,
                        const __global data_t *restrict bias_base, long bias_offset, int flags,
                        __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                        __global acc_t *restrict scratch_base, long scratch_offset, long item_room,
                        int block_tiles, SHARES_PARAM, ACT_PARAMS)
{
    ONE_ITEM();
    CONV_UNITS
    const int3 place = group_place(shares);
    const int group = place.z;
    const int tiles_h = (out_h + TILE_OUT - 1) / TILE_OUT, tiles_w = (out_w + TILE_OUT - 1) / TILE_OUT;
    const long tiles = (long)batch * tiles_h * tiles_w;
    const int panels = (filters + TILE_N - 1) / TILE_N;

    // This item's share, and its piece of scratch.
    const long items = get_num_groups(0), item = place.x;
    const int filter_items = get_num_groups(1), filter_item = place.y;
    const long item_begin = tiles * item / items, item_end = tiles * (item + 1) / items;
    const int panel_begin = panels * filter_item / filter_items;
    const int panel_end = panels * (filter_item + 1) / filter_items;
    const int channel_room = (channels + VW - 1) / VW * VW;
    __global acc_t *scratch =
        scratch_base + scratch_offset + ((group * filter_items + filter_item) * items + item) * item_room;

    const __global data_t *x = x_base + x_offset + (long)group * channels * x_stride_c;
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_h - 1) * x_stride_h +
                                   (in_w - 1) * x_stride_w + 1;
    const __global acc_t *w = w_base + w_offset + group * weights_before(filters, channels, panels);
    const __global data_t *bias = bias_base + bias_offset + group * filters * bias_units;
    __global data_t *y = y_base + y_offset + (long)group * filters * y_stride_c;

    acc_t pixels[REGION_ROOM * VW];
    acc_t lines[TILE_OUT * VW * VW];
    for (int i = 0; i < TILE_OUT * VW; ++i)
        store_private((vf)(0.0f), lines + i * VW);

    // What is larger than a second-level cache is asked for while the products are made.
    const int asks_for_x = x_stride_w == 1 && (long)batch * channels * in_h * in_w > FAR_ELEMENTS;
    const int asks_for_y = y_stride_w == y_units && (long)batch * filters * out_h * out_w > FAR_ELEMENTS;
    const int blocks = (int)((item_end - item_begin + block_tiles - 1) / block_tiles);
    for (int block = 0; block < blocks; ++block) {
        const long block_begin = item_begin + (item_end - item_begin) * block / blocks;
        const int count = (int)(item_begin + (item_end - item_begin) * (block + 1) / blocks - block_begin);
        const int parts = (count + TILE_M - 1) / TILE_M;
        const long point_stride = ((long)count * channel_room / VW | 1) * VW;
        const long product_stride = ((long)count * TILE_NV | 1) * VW;
        __global acc_t *products = scratch + POINTS * point_stride;

        struct region r;
        for (int done = 0; done < count; done += r.count) {
            r = next_region(block_begin + done, done, count - done, tiles_h, tiles_w);
            const int first_row = r.row * TILE_OUT - pad_h, first_column = r.column * TILE_OUT - pad_w;
            for (int c = 0; c < channels; c += VW) {
                load_pixels(x + r.image * x_stride_n + c * x_stride_c, x_end, min(VW, channels - c),
                            first_row, first_column, r.rows * TILE_OUT + 2, r.columns * TILE_OUT + 2, in_h,
                            in_w, x_stride_c, x_stride_h, x_stride_w, pixels);
                transform_region(TILE_IN, pixels, r, count, parts, channel_room, c / VW, 1, scratch, point_stride);
            }
        }

        // The next block's first region.
        const __global data_t *next_x = x;
        int next_rows = 0, next_columns = 0;
        if (asks_for_x && block + 1 < blocks) {
            r = next_region(block_begin + count, 0, count, tiles_h, tiles_w);
            const int row = max(r.row * TILE_OUT - pad_h, 0), column = max(r.column * TILE_OUT - pad_w, 0);
            next_x += r.image * x_stride_n + row * x_stride_h + column;
            next_rows = min(r.rows * TILE_OUT + 2, in_h - row);
            next_columns = min(r.columns * TILE_OUT + 2, in_w - column);
        }

        for (int panel = panel_begin; panel < panel_end; ++panel) {
            const int vectors = panel_vectors(filters, panel);
            const int panel_first = panel * TILE_N, width = min(TILE_N, filters - panel_first);
            const __global acc_t *w_panel = w + weights_before(filters, channels, panel);
            const long w_stride = (long)channels * vectors * VW + VW;
            for (int i = 0; i < POINTS; ++i) {
                // This panel's outputs and the next block's inputs, a share at every point.
                const int filter_end = asks_for_y ? panel_first + width * (i + 1) / POINTS : 0;
                for (int f = panel_first + width * i / POINTS; f < filter_end; ++f)
                    ask_for_outputs(y + f * y_stride_c, block_begin, count, tiles_h, tiles_w, out_h, out_w,
                                    y_stride_n, y_stride_h, y_units);
                const long step = (long)(panel - panel_begin) * POINTS + i;
                const long steps = (long)(panel_end - panel_begin) * POINTS;
                const int channel_end = next_rows > 0 ? (int)(channels * (step + 1) / steps) : 0;
                for (int c = channels * step / steps; c < channel_end; ++c)
                    ask_for_rows(next_x + c * x_stride_c, next_rows, next_columns, x_stride_h);
                for (int part = 0, begin = 0; part < parts; ++part) {
                    const int rows = count / parts + (part < count % parts);
                    const __global acc_t *v = scratch + i * point_stride + (long)begin * channel_room;
                    __global acc_t *out = products + i * product_stride + begin * TILE_N;
                    if (vectors == TILE_NV)
                        multiply(v, w_panel + i * w_stride, channels, rows, out);
                    else
                        multiply_narrow(v, w_panel + i * w_stride, channels, rows, out);
                    begin += rows;
                }
            }
            for (int vector = 0; vector < vectors; ++vector) {
                const int filter = panel * TILE_N + vector * VW;
                const int lanes = min(VW, filters - filter);
                const vf start = load_vf_either(bias + filter * bias_units, has_bias ? lanes : 0, bias_units);
                for (int done = 0; done < count;) {
                    const long at = block_begin + done;
                    const int image = at / tiles_w / tiles_h, tile_column = at % tiles_w;
                    const int row = at / tiles_w % tiles_h * TILE_OUT, column = tile_column * TILE_OUT;
                    // Vectors begin at multiples of VW columns: where rows are aligned, so are stores.
                    const int room = VW / TILE_OUT - tile_column % (VW / TILE_OUT);
                    const int length = min(min(room, tiles_w - tile_column), count - done);
                    const int columns = min(length * TILE_OUT, out_w - column);
                    __global data_t *out = y + image * y_stride_n + filter * y_stride_c + row * y_stride_h +
                                           column * y_stride_w;
                    for (int t = 0; t < length; ++t)
                        transform_back(products + (done + t) * TILE_N + vector * VW, product_stride, start,
                                       lines + t * TILE_OUT * VW, ACT_ARGS);
                    for (int i = 0; i < min(TILE_OUT, out_h - row); ++i)
                        store_outputs(lines + i * VW * VW, columns, lanes, out + i * y_stride_h, y_stride_c,
                                      y_stride_w, y_units);
                    done += length;
                }
            }
        }
    }
}
