// SPDX-License-Identifier: MIT
// Convolution by AMX, for CPU devices: implicit GEMM (arXiv 1410.0759) of 32 filters by 32 positions of y at a time.
//
// A work-item is a work-group and owns some positions and some filters of a group. It walks its positions in strips.
// For every block of K it copies the patches of a strip into panels that stay in the second-level cache, then takes
// the packed weights of 32 filters after the other through all panels of the strip. Where K takes several blocks, sums
// wait in scratch memory, tile by tile.
//
// Which side of the product the positions are follows from where x's neighbours lie, so that patches are copied by
// vectors and sums reach y by vectors where it lies likewise:
//
//   -DPOSITIONS_A   rows of A: channels lie side by side (NHWC). K is runs of channels, a tap each, in granules of 16
//                   elements, two for a row of a tile; the last of a run is filled up with zeros.
//   -DWHOLE_ROWS    with it: a run is all taps of a row of the filter, which lie side by side, too. For few channels.
//   else            columns of B: positions of a row lie side by side (NCHW). K is pairs of channels, tap by tap.
//
//   -DPRODUCT_...            what is multiplied: see lib/amx.clh
//   -DBLOCK_TILES, -DSTRIP_WORDS=...   as in gemm_amx.cl; room for the panels of a strip, in words of 32 bits
//   -DACT_SMOOTH             with the transcendental activations, see lib/activation.clh
#ifndef STRIP_WORDS
#error "STRIP_WORDS, the room for panels, is not set: the host passes it"
#endif

#ifdef POSITIONS_A
#define AMX_B_SPACE __global
#else
#define AMX_A_SPACE __global
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
#define GRANULE 16          // elements of half a row of a tile

// What a run of K is made of: `taps` neighbouring taps of a row of the filter, `length` elements.
#ifdef WHOLE_ROWS
#define RUN_TAPS(kernel_w) (kernel_w)
#else
#define RUN_TAPS(kernel_w) 1
#endif

// Tiles of K.
inline int tiles_of(int channels, int kernel_d, int kernel_h, int kernel_w)
{
#ifdef POSITIONS_A
    const int runs = kernel_d * kernel_h * (kernel_w / RUN_TAPS(kernel_w));
    const int granules = runs * ((RUN_TAPS(kernel_w) * channels + GRANULE - 1) / GRANULE);
    return (granules + 1) / 2;
#else
    const int pairs = kernel_d * kernel_h * kernel_w * ((channels + 1) / 2);
    return (pairs + AMX_STEPS / 2 - 1) / (AMX_STEPS / 2);
#endif
}

// ---- weights ----

// w [groups * filters][channels][taps] -> packed [group][32 filters][tile of K][AMX_STEP], zero where nothing is.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_amx_pack(const __global data_t *restrict w_base, long w_offset, __global uint *restrict packed_base,
                        long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w,
                        long w_stride_k, long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const int tiles = tiles_of(channels, kernel_d, kernel_h, kernel_w);
    const int panel = get_group_id(0), group = get_group_id(1), taps = kernel_d * kernel_h * kernel_w;
    const __global data_t *w = w_base + w_offset + ((long)group * filters + panel * AMX_BLOCK) * w_stride_k;
    __global uint *packed =
        packed_base + packed_offset + ((long)group * get_num_groups(0) + panel) * tiles * AMX_STEP;
    uint lines[AMX_PARTS * AMX_TILE] __attribute__((aligned(64)));
#ifdef POSITIONS_A
    uint turned[AMX_TILE] __attribute__((aligned(64)));
