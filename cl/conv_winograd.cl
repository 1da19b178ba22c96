// SPDX-License-Identifier: MIT
// Winograd convolution F(m x m, 3x3), m = 2 or 4, stride 1, dilation 1, any padding (arXiv 1509.09308), for CPUs.
//
// The output is cut into m x m tiles. Each needs (m+2) x (m+2) inputs; transformed, its filters become one
// product per point of the tile and channel, instead of 9 m*m/((m+2)*(m+2)): 2.25 times fewer multiplications
// for F(2x2), 4 times for F(4x4). The sums are rounded differently: the largest error over |a||b| grows by
// about 2 for F(2x2) and 10 for F(4x4); see docs/operators.md.
//
// One work-item takes a range of tiles (of all images) and of filters. For TILE_N tiles at a time it
//   1. transforms the input of all channels into scratch, [point][channel][tile];
//   2. for every panel of TILE_M filters, multiplies the points' matrices (weights packed and transformed
//      by husk_conv_winograd_pack, [group][panel][point][channel][TILE_M]) into private memory,
//      and transforms those back while they are in the cache.
// A work-item's piece of scratch has husk_conv_winograd_scratch = points*(channels*TILE_N + VW) elements: the
// VW keeps the points' rows of a power of two apart in the cache.
//
//   VW        4, 8 or 16: floats in a vector
//   TILE_OUT  2 or 4: m
//   TILE_M    1..16: filters in a register tile
//   TILE_NV   1..3: vectors of tiles in a register tile, TILE_N = TILE_NV*VW
#define TILE_A_SPACE __global
#define TILE_B_SPACE __global
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"

#if !defined(TILE_OUT) || (TILE_OUT != 2 && TILE_OUT != 4)
#error "TILE_OUT, the edge of an output tile, is not set: the host passes -DTILE_OUT=2 or 4"
#endif

#define TILE_IN (TILE_OUT + 2)
#define POINTS (TILE_IN * TILE_IN)

// A row of the window that TILE_N neighbouring tiles need, and room for whole vectors past its end.
#define WINDOW (TILE_OUT * TILE_N + 2 + 4 * VW)

// Neighbouring tiles in one row of tiles.
struct run {
    long x_offset, y_offset; // image
    int row, column;         // of tiles
    int lane, length;        // among the TILE_N tiles
};

// One dimension of each transform: B^T d, G g and A^T m of the paper.
ALWAYS_INLINE void transform_input(const vf *d, vf *t)
{
#if TILE_OUT == 4
    const vf a = MAD((vf)(-4.0f), d[2], d[4]), b = MAD((vf)(-4.0f), d[1], d[3]);
    const vf c = d[4] - d[2], e = 2.0f * (d[3] - d[1]);
    t[0] = MAD((vf)(4.0f), d[0], MAD((vf)(-5.0f), d[2], d[4]));
    t[1] = a + b;
    t[2] = a - b;
    t[3] = c + e;
    t[4] = c - e;
    t[5] = MAD((vf)(4.0f), d[1], MAD((vf)(-5.0f), d[3], d[5]));
#else
    t[0] = d[0] - d[2];
    t[1] = d[1] + d[2];
    t[2] = d[2] - d[1];
    t[3] = d[1] - d[3];
#endif
}

