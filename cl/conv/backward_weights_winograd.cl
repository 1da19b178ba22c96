// SPDX-License-Identifier: MIT
// The gradient of 3x3 convolution by its weights, stride 1 and dilation 1, by Winograd's F(3x3, m x m), m = TILE_OUT
// (arXiv 1509.09308), for CPUs: dy takes the place of the filter, and the filter's gradient that of the output.
//
//   dw[k][c] = A^T [ sum over tiles of (G dy[k] G^T) . (B^T x[c] B) ] A
//
// dy is cut into m x m tiles, whose m+2 x m+2 pixels of x overlap. Points are those of the forward convolution, so B
// is the same, and a tile costs one product a point instead of 9 m*m/((m+2)*(m+2)). The sum over all tiles is taken
// between the transforms: a matrix product [channels][filters] a point, whose depth is the number of tiles.
//
// A work-item takes slices of the tiles of all images and some filters of a group. For a block of tiles at a time it
//   1. transforms the inputs of all channels, [point][vector of channels][tile][VW], and the gradients of its filters,
//      [point][panel][tile][TILE_N], into scratch;
//   2. for every panel of filters and BLOCK_VECTORS vectors of channels, multiplies all points into private memory,
//      which the second-level cache holds, transforms them back, and adds the 3x3 sums to `sums`, [slice][group][panel]
//      [channel][tap][TILE_N]; or writes them to dw, if it has all there is.
// Slices and blocks are made by the shape alone, so sums have one order however many work-items there are.
// Expected, for 64 channels and filters: 36 products of 16 tiles' 144, and transforms a fifth of them.
//
//   VW        4, 8 or 16: floats in a vector
//   TILE_OUT  2 or 4: m
//   TILE_M    divides VW: channels in a register tile
//   TILE_NV   1..3: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#define TILE_A_SPACE __global
#define TILE_B_SPACE __global
#include "lib/tile.clh"
#include "lib/convolution.clh"
#include "lib/winograd.clh"
#include "lib/filter_gradient.clh"

#if VW % TILE_M != 0
#error "TILE_M must divide VW"
#endif

#define BLOCK_VECTORS 4
#define BLOCK_CHANNELS (BLOCK_VECTORS * VW)
// An odd number of vectors: points of one channel lie in different sets of the cache.
#define PRODUCTS (BLOCK_CHANNELS * TILE_N + VW)

// One dimension of A^T m: TILE_IN points to three taps.
ALWAYS_INLINE void transform_filter(const vf *m, vf *t)
{
    const vf a = m[1] + m[2], b = m[1] - m[2];
#if TILE_OUT == 4
    const vf c = m[3] + m[4], d = m[3] - m[4];
    t[0] = m[0] + a + c;
    t[1] = MAD((vf)(2.0f), d, b);
    t[2] = MAD((vf)(4.0f), c, a) + m[5];
#else
    t[0] = m[0] + a;
    t[1] = b;
    t[2] = a - m[3];
#endif
}

ALWAYS_INLINE void back_column(const acc_t *products, vf *half_way)
{
    vf m[TILE_IN], t[3];
#define TAKE(i) m[i] = load_private(products + (i) * TILE_IN * PRODUCTS);
    EACH_IN(TAKE)
#undef TAKE
    transform_filter(m, t);
    half_way[0] = t[0];
    half_way[TILE_IN] = t[1];
    half_way[2 * TILE_IN] = t[2];
}

ALWAYS_INLINE void back_row(const vf *half_way, acc_t *taps)
{
    vf t[3];
    transform_filter(half_way, t);
    store_private(t[0], taps);
    store_private(t[1], taps + TILE_N);
    store_private(t[2], taps + 2 * TILE_N);
}

// The points of a channel and VW filters to nine taps, TILE_N elements apart.
ALWAYS_INLINE void transform_back(const acc_t *products, acc_t *taps)
{
    vf half_way[3 * TILE_IN];
#define COLUMN(j) back_column(products + (j) * PRODUCTS, half_way + (j));
    EACH_IN(COLUMN)
#undef COLUMN
    back_row(half_way, taps);
    back_row(half_way + TILE_IN, taps + 3 * TILE_N);
    back_row(half_way + 2 * TILE_IN, taps + 6 * TILE_N);
}

