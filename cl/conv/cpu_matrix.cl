// SPDX-License-Identifier: MIT
// Convolution by a CPU's matrix engine (lib/amx.clh): 32 filters by 32 positions of y at a time, in two launches.
//
// The first copies x, once, into an image of bf16 (of f32 in parts) whose pixels a tile instruction reads where they
// lie: zeros around it, a stride's phases apart, so that pixels under one tap of neighbouring positions are neighbours.
// Positions are counted through the whole image, those past the end of a row of y, of which there are kernel - 1, too:
// then tap and position only add up to a pixel. Their sums are not stored. So a patch is never copied for each tap, as
// in implicit GEMM.
//
// The second multiplies. A work-item is a work-group and owns some positions and some filters of a group; it takes the
// packed weights of 32 filters after the other through a strip of positions. Where K takes several blocks, sums wait in
// scratch memory, tile by tile.
//
// K is made of taps, and of each tap's channels, tiles of 32, the last filled up with zeros. Where channels are few, so
// that this would waste much, a pixel is a position's whole row of the filter, taps and channels together (is_folded).
//
// Which side of the product the positions are follows from where x's neighbours lie:
//
//   -DPOSITIONS_A   rows of A: channels lie side by side (NHWC), and so in the image: [pixel][tile][part][32]
//   else            columns of B: positions lie side by side (NCHW): [tile][part][pair of channels][pixel]
//
//   -DPRODUCT_...            what is multiplied: see lib/amx.clh
//   -DBLOCK_TILES=...        most tiles of K in a block
//   -DACT_SMOOTH             with the transcendental activations, see lib/activation.clh
#ifndef BLOCK_TILES
#error "BLOCK_TILES, most tiles of K in a block, is not set: the host passes it"
#endif

#define TILE_M 16
#define TILE_NV (16 / VW)
#include "lib/amx.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"
#include "lib/shares.clh"

#define MOST_POSITIONS 1024 // of a strip
#define HALVES_OF_LINE 32   // 32 elements of a part

inline int up_to(int count, int multiple)
{
    return (count + multiple - 1) / multiple * multiple;
}

// The host decides likewise (src/ops/conv/cpu_matrix.c).
inline int is_folded(int channels, int kernel_w)
{
    return 2 * up_to(kernel_w * channels, AMX_STEPS) <= kernel_w * up_to(channels, AMX_STEPS);
}

// The image. Of each dimension of space: phases, and pixels of one of them.
struct grid {
    int folded, length, tiles; // elements of a pixel, tiles of 32
    int phases_d, phases_h, phases_w, depth, height, width;
    long phase; // pixels of a phase, all images
    // In halves of words: to the next pixel, to the next tile of K, to the low parts, from a tile's row to the next.
    long pixel, tile, low, row;
    long group; // of a group's image
};

inline void set_grid(struct grid *g, int channels, int batch, int out_d, int out_h, int out_w, int kernel_d,
                     int kernel_h, int kernel_w, int stride_d, int stride_h, int stride_w, int dilation_d,
                     int dilation_h, int dilation_w, long pixels)
{
    const int reach_d = (kernel_d - 1) * dilation_d, reach_h = (kernel_h - 1) * dilation_h;
    g->folded = is_folded(channels, kernel_w);
    const int reach_w = g->folded ? 0 : (kernel_w - 1) * dilation_w;
    g->length = g->folded ? kernel_w * channels : channels;
    g->tiles = up_to(g->length, AMX_STEPS) / AMX_STEPS;
    g->phases_d = min(stride_d, reach_d + 1);
    g->phases_h = min(stride_h, reach_h + 1);
    g->phases_w = min(stride_w, reach_w + 1);
    g->depth = out_d + reach_d / stride_d;
    g->height = out_h + reach_h / stride_h;
    g->width = out_w + reach_w / stride_w;
    g->phase = (long)batch * g->depth * g->height * g->width;
#ifdef POSITIONS_A
    g->pixel = g->tiles * AMX_PARTS * HALVES_OF_LINE;
    g->tile = AMX_PARTS * HALVES_OF_LINE;
    g->low = HALVES_OF_LINE;
    g->row = g->pixel;
    g->group = pixels * g->pixel;
#else
    g->pixel = 2;
    g->row = 2 * pixels;
    g->low = AMX_SIDE * g->row;
    g->tile = AMX_PARTS * g->low;
    g->group = g->tiles * g->tile;
#endif
}
#define SET_GRID(g, pixels) \
    set_grid(g, channels, batch, out_d, out_h, out_w, kernel_d, kernel_h, kernel_w, stride_d, stride_h, stride_w, \
             dilation_d, dilation_h, dilation_w, pixels)