ALWAYS_INLINE void transform_weights(const vf *g, int step, vf *t)
{
    const vf a = g[0], b = g[step], c = g[2 * step];
#if TILE_OUT == 4
    t[0] = a * 0.25f;
    t[1] = (a + b + c) * (-1.0f / 6.0f);
    t[2] = (a - b + c) * (-1.0f / 6.0f);
    t[3] = a * (1.0f / 24.0f) + b * (1.0f / 12.0f) + c * (1.0f / 6.0f);
    t[4] = a * (1.0f / 24.0f) - b * (1.0f / 12.0f) + c * (1.0f / 6.0f);
    t[5] = c;
#else
    t[0] = a;
    t[1] = (a + b + c) * 0.5f;
    t[2] = (a - b + c) * 0.5f;
    t[3] = c;
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

#if TILE_OUT == 4
#define EACH_IN(STEP) STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5)
#define EACH_OUT(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#else
#define EACH_IN(STEP) STEP(0) STEP(1) STEP(2) STEP(3)
#define EACH_OUT(STEP) STEP(0) STEP(1)
#endif

// weights [groups*filters][channels][3][3] -> [group][panel][point][channel][TILE_M].
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_winograd_pack(
    const __global data_t *restrict w_base, long w_offset, __global data_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    const int panels = (filters + TILE_M - 1) / TILE_M;
    const int panel = get_group_id(0), group = get_group_id(1);
    const int rows = min(TILE_M, filters - panel * TILE_M);
    const __global data_t *w = w_base + w_offset + ((long)group * filters + panel * TILE_M) * w_stride_k;
    __global data_t *packed = packed_base + packed_offset +
                              ((long)group * panels + panel) * POINTS * channels * TILE_M;
    // A vector holds filters. What it writes past TILE_M the next channel overwrites; the last must not.
    for (int c = 0; c < channels; ++c)
        for (int first = 0; first < TILE_M; first += VW) {
            const int width = min(VW, TILE_M - first);
            acc_t lanes[9 * VW];
            vf filter[9], half_way[3 * TILE_IN], point[TILE_IN];
            for (int i = 0; i < 9; ++i)
                store_private((vf)(0.0f), lanes + i * VW);
            for (int m = 0; m < min(width, rows - first); ++m) {
                const __global data_t *from = w + (first + m) * w_stride_k + c * w_stride_c;
                for (int i = 0; i < 3; ++i)
                    for (int j = 0; j < 3; ++j)
                        lanes[(3 * i + j) * VW + m] = from[i * w_stride_h + j * w_stride_w];
            }
            for (int i = 0; i < 9; ++i)
                filter[i] = load_private(lanes + i * VW);
            for (int i = 0; i < 3; ++i)
                transform_weights(filter + i, 3, half_way + i * TILE_IN);
            for (int i = 0; i < TILE_IN; ++i) {
                transform_weights(half_way + i, TILE_IN, point);
                for (int j = 0; j < TILE_IN; ++j)
                    store_vf_part(point[j], packed + ((long)(i * TILE_IN + j) * channels + c) * TILE_M + first,
                                  c + 1 < channels && first + VW >= TILE_M ? VW : width);
            }
        }
}

// The columns of one channel's window, one row for each tap of the transform, to the points of its tiles:
// column TILE_OUT*t + j of the window is input j of tile t.
ALWAYS_INLINE void transform_columns(const acc_t *window, int length, __global acc_t *out, long point_stride)
{
    for (int i = 0; i < TILE_IN; ++i) {
        acc_t phase[TILE_OUT][TILE_N + 2 * VW];
        const acc_t *row = window + i * WINDOW;
        for (int t = 0; t <= length; t += VW) {
            const vf a = load_private(row + TILE_OUT * t);
            const vf b = load_private(row + TILE_OUT * t + VW);
#if TILE_OUT == 4
            const vf c = load_private(row + TILE_OUT * t + 2 * VW);
            const vf d = load_private(row + TILE_OUT * t + 3 * VW);
            const vf even_low = even_elements(a, b), even_high = even_elements(c, d);
            const vf odd_low = odd_elements(a, b), odd_high = odd_elements(c, d);
            store_private(even_elements(even_low, even_high), phase[0] + t);
            store_private(even_elements(odd_low, odd_high), phase[1] + t);
            store_private(odd_elements(even_low, even_high), phase[2] + t);
            store_private(odd_elements(odd_low, odd_high), phase[3] + t);
#else
            store_private(even_elements(a, b), phase[0] + t);
            store_private(odd_elements(a, b), phase[1] + t);
#endif
        }
        for (int t = 0; t < length; t += VW) {
            vf d[TILE_IN], point[TILE_IN];
#define TAKE(j) d[j] = load_private(phase[(j) % TILE_OUT] + t + (j) / TILE_OUT);
            EACH_IN(TAKE)
#undef TAKE
            transform_input(d, point);
#define GIVE(j) store_vf(point[j], out + (i * TILE_IN + (j)) * point_stride + t);
            EACH_IN(GIVE)
#undef GIVE
        }
    }
}

ALWAYS_INLINE void transform_rows(acc_t *window, int columns)
{
    for (int t = 0; t < columns; t += VW) {
        vf d[TILE_IN], point[TILE_IN];
#define TAKE(i) d[i] = load_private(window + (i) * WINDOW + t);
        EACH_IN(TAKE)
#undef TAKE
        transform_input(d, point);
#define GIVE(i) store_private(point[i], window + (i) * WINDOW + t);
        EACH_IN(GIVE)
#undef GIVE
    }
}

// The points of VW tiles of one filter to TILE_OUT rows of VW*TILE_OUT outputs.
ALWAYS_INLINE void transform_back(const acc_t *points, acc_t bias, acc_t *lines, ACT_PARAMS)
{
    vf half_way[TILE_OUT * TILE_IN];
#define COLUMN(j) \
    { \
        vf m[TILE_IN], t[TILE_OUT]; \
        for (int i = 0; i < TILE_IN; ++i) \
            m[i] = load_private(points + (i * TILE_IN + (j)) * TILE_M * TILE_N); \
        transform_output(m, t); \
        for (int i = 0; i < TILE_OUT; ++i) \
            half_way[i * TILE_IN + (j)] = t[i]; \
    }
    EACH_IN(COLUMN)
#undef COLUMN
    for (int i = 0; i < TILE_OUT; ++i) {
        vf t[TILE_OUT];
        acc_t *line = lines + i * TILE_OUT * TILE_N;
        transform_output(half_way + i * TILE_IN, t);
#define FINISH(j) t[j] = activate(t[j] + bias, ACT_ARGS);
        EACH_OUT(FINISH)
#undef FINISH
#if TILE_OUT == 4
        const vf even_low = interleave_low(t[0], t[2]), even_high = interleave_high(t[0], t[2]);
        const vf odd_low = interleave_low(t[1], t[3]), odd_high = interleave_high(t[1], t[3]);
        store_private(interleave_low(even_low, odd_low), line);
        store_private(interleave_high(even_low, odd_low), line + VW);
        store_private(interleave_low(even_high, odd_high), line + 2 * VW);
        store_private(interleave_high(even_high, odd_high), line + 3 * VW);
#else
        store_private(interleave_low(t[0], t[1]), line);
        store_private(interleave_high(t[0], t[1]), line + VW);
#endif
    }
}

// One point of a panel of filters: weights [channels][TILE_M] times inputs [channels][TILE_N].
#define MULTIPLY_POINT(name, vectors) \
    inline void name(const __global acc_t *w, const __global acc_t *v, int channels, acc_t *out) \
    { \
        vf acc[TILE_M * vectors]; \
        tile_zero(acc, TILE_M, vectors); \
        tile_multiply(acc, TILE_M, vectors, w, 1, TILE_M, v, TILE_N, channels); \
        REPEAT_16(KEEP_ROW) \
    }
#define KEEP(i, j) store_private(acc[(i) * VECTORS + (j)], out + (i) * TILE_N + (j) * VW);
#define KEEP_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, VECTORS, KEEP) \
    }