#endif
    for (int t = 0; t < tiles; ++t, packed += AMX_STEP) {
        long at[AMX_STEPS]; // of a step in a filter; negative: none
        for (int q = 0; q < AMX_STEPS; ++q) {
#ifdef POSITIONS_A
            const int length = RUN_TAPS(kernel_w) * channels, granules = (length + GRANULE - 1) / GRANULE;
            const int granule = 2 * t + q / GRANULE, element = granule % granules * GRANULE + q % GRANULE;
            const int tap = granule / granules * RUN_TAPS(kernel_w) + element / channels, c = element % channels;
            const int is_there = element < length;
#else
            const int step = t * AMX_STEPS + q, steps = (channels + 1) / 2 * 2;
            const int tap = step / steps, c = step % steps, is_there = c < channels;
#endif
            at[q] = is_there && tap < taps ? c * w_stride_c + tap / kernel_w / kernel_h * w_stride_d +
                                                 tap / kernel_w % kernel_h * w_stride_h + tap % kernel_w * w_stride_w
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

// ---- patches ----

// The strip's positions: of x's element under the filter's first tap, its place and its coordinates, which may lie in
// the padding; of y's; how many follow in the same row of y.
struct positions {
    long x_at[MOST_POSITIONS], y_at[MOST_POSITIONS];
    int depth[MOST_POSITIONS], row[MOST_POSITIONS], column[MOST_POSITIONS], run[MOST_POSITIONS];
};

// x of this group, its elements up to `count`, and the filter's taps.
struct image {
    const __global data_t *x;
    long before, count; // elements of the tensor before x, and from there on
    long stride_c, stride_d, stride_h, stride_w;
    int channels, in_d, in_h, in_w, kernel_d, kernel_h, kernel_w, stride, dilation_d, dilation_h, dilation_w;
};

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

// Elements first..last-1 of 16 that lie `step` apart, the others zero. A vector is read where it lies in the tensor.
ALWAYS_INLINE some_t load_lanes(const struct image *m, long at, long step, int first, int last)
{
    if (step == 1 && at >= -m->before && at + 16 <= m->count) {
        const some_t value = load_some(m->x + at);
        if (first <= 0 && last >= 16)
            return value;
        return AS_SOME(AS_LANES(value) & (EACH_LANE >= (lanes_t)(first) & EACH_LANE < (lanes_t)(last)));
    }
#ifndef POSITIONS_A
    if (step == 2 && at >= -m->before && at + 32 <= m->count) {
        const some_t low = load_some(m->x + at), high = load_some(m->x + at + 16);
        const some_t value = (some_t)(low.even, high.even);
        return AS_SOME(AS_LANES(value) & (EACH_LANE >= (lanes_t)(first) & EACH_LANE < (lanes_t)(last)));
    }
#endif
    data_t some[16];
    for (int i = 0; i < 16; ++i)
        some[i] = i >= first && i < last ? m->x[at + i * step] : 0;
    return *(const __private unaligned_some *)some;
}

#ifdef POSITIONS_A
// 16 elements of a run, from `element` on, under the tap that lies `tap` further.
struct granule {
    long at;
    int depth, row, column, element, length; // length 0: none
};

ALWAYS_INLINE void set_granule(struct granule *g, const struct image *m, int number)
{
    const int taps = RUN_TAPS(m->kernel_w), length = taps * m->channels;
    const int granules = (length + GRANULE - 1) / GRANULE, run = number / granules;
    const int columns = m->kernel_w / taps, kd = run / columns / m->kernel_h;
    g->depth = kd * m->dilation_d;
    g->row = run / columns % m->kernel_h * m->dilation_h;
    g->column = run % columns * m->dilation_w;
    g->element = number % granules * GRANULE;
    g->length = kd < m->kernel_d ? min(length - g->element, GRANULE) : 0;
    g->at = g->depth * m->stride_d + g->row * m->stride_h + g->column * m->stride_w + g->element * m->stride_c;
}

ALWAYS_INLINE some_t load_granule(const struct granule *g, const struct image *m, const struct positions *at, int i)
{
    const uint depth = (uint)(at->depth[i] + g->depth), row = (uint)(at->row[i] + g->row);
    if (depth >= (uint)m->in_d || row >= (uint)m->in_h)
        return (some_t)(0);
    // Elements of the run that lie in the image's row.
    const long column = at->column[i] + g->column;
    const long first = -column * m->channels - g->element;
    const long last = min((long)g->length, (m->in_w - column) * m->channels - g->element);
    if (last <= 0 || first >= last)
        return (some_t)(0);
    return load_lanes(m, at->x_at[i] + g->at, m->stride_c, (int)max(first, 0L), (int)last);
}

// 16 positions from `begin` on, of which `count` are there: rows of tile t of K.
inline void fill_tile(uint *to, int part, const struct image *m, const struct positions *at, int begin, int count,
                      int t)
{
    struct granule first, next;
    set_granule(&first, m, 2 * t);
    set_granule(&next, m, 2 * t + 1);
    for (int i = 0; i < AMX_SIDE; ++i)
        if (i < count)
            keep_line(load_granule(&first, m, at, begin + i), load_granule(&next, m, at, begin + i),
                      to + i * AMX_SIDE, part);
        else
            keep_line((some_t)(0), (some_t)(0), to + i * AMX_SIDE, part);
}
#else
// 16 positions from `begin` on, of which `count` are there: columns of tile t of K. Of each row of y its lanes.
inline void fill_tile(uint *to, int part, const struct image *m, const struct positions *at, int begin, int count,
                      int t)
{
    const int steps = (m->channels + 1) / 2 * 2, taps = m->kernel_d * m->kernel_h * m->kernel_w;
    const long apart = m->stride * m->stride_w;
    for (int pair = 0; pair < AMX_STEPS / 2;) {
        const int step = t * AMX_STEPS + 2 * pair, tap = step / steps;
        const int c = step % steps, pairs = min(AMX_STEPS / 2 - pair, (steps - c) / 2);
        const int kd = tap / m->kernel_w / m->kernel_h, kh = tap / m->kernel_w % m->kernel_h, kw = tap % m->kernel_w;
        const long tap_at = kd * m->dilation_d * m->stride_d + kh * m->dilation_h * m->stride_h +
                            kw * m->dilation_w * m->stride_w + c * m->stride_c;
        long from[AMX_SIDE];
        int first[AMX_SIDE], last[AMX_SIDE], runs = 0;
        for (int i = 0; i < count && tap < taps; i += at->run[begin + i]) {
            const uint depth = (uint)(at->depth[begin + i] + kd * m->dilation_d);
            const uint row = (uint)(at->row[begin + i] + kh * m->dilation_h);
            const int column = at->column[begin + i] + kw * m->dilation_w; // may be negative
            const int low = column < 0 ? (m->stride - 1 - column) / m->stride : 0;
            const int high = column < m->in_w ? (m->in_w - 1 - column) / m->stride + 1 : 0;
            first[runs] = i + low;
            last[runs] = min(i + min(at->run[begin + i], high), count);
            from[runs] = at->x_at[begin + i] + tap_at - i * apart;
            if (depth < (uint)m->in_d && row < (uint)m->in_h && first[runs] < last[runs])
                ++runs;
        }
        const long furthest = (long)(2 * pairs - 1) * m->stride_c;
        if (runs == 1 && first[0] == 0 && last[0] == AMX_SIDE && apart == 1 && c + 2 * pairs <= m->channels &&
            from[0] >= -m->before && from[0] + furthest + 16 <= m->count) {
            const __global data_t *source = m->x + from[0];
            for (int i = 0; i < pairs; ++i, source += 2 * m->stride_c) {
                // Channels lie far apart, which the hardware does not foresee.
                PREFETCH_READ(source + 8 * m->stride_c);
                PREFETCH_READ(source + 9 * m->stride_c);
                keep_pairs(load_some(source), load_some(source + m->stride_c), to + (pair + i) * AMX_SIDE, part);
            }
        } else {
            for (int i = 0; i < pairs; ++i) {
                lanes_t even = (lanes_t)(0), odd = (lanes_t)(0);
                for (int r = 0; r < runs; ++r) {
                    const long there = from[r] + 2 * i * m->stride_c;
                    even |= AS_LANES(load_lanes(m, there, apart, first[r], last[r]));
                    if (c + 2 * i + 1 < m->channels)
                        odd |= AS_LANES(load_lanes(m, there + m->stride_c, apart, first[r], last[r]));
                }
                keep_pairs(AS_SOME(even), AS_SOME(odd), to + (pair + i) * AMX_SIDE, part);
            }
        }
        pair += pairs;
    }
}
#endif

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

// A tile of 16 x 16 sums: `count` positions from `begin` on, `filters` filters from `filter` on. bias may be 0.
inline void finish_tile(const float *sums, const struct positions *at, int begin, int count, int filter, int filters,
                        __global data_t *y, long y_stride_c, int y_units, const __global data_t *bias, int flags,
                        ACT_PARAMS)
{
    __global data_t *to = y + filter * y_stride_c;
#ifdef POSITIONS_A
    for (int j = 0; j < filters; j += VW) {
        const vf start = bias ? bias_part(bias, filter + j, filters - j, flags) : (vf)(0.0f);
        for (int i = 0; i < count; ++i)
            store_apart(activate(load_private(sums + i * AMX_SIDE + j) + start, ACT_ARGS),
                        to + at->y_at[begin + i] + j * y_stride_c, y_stride_c, filters - j, Y_UNITS);
    }
#else
    for (int i = 0; i < filters; ++i, to += y_stride_c) {
        const vf start = (vf)(bias ? bias_at(bias, filter + i, flags) : 0.0f);
        for (int j = 0; j < count; j += VW) {
            const int lanes = min(count - j, VW);
            const vf value = activate(load_private(sums + i * AMX_SIDE + j) + start, ACT_ARGS);
            const long first = at->y_at[begin + j];
            if (at->y_at[begin + j + lanes - 1] - first == (lanes - 1) * Y_UNITS) {
                store_vf_either(value, to + first, lanes, Y_UNITS);
            } else {
                acc_t line[VW];
                store_private(value, line);
                for (int l = 0; l < lanes; ++l)
                    store_either(to + at->y_at[begin + j + l], line[l], Y_UNITS);
            }
        }
    }
#endif
}

// filter_items: how many work-groups share the filters. A strip is of at most strip_panels panels of 32 positions, a
// block of block_tiles tiles of K. Where K takes more, sums wait at `waiting`, waiting_item floats for each work-group.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_amx(const __global data_t *restrict x_base, long x_offset, const __global uint *restrict w_base,
                   long w_offset, const __global data_t *restrict bias_base, long bias_offset, int flags,
                   __global data_t *restrict y_base, long y_offset, CONV_PARAMS, int filter_items, int block_tiles,
                   int strip_panels, __global float *restrict waiting_base, long waiting_offset, long waiting_item,
                   SHARES_PARAM, ACT_PARAMS)
{
    CONV_UNITS
    const int3 place = group_place(shares);
    const int group = place.z;
    const long columns = (long)batch * out_d * out_h * out_w;
    const long column_panels = (columns + AMX_BLOCK - 1) / AMX_BLOCK;
    const int filter_panels = (filters + AMX_BLOCK - 1) / AMX_BLOCK;
    const int tiles = tiles_of(channels, kernel_d, kernel_h, kernel_w);

    // This item's share.
    const long items = get_num_groups(0), item = place.x;
    const long column_begin = column_panels * item / items * AMX_BLOCK;
    const long column_end = min(columns, column_panels * (item + 1) / items * AMX_BLOCK);
    const int panel_begin = filter_panels * place.y / filter_items;
    const int panel_end = filter_panels * (place.y + 1) / filter_items;

    const long before = (long)group * channels * x_stride_c;
    const struct image image = {
        x_base + x_offset + before, before,
        (batch - 1) * x_stride_n + (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
            (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1 - before,
        x_stride_c, x_stride_d, x_stride_h, x_stride_w, channels, in_d, in_h, in_w, kernel_d, kernel_h, kernel_w,
        stride_w, dilation_d, dilation_h, dilation_w};
    const __global uint *w = w_base + w_offset + (long)group * filter_panels * tiles * AMX_STEP;
    const __global data_t *bias = has_bias ? bias_base + bias_offset + group * filters * bias_units : 0;
    __global data_t *y = y_base + y_offset + (long)group * filters * y_stride_c;
    __global float *waiting = waiting_base + waiting_offset +
                              (((long)group * filter_items + place.y) * items + item) * waiting_item;

    uint panels[STRIP_WORDS] __attribute__((aligned(64)));
    struct positions at;
    amx_begin();
    for (long column = column_begin; column < column_end; column += strip_panels * AMX_BLOCK) {
        const int width = (int)min((long)strip_panels * AMX_BLOCK, column_end - column);
        for (int j = 0; j < width; ++j) {
            const long p = column + j;
            const int ow = p % out_w, oh = p / out_w % out_h, od = p / out_w / out_h % out_d;
            const long n = p / out_w / out_h / out_d;
            at.depth[j] = od * stride_d - pad_d;
            at.row[j] = oh * stride_h - pad_h;
            at.column[j] = ow * stride_w - pad_w;
            at.x_at[j] = n * x_stride_n + at.depth[j] * x_stride_d + at.row[j] * x_stride_h + at.column[j] * x_stride_w;
            at.y_at[j] = n * y_stride_n + od * y_stride_d + oh * y_stride_h + ow * y_stride_w;
            at.run[j] = out_w - ow;
        }
        int block = 0;
        do { // once even where K is 0: y is the bias
            const int depth = min(block_tiles, tiles - block), is_last = block + depth == tiles;
            for (int j = 0; j < width; j += AMX_SIDE) {
                uint *panel = panels + (j / AMX_BLOCK * depth * AMX_STEP + j / AMX_SIDE % 2 * AMX_TILE);
                for (int t = 0; t < depth; ++t)
                    fill_tile(panel + t * AMX_STEP, 2 * AMX_TILE, &image, &at, j, min(width - j, AMX_SIDE), block + t);
#ifndef POSITIONS_A
                // The right half of the last panel is multiplied, whatever there is of it.
                for (int t = 0; j + AMX_SIDE >= width && j % AMX_BLOCK == 0 && t < depth; ++t)
                    fill_tile(panel + t * AMX_STEP + AMX_TILE, 2 * AMX_TILE, &image, &at, j, 0, block + t);
#endif
            }
            for (int fp = panel_begin; fp < panel_end; ++fp) {
                const __global uint *weights = w + ((long)fp * tiles + block) * AMX_STEP;
                const int filter = fp * AMX_BLOCK, filters_left = min(filters - filter, AMX_BLOCK);
                for (int j = 0; j < width; j += AMX_BLOCK) {
                    const uint *panel = panels + j / AMX_BLOCK * depth * AMX_STEP;
                    const int count = min(width - j, AMX_BLOCK);
                    __global float *sums =
                        waiting + ((long)(fp - panel_begin) * strip_panels + j / AMX_BLOCK) * (4 * AMX_TILE);
                    float lines[4 * AMX_TILE] __attribute__((aligned(64)));
#ifdef POSITIONS_A
#define SIDES panel, weights
                    const int is_tall = count > AMX_SIDE;
#else
#define SIDES weights, panel
                    const int is_tall = filters_left > AMX_SIDE;
#endif
                    if (is_last && block == 0) {
                        amx_multiply(SIDES, depth, is_tall, lines);
                    } else {
                        if (block == 0)
                            amx_multiply_first(SIDES, depth, is_tall, sums);
                        else
                            amx_multiply_more(SIDES, depth, is_tall, sums);
                        for (int e = 0; is_last && e < (is_tall ? 4 : 2) * AMX_TILE; e += VW)
                            store_private(LOAD_UNALIGNED(__global, sums + e), lines + e);
                    }
                    for (int tile = 0; is_last && tile < 4; ++tile) {
#ifdef POSITIONS_A
                        const int right = tile % 2 * AMX_SIDE, down = tile / 2 * AMX_SIDE;
#else
                        const int right = tile / 2 * AMX_SIDE, down = tile % 2 * AMX_SIDE;
#endif
                        finish_tile(lines + tile * AMX_TILE, &at, j + down, min(count - down, AMX_SIDE),
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