// ---- weights ----

// w [groups * filters][channels][taps] -> packed [group][32 filters][tile of K][AMX_STEP], zero where nothing is.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_cpu_matrix_pack(const __global data_t *restrict w_base, long w_offset,
                               __global uint *restrict packed_base, long packed_offset, int filters, int channels,
                               int kernel_d, int kernel_h, int kernel_w, long w_stride_k, long w_stride_c,
                               long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int folds = is_folded(channels, kernel_w);
    const int length = folds ? kernel_w * channels : channels, columns = folds ? 1 : kernel_w;
    const int tiles_of_tap = up_to(length, AMX_STEPS) / AMX_STEPS, tiles = kernel_d * kernel_h * columns * tiles_of_tap;
    const int panel = get_group_id(0), group = get_group_id(1);
    const __global data_t *w = w_base + w_offset + ((long)group * filters + panel * AMX_BLOCK) * w_stride_k;
    __global uint *packed =
        packed_base + packed_offset + ((long)group * get_num_groups(0) + panel) * tiles * AMX_STEP;
    uint lines[AMX_PARTS * AMX_TILE] __attribute__((aligned(64)));
#ifdef POSITIONS_A
    uint turned[AMX_TILE] __attribute__((aligned(64)));
#endif
    for (int t = 0; t < tiles; ++t, packed += AMX_STEP) {
        const int tap = t / tiles_of_tap, kd = tap / columns / kernel_h, kh = tap / columns % kernel_h;
        long at[AMX_STEPS]; // of a step in a filter; negative: none
        for (int q = 0; q < AMX_STEPS; ++q) {
            const int element = t % tiles_of_tap * AMX_STEPS + q, kw = folds ? element / channels : tap % columns;
            at[q] = element < length ? element % channels * w_stride_c + kd * w_stride_d + kh * w_stride_h +
                                           kw * w_stride_w
                                     : -1;
        }
        for (int side = 0; side < 2; ++side) {
            const int rows = filters - panel * AMX_BLOCK - side * AMX_SIDE;
            for (int i = 0; i < AMX_SIDE; ++i) {
                const __global data_t *filter = w + (side * AMX_SIDE + i) * w_stride_k;
                data_t some[AMX_STEPS];
                for (int q = 0; q < AMX_STEPS; ++q)
                    some[q] = i < rows && at[q] >= 0 ? filter[at[q]] : 0;
                keep_line(*(const __private unaligned_some *)some, *(const __private unaligned_some *)(some + 16),
                          lines + i * AMX_SIDE, AMX_TILE);
            }
            for (int p = 0; p < AMX_PARTS; ++p) {
                uint *tile = lines + p * AMX_TILE;
#ifdef POSITIONS_A
                transpose_words(tile, turned);
                tile = turned;
#endif
                for (int word = 0; word < AMX_TILE; word += 16)
                    *(__global unaligned_words *)(packed + (2 * p + side) * AMX_TILE + word) = WORDS(tile + word);
            }
        }
    }
}

// ---- the image ----