// TILE_M channels, VW elements apart from tile to tile, times `vectors` vectors of filters, a literal.
ALWAYS_INLINE void multiply_tile(const __global acc_t *x, const __global acc_t *dy, int tiles, int vectors, acc_t *out)
{
    vf acc[TILE_M * TILE_NV];
    tile_zero(acc, TILE_M, vectors);
    tile_multiply(acc, TILE_M, vectors, x, 1, VW, dy, vectors * VW, tiles);
#define KEEP(i, j) store_private(acc[(i) * vectors + (j)], out + (i) * TILE_N + (j) * VW);
#define KEEP_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, vectors, KEEP) \
    }
    REPEAT_16(KEEP_ROW)
#undef KEEP_ROW
#undef KEEP
}

// One point of some channels and a panel of filters.
ALWAYS_INLINE void multiply_channels(const __global acc_t *x, const __global acc_t *dy, int channels, int tiles,
                                     int vectors, acc_t *out)
{
    for (int c = 0; c < channels; c += TILE_M, out += TILE_M * TILE_N)
        multiply_tile(x + c / VW * tiles * VW + c % VW, dy, tiles, vectors, out);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_winograd(const __global data_t *restrict x_base, long x_offset,
                                         const __global data_t *restrict dy_base, long dy_offset,
                                         __global acc_t *restrict scratch_base, long scratch_offset,
                                         __global acc_t *restrict sums_base, long sums_offset,
                                         __global data_t *restrict dw_base, long dw_offset, CONV_PARAMS,
                                         long item_room, int slices, int block_tiles, int filter_items,
                                         int panel_rows, int writes_dw, W_STRIDES_PARAMS)
{
    ONE_ITEM();
    W_UNITS
    const int group = get_group_id(1) / filter_items, filter_item = get_group_id(1) % filter_items;
    const int tiles_h = (out_h + TILE_OUT - 1) / TILE_OUT, tiles_w = (out_w + TILE_OUT - 1) / TILE_OUT;
    const long tiles = (long)batch * tiles_h * tiles_w;
    const long items = get_num_groups(0), item = get_group_id(0);

    const int panels = (filters + TILE_N - 1) / TILE_N;
    const int panel_begin = panels * filter_item / filter_items, panel_end = panels * (filter_item + 1) / filter_items;
    const int first_vector = panel_begin * TILE_NV, last_vector = min(panel_end * TILE_NV, (filters + VW - 1) / VW);
    const int channel_vectors = (channels + VW - 1) / VW;

    const __global data_t *x = x_base + x_offset + (long)group * channels * x_stride_c;
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_h - 1) * x_stride_h +
                                   (in_w - 1) * x_stride_w + 1;
    const __global data_t *dy = dy_base + dy_offset + (long)group * filters * y_stride_c;
    const __global data_t *dy_end = dy_base + dy_offset + (batch - 1) * y_stride_n +
                                    (groups * filters - 1) * y_stride_c + (out_h - 1) * y_stride_h +
                                    (out_w - 1) * y_stride_w + 1;
    __global data_t *dw = dw_base + dw_offset + (long)group * filters * w_stride_k;
    __global acc_t *x_points = scratch_base + scratch_offset +
                               (item * get_num_groups(1) + get_group_id(1)) * item_room;
    const int w_is_flat = w_stride_w == w_units && w_stride_h == 3 * w_units &&
                          (w_stride_c == 9 * w_units || channels == 1);

    acc_t pixels[REGION_ROOM * VW];
    acc_t products[POINTS * PRODUCTS];
    acc_t taps[9 * VW * TILE_N];
    for (int i = 0; i < 9 * VW * TILE_N; i += VW)
        store_private((vf)(0.0f), taps + i);

    for (int slice = (int)(slices * item / items); slice < (int)(slices * (item + 1) / items); ++slice) {
        const long begin = tiles * slice / slices, end = tiles * (slice + 1) / slices;
        __global acc_t *own_sums =
            sums_base + sums_offset + ((long)slice * groups + group) * panels * panel_rows * TILE_N;
        const int blocks = (int)((end - begin + block_tiles - 1) / block_tiles);
        for (int block = 0; block < blocks; ++block) {
            const long block_begin = begin + (end - begin) * block / blocks;
            const int count = (int)(begin + (end - begin) * (block + 1) / blocks - block_begin);
            const long x_point = ((long)count * channel_vectors | 1) * VW;
            const long dy_point = ((long)count * (last_vector - first_vector) | 1) * VW;
            __global acc_t *dy_points = x_points + POINTS * x_point;

            struct region r;
            for (int done = 0; done < count; done += r.count) {
                r = next_region(block_begin + done, done, count - done, tiles_h, tiles_w);
                const int row = r.row * TILE_OUT, column = r.column * TILE_OUT;
                for (int c = 0; c < channels; c += VW) {
                    load_pixels(x + r.image * x_stride_n + c * x_stride_c, x_end, min(VW, channels - c), row - pad_h,
                                column - pad_w, r.rows * TILE_OUT + 2, r.columns * TILE_OUT + 2, in_h, in_w, x_stride_c,
                                x_stride_h, x_stride_w, pixels);
                    transform_region(TILE_IN, pixels, r, count, 1, 0, c / VW, 1, x_points, x_point);
                }
                for (int v = first_vector; v < last_vector; ++v) {
                    const int panel = v / TILE_NV * TILE_NV, vectors = min(TILE_NV, last_vector - panel);
                    load_pixels(dy + r.image * y_stride_n + v * VW * y_stride_c, dy_end, min(VW, filters - v * VW), row,
                                column, r.rows * TILE_OUT, r.columns * TILE_OUT, out_h, out_w, y_stride_c, y_stride_h,
                                y_stride_w, pixels);
                    transform_region(TILE_OUT, pixels, r, count, 1, 0, 0, vectors,
                                     dy_points + ((long)(panel - first_vector) * count + v - panel) * VW, dy_point);
                }
            }

            const int gives_dw = writes_dw && block + 1 == blocks;
            for (int panel = panel_begin; panel < panel_end; ++panel) {
                const int vectors = min(TILE_NV, last_vector - panel * TILE_NV);
                const __global acc_t *panel_points = dy_points + (long)(panel * TILE_NV - first_vector) * count * VW;
                for (int first = 0; first < channels; first += BLOCK_CHANNELS) {
                    const int here = min(BLOCK_CHANNELS, channels - first);
                    const __global acc_t *channel_points = x_points + (long)first * count;
                    for (int i = 0; i < POINTS; ++i) {
                        const __global acc_t *a = channel_points + i * x_point, *b = panel_points + i * dy_point;
                        acc_t *out = products + i * PRODUCTS;
                        if (vectors == TILE_NV)
                            multiply_channels(a, b, here, count, TILE_NV, out);
                        else if (vectors == 1)
                            multiply_channels(a, b, here, count, 1, out);
                        else
                            multiply_channels(a, b, here, count, TILE_NV > 2 ? 2 : 1, out);
                    }
                    for (int c = first; c < first + here; c += VW) {
                        const int rows = min(VW, first + here - c) * 9;
                        __global acc_t *sums = own_sums + ((long)panel * panel_rows + c * 9) * TILE_N;
                        for (int i = 0; i < rows / 9; ++i)
                            for (int v = 0; v < vectors * VW; v += VW)
                                transform_back(products + (c - first + i) * TILE_N + v, taps + i * 9 * TILE_N + v);
                        if (block > 0)
                            for (int i = 0; i < rows * TILE_N; i += VW)
                                store_private(load_private(taps + i) + load_acc(sums + i), taps + i);
                        if (!gives_dw) {
                            for (int i = 0; i < rows * TILE_N; i += VW)
                                store_acc(load_private(taps + i), sums + i);
                            continue;
                        }
                        for (int v = 0; v < vectors; ++v) {
                            const int filter = panel * TILE_N + v * VW;
                            for (int i = 0; i < rows; i += VW)
                                write_block(taps + i * TILE_N + v * VW, TILE_N, dw + filter * w_stride_k, c * 9 + i,
                                            min(VW, rows - i), min(VW, filters - filter), w_is_flat, 1, 3, 3,
                                                W_STRIDES);
                        }
                    }
                }
                // The second kernel reads whole tiles of its own.
                if (!gives_dw && block == 0) {
                    __global acc_t *sums = own_sums + (long)panel * panel_rows * TILE_N;
                    for (int i = channels * 9 * TILE_N; i < panel_rows * TILE_N; i += VW)
                        store_acc((vf)(0.0f), sums + i);
                }
            }
        }
    }
}