#define VECTORS TILE_NV
MULTIPLY_POINT(multiply_whole, TILE_NV)
#undef VECTORS
#define VECTORS 1
MULTIPLY_POINT(multiply_narrow, 1)
#undef VECTORS

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_winograd(const __global data_t *restrict x_base, long x_offset,
                        const __global data_t *restrict w_base, long w_offset,
                        const __global data_t *restrict bias_base, long bias_offset, int has_bias,
                        __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                        __global acc_t *restrict scratch_base, long scratch_offset, ACT_PARAMS)
{
    const int group = get_group_id(2);
    const int tiles_h = (out_h + TILE_OUT - 1) / TILE_OUT, tiles_w = (out_w + TILE_OUT - 1) / TILE_OUT;
    const long tiles = (long)batch * tiles_h * tiles_w;
    const long tile_vectors = (tiles + VW - 1) / VW;
    const int filter_panels = (filters + TILE_M - 1) / TILE_M;

    // This item's share, and its piece of scratch.
    const long items = get_num_groups(0), item = get_group_id(0);
    const int filter_items = get_num_groups(1), filter_item = get_group_id(1);
    const long tile_begin = tile_vectors * item / items * VW;
    const long tile_end = min(tiles, tile_vectors * (item + 1) / items * VW);
    const int panel_begin = filter_panels * filter_item / filter_items;
    const int panel_end = filter_panels * (filter_item + 1) / filter_items;
    const long point_stride = (long)channels * TILE_N + VW;
    __global acc_t *scratch =
        scratch_base + scratch_offset + ((group * filter_items + filter_item) * items + item) * POINTS * point_stride;

    const __global data_t *x = x_base + x_offset + (long)group * channels * x_stride_c;
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_h - 1) * x_stride_h +
                                   (in_w - 1) * x_stride_w + 1;
    const __global data_t *w = w_base + w_offset + (long)group * filter_panels * POINTS * channels * TILE_M;
    const __global data_t *bias = bias_base + bias_offset + group * filters;
    __global data_t *y = y_base + y_offset + (long)group * filters * y_stride_c;

    acc_t window[TILE_IN * WINDOW];
    acc_t products[POINTS * TILE_M * TILE_N];
    acc_t lines[TILE_OUT * TILE_OUT * TILE_N + VW]; // the last vector of a run is read whole
    struct run runs[TILE_N];

    for (long tile = tile_begin; tile < tile_end; tile += TILE_N) {
        const int count = (int)min((long)TILE_N, tile_end - tile);
        const int vectors = (count + VW - 1) / VW;

        int run_count = 0;
        for (int done = 0; done < count; ++run_count) {
            const long at = tile + done;
            const int n = at / tiles_w / tiles_h;
            struct run r;
            r.x_offset = n * x_stride_n;
            r.y_offset = n * y_stride_n;
            r.row = at / tiles_w % tiles_h;
            r.column = at % tiles_w;
            r.lane = done;
            r.length = min(tiles_w - r.column, count - done);
            runs[run_count] = r;
            done += r.length;
        }

        // Whole vectors are stored; what one spills over its run's end, the next run or channel overwrites.
        for (int c = 0; c < channels; ++c) {
            __global acc_t *points = scratch + (long)c * TILE_N;
            for (int i = 0; i < POINTS; ++i)
                store_vf((vf)(0.0f), points + i * point_stride + (vectors - 1) * VW);
            for (int k = 0; k < run_count; ++k) {
                const struct run r = runs[k];
                const int first_row = r.row * TILE_OUT - pad_h, first_column = r.column * TILE_OUT - pad_w;
                const int columns = r.length * TILE_OUT + 2;
                const __global data_t *plane = x + r.x_offset + c * x_stride_c;
                for (int i = 0; i < TILE_IN; ++i) {
                    const int row = first_row + i, inside = row >= 0 && row < in_h;
                    load_padded_row(inside ? plane + row * x_stride_h : plane, x_stride_w, inside ? in_w : 0,
                                    inside ? first_column : 0, columns, x_end, window + i * WINDOW);
                    // The de-interleaving below reads on to whole groups of vectors.
                    for (int t = columns; t < columns + VW * TILE_OUT; t += VW)
                        store_private((vf)(0.0f), window + i * WINDOW + t);
                }
                transform_rows(window, columns);
                transform_columns(window, r.length, points + r.lane, point_stride);
            }
        }

        for (int panel = panel_begin; panel < panel_end; ++panel) {
            const __global data_t *w_panel = w + (long)panel * POINTS * channels * TILE_M;
            const int rows = min(TILE_M, filters - panel * TILE_M);
            for (int i = 0; i < POINTS; ++i) {
                const __global data_t *w_point = w_panel + (long)i * channels * TILE_M;
                if (TILE_NV > 1 && vectors == 1)
                    multiply_narrow(w_point, scratch + i * point_stride, channels, products + i * TILE_M * TILE_N);
                else
                    multiply_whole(w_point, scratch + i * point_stride, channels, products + i * TILE_M * TILE_N);
            }
            for (int m = 0; m < rows; ++m) {
                const int filter = panel * TILE_M + m;
                const acc_t start = has_bias ? bias[filter] : 0.0f;
                for (int v = 0; v < vectors; ++v)
                    transform_back(products + m * TILE_N + v * VW, start, lines + v * VW * TILE_OUT, ACT_ARGS);
                for (int k = 0; k < run_count; ++k) {
                    const struct run r = runs[k];
                    const int row = r.row * TILE_OUT, column = r.column * TILE_OUT;
                    const int length = min(r.length * TILE_OUT, out_w - column);
                    __global data_t *out = y + r.y_offset + filter * y_stride_c + row * y_stride_h +
                                           column * y_stride_w;
                    for (int i = 0; i < TILE_OUT && row + i < out_h; ++i, out += y_stride_h)
                        store_row(lines + i * TILE_OUT * TILE_N + r.lane * TILE_OUT, length, out, y_stride_w);
                }
            }
        }
    }
}