#ifdef PRODUCT_BF16
typedef short16 lanes_t;
#define AS_LANES as_short16
#define AS_SOME  as_ushort16
#else
typedef int16 lanes_t;
#define AS_LANES as_int16
#define AS_SOME  as_float16
#endif
#define EACH_LANE ((lanes_t)(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15))

// Elements first..last-1 of 16 that lie `step` apart from x[at] on, the others zero. A vector is read where it lies in
// the tensor, which has `count` elements.
ALWAYS_INLINE some_t load_lanes(const __global data_t *x, long count, long at, long step, int first, int last)
{
    if (step == 1 && at >= 0 && at + 16 <= count) {
        const some_t value = load_some(x + at);
        if (first <= 0 && last >= 16)
            return value;
        return AS_SOME(AS_LANES(value) & (EACH_LANE >= (lanes_t)(first) & EACH_LANE < (lanes_t)(last)));
    }
    if (step == 2 && at >= 0 && at + 32 <= count) {
        const some_t low = load_some(x + at), high = load_some(x + at + 16);
        const some_t value = (some_t)(low.even, high.even);
        return AS_SOME(AS_LANES(value) & (EACH_LANE >= (lanes_t)(first) & EACH_LANE < (lanes_t)(last)));
    }
    data_t some[16];
    for (int i = 0; i < 16; ++i)
        some[i] = i >= first && i < last ? x[at + i * step] : 0;
    return *(const __private unaligned_some *)some;
}

// Work-group (i, g) makes its share of the pixels of group g's image: those from pixel `from` on, `pixels` with what
// lies behind the last, where tiles may end. Pixel number `from` is the image's first.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_cpu_matrix_image(const __global data_t *restrict x_base, long x_offset,
                                __global ushort *restrict image_base, long image_offset, CONV_PARAMS, long from,
                                long pixels)
{
    ONE_ITEM();
    struct grid g;
    SET_GRID(&g, pixels);
    const int group = get_group_id(1);
    const long all = g.phases_d * g.phases_h * g.phases_w * g.phase - from;
    const long end = from + all * (get_group_id(0) + 1) / get_num_groups(0);
    const __global data_t *x = x_base + x_offset;
    const long count = (batch - 1) * x_stride_n + (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
                       (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    __global ushort *image = image_base + image_offset + group * g.group;
    for (long pixel = from + all * get_group_id(0) / get_num_groups(0); pixel < end;) {
        // A row of pixels, or what is left of it.
        const int q = pixel % g.width, qh = pixel / g.width % g.height;
        const long planes = pixel / g.width / g.height;
        const int qd = planes % g.depth, n = planes / g.depth % batch, phase = planes / g.depth / batch;
        const int phase_w = phase % g.phases_w, phase_h = phase / g.phases_w % g.phases_h;
        const int id = qd * stride_d + phase / g.phases_w / g.phases_h - pad_d, ih = qh * stride_h + phase_h - pad_h;
        const int run = (int)min((long)(g.width - q), end - pixel);
        const int is_inside = id >= 0 && id < in_d && ih >= 0 && ih < in_h;
        const long row = n * x_stride_n + (long)group * channels * x_stride_c + id * x_stride_d + ih * x_stride_h;
        uint words[AMX_PARTS * AMX_SIDE] __attribute__((aligned(64)));
#ifdef POSITIONS_A
        const int each_apart = g.folded && !(x_stride_c == 1 && x_stride_w == channels && dilation_w == 1);
        for (int j = 0; j < run; ++j) {
            const int iw = (q + j) * stride_w + phase_w - pad_w;
            // The elements of the pixel that lie in the row of x: they are all, none, or a part where it is folded.
            const long first = max(0L, -(long)iw * channels), last = min((long)g.length, (in_w - (long)iw) * channels);
            const int is_there = is_inside && (each_apart || (last > 0 && first < g.length));
            __global ushort *to = image + (pixel + j - from) * g.pixel;
            for (int e = 0; e < g.tiles * AMX_STEPS; e += AMX_STEPS, to += g.tile) {
                some_t some[2] = {(some_t)(0), (some_t)(0)};
                for (int i = 0; i < 2 && is_there; ++i) {
                    const int element = e + i * 16;
                    if (!each_apart) {
                        some[i] = load_lanes(x, count, row + iw * x_stride_w + element * x_stride_c, x_stride_c,
                                             (int)(first - element), (int)(last - element));
                        continue;
                    }
                    data_t each[16];
                    for (int l = 0; l < 16; ++l) {
                        const int column = iw + (element + l) / channels * dilation_w;
                        each[l] = element + l < g.length && column >= 0 && column < in_w
                                      ? x[row + column * x_stride_w + (element + l) % channels * x_stride_c]
                                      : 0;
                    }
                    some[i] = *(const __private unaligned_some *)each;
                }
                keep_line(some[0], some[1], words, AMX_SIDE);
                for (int p = 0; p < AMX_PARTS; ++p)
                    *(__global unaligned_words *)(to + p * HALVES_OF_LINE) = WORDS(words + p * AMX_SIDE);
            }
        }
#else
        const long step = stride_w * x_stride_w;
        for (int done = 0; done < run;) {
            // Where 16 pixels are left or more, the last 16 begin earlier.
            const int j = run >= AMX_SIDE ? min(done, run - AMX_SIDE) : done, left = min(run - j, AMX_SIDE);
            __global ushort *to = image + (pixel + j - from) * g.pixel;
            for (int e = 0; e < g.tiles * AMX_STEPS; e += 2, to += e % AMX_STEPS ? g.row : g.tile - 15 * g.row) {
                some_t some[2] = {(some_t)(0), (some_t)(0)};
                for (int i = 0; i < 2 && is_inside; ++i) {
                    const int c = g.folded ? (e + i) % channels : e + i, kw = g.folded ? (e + i) / channels : 0;
                    const int iw = (q + j) * stride_w + phase_w - pad_w + kw * dilation_w;
                    const int first = iw < 0 ? (stride_w - 1 - iw) / stride_w : 0;
                    const int last = min(left, iw < in_w ? (in_w - 1 - iw) / stride_w + 1 : 0);
                    if (e + i < g.length && first < last)
                        some[i] = load_lanes(x, count, row + iw * x_stride_w + c * x_stride_c, step, first, last);
                }
                keep_pairs(some[0], some[1], words, AMX_SIDE);
                for (int p = 0; p < AMX_PARTS; ++p)
                    if (left == AMX_SIDE)
                        *(__global unaligned_words *)(to + p * g.low) = WORDS(words + p * AMX_SIDE);
                    else
                        for (int i = 0; i < left; ++i)
                            *((__global uint *)(to + p * g.low) + i) = words[p * AMX_SIDE + i];
            }
            done = j + AMX_SIDE;
        }
#endif
        pixel += run;
    }
}

// ---- sums to y ----

inline void store_apart(vf value, __global data_t *to, long stride, int lanes, int units)
{
    if (stride == units) {
        store_vf_either(value, to, lanes, units);
        return;
    }
    acc_t line[VW];
    store_private(value, line);
    for (int i = 0; i < min(lanes, VW); ++i)
        store_either(to + i * stride, line[i], units);
}

// A tile of 16 x 16 sums: `count` positions, y_at in y, negative where they are none of y's; `filters` filters from
// `filter` on. bias may be 0.
inline void finish_tile(const float *sums, const long *y_at, int count, int filter, int filters, __global data_t *y,
                        long y_stride_c, int y_units, const __global data_t *bias, int flags, ACT_PARAMS)
{
    __global data_t *to = y + filter * y_stride_c;
#ifdef POSITIONS_A
    for (int j = 0; j < filters; j += VW) {
        const vf start = bias ? bias_part(bias, filter + j, filters - j, flags) : (vf)(0.0f);
        for (int i = 0; i < count; ++i)
            if (y_at[i] >= 0)
                store_apart(activate(load_private(sums + i * AMX_SIDE + j) + start, ACT_ARGS),
                            to + y_at[i] + j * y_stride_c, y_stride_c, filters - j, Y_UNITS);
    }
#else
    // Runs of neighbours in y.
    for (int j = 0, next; j < count; j = next) {
        next = j + 1;
        if (y_at[j] < 0)
            continue;
        while (next < count && next < j + VW && y_at[next] == y_at[next - 1] + Y_UNITS)
            ++next;
        for (int i = 0; i < filters; ++i) {
            const acc_t start = bias ? bias_at(bias, filter + i, flags) : 0.0f;
            store_vf_either(activate(load_private(sums + i * AMX_SIDE + j) + (vf)(start), ACT_ARGS),
                            to + i * y_stride_c + y_at[j], next - j, Y_UNITS);
        }
    }
#endif
}

// filter_items: how many work-groups share the filters. A strip is of at most strip_panels panels of 32 positions, a
// block of block_tiles tiles of K. Where K takes more, sums wait at `waiting`, waiting_item floats for each work-group.
// The pixels before image_from are x itself: there one tap's channels lie as in an image. `pixels`: as above.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_cpu_matrix(const __global data_t *restrict x_base, long x_offset, const __global uint *restrict w_base,
                          long w_offset, const __global data_t *restrict bias_base, long bias_offset, int flags,
                          __global data_t *restrict y_base, long y_offset, CONV_PARAMS, int filter_items,
                          int block_tiles, int strip_panels, __global float *restrict waiting_base, long waiting_offset,
                          long waiting_item, const __global ushort *restrict image_base, long image_offset,
                          long image_from, long pixels, SHARES_PARAM, ACT_PARAMS)
{
    ONE_ITEM();
    CONV_UNITS
    struct grid g;
    SET_GRID(&g, pixels);
    const int3 place = group_place(shares);
    const int group = place.z;
    // Positions lie as their pixels do; the last is y's last.
    const long image_pixels = g.phase / batch;
    const long columns =
        (batch - 1) * image_pixels + ((long)(out_d - 1) * g.height + out_h - 1) * g.width + out_w;
    const long column_panels = (columns + AMX_BLOCK - 1) / AMX_BLOCK;
    const int filter_panels = (filters + AMX_BLOCK - 1) / AMX_BLOCK;
    const int tap_columns = g.folded ? 1 : kernel_w, tiles = kernel_d * kernel_h * tap_columns * g.tiles;

    // This item's share.
    const long items = get_num_groups(0), item = place.x;
    const long column_begin = column_panels * item / items * AMX_BLOCK;
    const long column_end = min(columns, column_panels * (item + 1) / items * AMX_BLOCK);
    const int panel_begin = filter_panels * place.y / filter_items;
    const int panel_end = filter_panels * (place.y + 1) / filter_items;

    const __global ushort *w =
        (const __global ushort *)(w_base + w_offset + (long)group * filter_panels * tiles * AMX_STEP);
    const __global ushort *image = image_base + image_offset + group * g.group;
    const __global data_t *bias = has_bias ? bias_base + bias_offset + group * filters * bias_units : 0;
    __global data_t *y = y_base + y_offset + (long)group * filters * y_stride_c;
    __global float *waiting = waiting_base + waiting_offset +
                              (((long)group * filter_items + place.y) * items + item) * waiting_item;

    long y_at[MOST_POSITIONS];
    float sums[4 * AMX_TILE] __attribute__((aligned(64)));
    amx_begin();
    for (long column = column_begin; column < column_end; column += strip_panels * AMX_BLOCK) {
        const int width = (int)min((long)strip_panels * AMX_BLOCK, column_end - column);
        int ow = column % g.width, oh = column / g.width % g.height;
        const long planes = column / g.width / g.height;
        int od = planes % g.depth;
        long n = planes / g.depth;
        for (int j = 0; j < width; ow = 0) { // a row of the image, or what is left of it
            const int end = min(width, j + g.width - ow), there = oh < out_h && od < out_d ? j + out_w - ow : j;
            const long row = n * y_stride_n + od * y_stride_d + oh * y_stride_h + (ow - j) * y_stride_w;
            for (; j < end; ++j)
                y_at[j] = j < there ? row + j * y_stride_w : -1;
            if (++oh < g.height)
                continue;
            oh = 0;
            if (++od < g.depth)
                continue;
            od = 0;
            ++n;
        }
        int block = 0;
        do { // once even where K is 0: y is the bias
            const int depth = min(block_tiles, tiles - block), is_last = block + depth == tiles;
            long at[BLOCK_TILES]; // of a tile of K, from a position's first pixel on
            for (int t = 0; t < depth; ++t) {
                const int tap = (block + t) / g.tiles, kw = g.folded ? 0 : tap % tap_columns * dilation_w;
                const int kh = tap / tap_columns % kernel_h * dilation_h;
                const int kd = tap / tap_columns / kernel_h * dilation_d;
                const long phase = (kd % stride_d * g.phases_h + kh % stride_h) * g.phases_w + kw % stride_w;
                const long pixel = phase * g.phase +
                                   ((long)(kd / stride_d) * g.height + kh / stride_h) * g.width + kw / stride_w;
                at[t] = pixel * g.pixel + (block + t) % g.tiles * g.tile;
            }
            for (int fp = panel_begin; fp < panel_end; ++fp) {
                const __global ushort *weights = w + 2 * ((long)fp * tiles + block) * AMX_STEP;
                const int filter = fp * AMX_BLOCK, filters_left = min(filters - filter, AMX_BLOCK);
                for (int j = 0; j < width; j += AMX_BLOCK) {
                    const int count = min(width - j, AMX_BLOCK);
                    __global float *to =
                        waiting + ((long)(fp - panel_begin) * strip_panels + j / AMX_BLOCK) * (4 * AMX_TILE);
#if defined(POSITIONS_A) && defined(PRODUCT_BF16)
                    const int is_x = column + j < image_from;
                    const long step = is_x ? x_stride_w * stride_w : g.pixel, row = step;
                    const __global ushort *from =
                        is_x ? x_base + x_offset + (long)group * channels + (column + j) * step
                             : image + (column + j - image_from) * step;
#else
                    const long step = g.pixel, row = g.row;
                    const __global ushort *from = image + (column + j) * step;
#endif
                    const int is_first = block == 0;
                    if (!is_first)
                        amx_resume(sums, to);
#ifdef POSITIONS_A
                    const int is_tall = count > AMX_SIDE;
                    amx_walk_a(from, row, AMX_SIDE * step, g.low, at, depth, weights, is_first, is_tall, sums);
#else
                    const int is_tall = filters_left > AMX_SIDE;
                    amx_walk_b(weights, from, row, AMX_SIDE * step, g.low, at, depth, is_first, is_tall, sums);
#endif
                    if (!is_last) {
                        amx_wait(sums, to);
                        continue;
                    }
                    amx_keep(sums);
                    for (int tile = 0; tile < 4; ++tile) {
#ifdef POSITIONS_A
                        const int right = tile % 2 * AMX_SIDE, down = tile / 2 * AMX_SIDE;
#else
                        const int right = tile / 2 * AMX_SIDE, down = tile % 2 * AMX_SIDE;
#endif
                        finish_tile(sums + tile * AMX_TILE, y_at + j + down, min(count - down, AMX_SIDE),
                                    filter + right, min(filters_left - right, AMX_SIDE), y, y_stride_c, y_units, bias,
                                    flags, ACT_ARGS);
                    }
                }
            }
            block += depth;
        } while (block < tiles);
    }
    amx_end();
}
