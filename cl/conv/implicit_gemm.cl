// SPDX-License-Identifier: MIT
// Convolution as a matrix product whose right-hand matrix is never stored (implicit GEMM, arXiv 1410.0759),
// for CPUs: one work-item is a work-group and computes with explicit vectors.
//
//   y[filter][column] = sum over k of weights[filter][k] * patch[k][column]
//   column = (image, depth, row, column of the output), k = (channel, depth, row, column of the filter)
//
// A work-item takes some columns and some filters of a group. It copies the patches of its columns, a block of
// k at a time, into private panels of TILE_N = TILE_NV*VW columns, and sweeps them with a TILE_M x TILE_N
// register tile. Weights come packed by husk_conv_implicit_gemm_pack. It works for every stride, padding,
// dilation, group count and layout; unit strides along the width are copied by vectors, others by elements.
// Where k needs several blocks, the partial sums wait in y, or in f32 scratch memory where y is narrower.
//
// Tiles: 13x32 on AVX-512 (64, 128, 256 ... filters waste 1.5%), 6x16 on AVX2, 8x12 on NEON. Copying
// costs about 3/TILE_M of the multiply's time divided by the panels of filters that share it.
//
//   VW       4, 8 or 16: floats in a vector; -DHALF_VECTORS with -DDTYPE_F64, see lib/vector.clh
//   TILE_M   1..16: filters in a register tile
//   TILE_NV  1..3: vectors of columns in a register tile, TILE_N = TILE_NV*VW
#define TILE_A_SPACE __global
#include "lib/tile.clh"
#include "lib/vector_math.clh"
#define ACT_T vf
#define ACT_USE_EXP exp_vf
#define ACT_USE_TANH tanh_vf
#define ACT_USE_ERF erf_vf
#include "lib/activation.clh"
#include "lib/convolution.clh"
#include "lib/shares.clh"

// Private room, in elements: all panels of a block, and one row of the image.
#ifdef DTYPE_F64
#define PANEL_ROOM (48 * 1024)
#else
#define PANEL_ROOM (96 * 1024)
#endif
#define MAX_COLUMNS (16 * TILE_N)
#define ROW_ROOM 4096

// Rows of the filter wider than this are cut (see struct depth below).
#define MAX_TAPS 256

// A run of columns that lie in one row of the output and in one panel.
struct run {
    long x_offset;          // image
    int depth, row, column; // of the input, at the filter's first tap: may lie in the padding
    int panel;              // where its panel begins
    int first, length;      // columns of the panel
};

// weights [groups*filters][depth] -> packed [group][panel][depth][TILE_M], zero where a panel has no filter.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void husk_conv_implicit_gemm_pack(
    const __global data_t *restrict w_base, long w_offset, __global acc_t *restrict packed_base,
    long packed_offset, int filters, int channels, int kernel_d, int kernel_h, int kernel_w, long w_stride_k,
    long w_stride_c, long w_stride_d, long w_stride_h, long w_stride_w)
{
    ONE_ITEM();
    const int panels = (filters + TILE_M - 1) / TILE_M;
    const int panel = get_group_id(0);
    const int group = get_group_id(1);
    const long taps = (long)kernel_d * kernel_h * kernel_w;
    const __global data_t *w = w_base + w_offset + ((long)group * filters + (long)panel * TILE_M) * w_stride_k;
    __global acc_t *packed = packed_base + packed_offset +
                              ((long)group * panels + panel) * channels * taps * TILE_M;
    const int rows = min(TILE_M, filters - panel * TILE_M);
    for (int c = 0; c < channels; ++c)
        for (int d = 0; d < kernel_d; ++d)
            for (int h = 0; h < kernel_h; ++h)
                for (int s = 0; s < kernel_w; ++s) {
                    const __global data_t *tap =
                        w + c * w_stride_c + d * w_stride_d + h * w_stride_h + s * w_stride_w;
                    for (int m = 0; m < TILE_M; ++m)
                        packed[m] = m < rows ? load_one(tap, m * w_stride_k) : 0.0f;
                    packed += TILE_M;
                }
}

// What a register tile's rows do with their accumulators, written out so that they stay registers.
#define EACH_ROW(STEP) \
    REPEAT_16(STEP)
#define START_ONE(i, j) acc[(i) * TILE_NV + (j)] = (vf)(start);
#define START_ROW(i) \
    if ((i) < TILE_M) { \
        const acc_t start = starts[i]; \
        TILE_ROW_EACH(i, TILE_NV, START_ONE) \
    }
#define JOIN_ONE(i, j) acc[(i) * TILE_NV + (j)] += load_private(tile + (i) * TILE_N + (j) * VW);
#define JOIN_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, JOIN_ONE) \
    }
#define ACTIVATE_ONE(i, j) acc[(i) * TILE_NV + (j)] = activate(acc[(i) * TILE_NV + (j)], ACT_ARGS);
#define ACTIVATE_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, ACTIVATE_ONE) \
    }
#define STORE_ONE(i, j) \
    store_vf_either(acc[(i) * TILE_NV + (j)], out + (i) * y_stride_c + (j) * VW * Y_UNITS, VW, Y_UNITS);
#define STORE_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, STORE_ONE) \
    }
#if DATA_BYTES == 2
#define JOIN_OUT_ONE(i, j) acc[(i) * TILE_NV + (j)] += load_acc(sums + (i) * TILE_N + (j) * VW);
#define WAIT_ONE(i, j) store_acc(acc[(i) * TILE_NV + (j)], sums + (i) * TILE_N + (j) * VW);
#define WAIT_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, WAIT_ONE) \
    }
#else
#define JOIN_OUT_ONE(i, j) acc[(i) * TILE_NV + (j)] += load_vf(out + (i) * y_stride_c + (j) * VW);
#endif
#define JOIN_OUT_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, JOIN_OUT_ONE) \
    }
#define SPILL_ONE(i, j) store_private(acc[(i) * TILE_NV + (j)], tile + (i) * TILE_N + (j) * VW);
#define SPILL_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, SPILL_ONE) \
    }

// VALUE(j), vectors from element j of a run on, to a panel's row. The last vector must not write into the next
// row: it is moved back, or stored in part where the run is shorter than a vector. Within its own row a vector
// may write too far, since the next run comes later.
#define STORE_RUN(VALUE, to, first, length) \
    for (int j = 0; j < (length); j += VW) { \
        if ((first) + j + VW <= TILE_N) { \
            store_private(VALUE(j), (to) + j); \
        } else if ((length) >= VW) { \
            store_private(VALUE((length) - VW), (to) + (length) - VW); \
        } else { \
            acc_t lanes[VW]; \
            store_private(VALUE(j), lanes); \
            for (int i = 0; j + i < (length); ++i) \
                (to)[j + i] = lanes[i]; \
        } \
    }

// Patches of one run for neighbouring taps of one row of the filter, a row of the panel each.
inline void copy_taps(const __global data_t *row, const __global data_t *end, long x_stride, int in_w, int column,
                      int taps, int stride, int dilation, int first, int length, acc_t *image_row,
                      acc_t *phase_row, acc_t *to)
{
#define ZERO(j) ((vf)(0.0f))
#define HERE(j) load_vf(source + (j))
#define EVEN_HERE(j) even_elements(load_vf(source + 2 * (j)), load_vf(source + 2 * (j) + VW))
#define COPIED(j) load_private(source + (j))
    const long span = (long)(length - 1) * stride + (long)(taps - 1) * dilation + 1;
    const int is_inside = x_stride == 1 && column >= 0 && column + span <= in_w;
    if (is_inside && stride == 1 && row + column + span + VW <= end) {
        for (int s = 0; s < taps; ++s, to += TILE_N) {
            const __global data_t *source = row + column + s * dilation;
            STORE_RUN(HERE, to, first, length)
        }
        return;
    }
    if (is_inside && stride == 2 && taps == 1 && row + column + span + 2 * VW <= end) {
        const __global data_t *source = row + column;
        STORE_RUN(EVEN_HERE, to, first, length)
        return;
    }
    const int pitch = (int)(span / stride) + 1 + VW;
    if (span > ROW_ROOM || (long)pitch * stride > ROW_ROOM) {
        for (int s = 0; s < taps; ++s, to += TILE_N)
            for (int i = 0; i < length; ++i) {
                const int at = column + s * dilation + i * stride;
                to[i] = at >= 0 && at < in_w ? load_one(row, (long)at * x_stride) : 0.0f;
            }
        return;
    }
    load_padded_row(row, x_stride, in_w, column, (int)span, end, image_row);
    if (stride > 1)
        split_phases(image_row, (int)span, stride, pitch, phase_row);
    for (int s = 0; s < taps; ++s, to += TILE_N) {
        const int shift = s * dilation;
        const acc_t *source = stride == 1 ? image_row + shift : phase_row + shift % stride * pitch + shift / stride;
        STORE_RUN(COPIED, to, first, length)
    }
}

inline void zero_taps(int taps, int first, int length, acc_t *to)
{
    for (int s = 0; s < taps; ++s, to += TILE_N)
        STORE_RUN(ZERO, to, first, length)
}

// The first vector of a panel whose other columns are empty.
ALWAYS_INLINE void multiply_narrow(vf *acc, const __global acc_t *w, const acc_t *panel, int depth)
{
    vf narrow[TILE_M];
#define TAKE(i) \
    if ((i) < TILE_M) \
        narrow[i] = acc[(i) * TILE_NV];
    REPEAT_16(TAKE)
#undef TAKE
    tile_multiply(narrow, TILE_M, 1, w, 1, TILE_M, panel, TILE_N, depth);
#define GIVE(i) \
    if ((i) < TILE_M) \
        acc[(i) * TILE_NV] = narrow[i];
    REPEAT_16(GIVE)
#undef GIVE
}

// A tile that is not whole, or whose columns do not lie one after the other in y, passes through memory.
#define TILE_Y_PARAMS \
    __global data_t *y, const long *offsets, int rows, int count, int direct, long y_stride_c, int y_units
#define TILE_Y y + (long)first_filter * y_stride_c, offsets + p * TILE_N, rows, count, direct, y_stride_c, y_units

#if DATA_BYTES != 2
inline void read_tile(TILE_Y_PARAMS, acc_t *tile)
{
    for (int i = 0; i < TILE_M * TILE_N; i += VW)
        store_private((vf)(0.0f), tile + i);
    if (direct) {
        const __global data_t *from = y + offsets[0];
        for (int m = 0; m < rows; ++m)
            for (int v = 0; v < count; v += VW)
                store_private(load_vf_part(from + m * y_stride_c + v, count - v), tile + m * TILE_N + v);
        return;
    }
    for (int j = 0; j < count; ++j) {
        const __global data_t *from = y + offsets[j];
        for (int m = 0; m < rows; ++m)
            tile[m * TILE_N + j] = from[m * y_stride_c];
    }
}
#endif

inline void write_tile(TILE_Y_PARAMS, const acc_t *tile)
{
    if (direct) {
        __global data_t *to = y + offsets[0];
        for (int m = 0; m < rows; ++m)
            for (int v = 0; v < count; v += VW)
                store_vf_either(load_private(tile + m * TILE_N + v), to + m * y_stride_c + v * Y_UNITS, count - v,
                                Y_UNITS);
        return;
    }
    for (int j = 0; j < count; ++j) {
        __global data_t *to = y + offsets[j];
        for (int m = 0; m < rows; ++m)
            store_either(to + m * y_stride_c, tile[m * TILE_N + j], Y_UNITS);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_implicit_gemm(const __global data_t *restrict x_base, long x_offset,
                             const __global acc_t *restrict w_base, long w_offset,
                             const __global data_t *restrict bias_base, long bias_offset, int flags,
                             __global data_t *restrict y_base, long y_offset, CONV_PARAMS,
                             int filter_items, __global acc_t *restrict waiting_base, long waiting_offset,
                             long waiting_item, SHARES_PARAM, ACT_PARAMS)
{
    ONE_ITEM();
    CONV_UNITS
    const int3 place = group_place(shares);
    const int group = place.z;
    const int positions = out_d * out_h * out_w;
    const long columns = (long)batch * positions;
    const long column_panels = (columns + TILE_N - 1) / TILE_N;
    const int filter_panels = (filters + TILE_M - 1) / TILE_M;

    // This item's share: whole panels of columns and of filters.
    const long items = get_num_groups(0), item = place.x;
    const long column_begin = column_panels * item / items * TILE_N;
    const long column_end = min(columns, column_panels * (item + 1) / items * TILE_N);
    const int panel_begin = filter_panels * place.y / filter_items;
    const int panel_end = filter_panels * (place.y + 1) / filter_items;

    // Depth of the product: rows of the filter, each of kernel_w taps, cut where that is very wide.
    const int taps_most = min(kernel_w, MAX_TAPS);
    const int cuts = (kernel_w + taps_most - 1) / taps_most;
    const int kernel_rows = kernel_d * kernel_h;
    const long depth = (long)channels * kernel_rows * kernel_w;
    const int lines = channels * kernel_rows * cuts;
    const int lines_block = max(1, min(lines, 384 / taps_most));

    const __global data_t *x = x_base + x_offset + group * channels * x_stride_c;
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    const __global acc_t *w = w_base + w_offset + (long)group * filter_panels * depth * TILE_M;
    const __global data_t *bias = bias_base + bias_offset + group * filters * bias_units;
    __global data_t *y = y_base + y_offset + (long)group * filters * y_stride_c;

#if DATA_BYTES == 2
    __global acc_t *waiting = waiting_base + waiting_offset +
                              (((long)group * filter_items + place.y) * items + item) * waiting_item;
#endif

    const int y_is_flat =
        y_stride_w == y_units && y_stride_h == out_w * y_units && y_stride_d == (long)out_h * out_w * y_units;
    // The only row of y is that of x: neither padding, nor of an image that has none.
    const int is_pointwise = kernel_rows == 1 && kernel_w == 1 && x_stride_w == 1 && stride_w == 1 &&
                             in_w == out_w && pad_w == 0 && positions == out_w && pad_h == 0 && pad_d == 0 &&
                             in_h > 0 && in_d > 0;

    acc_t panels[PANEL_ROOM];
    acc_t image_row[ROW_ROOM + 4 * VW];
    acc_t phase_row[ROW_ROOM + 4 * VW];
    acc_t tile[TILE_M * TILE_N];
    struct run runs[MAX_COLUMNS];
    long offsets[MAX_COLUMNS]; // of the block's columns in y

    const int block_depth = lines_block * taps_most;
    const int block_columns = min(MAX_COLUMNS, PANEL_ROOM / (block_depth * TILE_N) * TILE_N);

    for (long column = column_begin; column < column_end; column += block_columns) {
        const int width = (int)min((long)block_columns, column_end - column);
        const int width_panels = (width + TILE_N - 1) / TILE_N;
        const int one_image = column / positions == (column + width - 1) / positions;

        // The block's columns as runs, each in one row of the output.
        int run_count = 0;
        for (int done = 0; done < width;) {
            const long at = column + done;
            const int n = at / positions, p = at % positions;
            const int ow = p % out_w, oh = p / out_w % out_h, od = p / out_w / out_h;
            struct run r;
            r.x_offset = n * x_stride_n;
            r.depth = od * stride_d - pad_d;
            r.row = oh * stride_h - pad_h;
            r.column = ow * stride_w - pad_w;
            r.panel = done / TILE_N * block_depth * TILE_N;
            r.first = done % TILE_N;
            r.length = min(min(out_w - ow, width - done), TILE_N - r.first);
            const long out = n * y_stride_n + od * y_stride_d + oh * y_stride_h + ow * y_stride_w;
            for (int j = 0; j < r.length; ++j)
                offsets[done + j] = out + j * y_stride_w;
            runs[run_count++] = r;
            done += r.length;
        }

        // Columns that a panel has but the block has not.
        if (width % TILE_N)
            for (int i = 0; i < block_depth * TILE_N; i += VW)
                store_private((vf)(0.0f), panels + (width_panels - 1) * block_depth * TILE_N + i);

        int line = 0;
        do {
            const int line_end = min(lines, line + lines_block);
            const long k_begin = (long)(line / cuts) * kernel_w + line % cuts * taps_most;
            int depth_now = 0;

            if (is_pointwise && one_image) {
                const __global data_t *source = x + runs[0].x_offset + runs[0].column + line * x_stride_c;
                for (int k = line; k < line_end; ++k, source += x_stride_c) {
                    acc_t *to = panels + (long)(k - line) * TILE_N;
                    int j = 0;
                    for (; j + TILE_N <= width; j += TILE_N, to += (long)block_depth * TILE_N)
                        for (int v = 0; v < TILE_N; v += VW) {
                            // Rows lie far apart, which the hardware does not foresee.
                            PREFETCH_READ(source + 4 * x_stride_c + j + v);
                            store_private(load_vf(source + j + v), to + v);
                        }
                    for (int v = 0; j < width && v < TILE_N; v += VW)
                        store_private(load_vf_part(source + j + v, width - j - v), to + v);
                }
                depth_now = line_end - line;
            } else {
                for (int l = line; l < line_end; ++l) {
                    const int cut = l % cuts, c = l / cuts / kernel_rows, kr = l / cuts % kernel_rows;
                    const int kd = kr / kernel_h * dilation_d, kh = kr % kernel_h * dilation_h;
                    const int first_tap = cut * taps_most, taps = min(taps_most, kernel_w - first_tap);
                    const __global data_t *plane = x + c * x_stride_c;
                    for (int i = 0; i < run_count; ++i) {
                        const struct run r = runs[i];
                        const int id = r.depth + kd, ih = r.row + kh;
                        acc_t *to = panels + r.panel + depth_now * TILE_N + r.first;
                        if (id < 0 || id >= in_d || ih < 0 || ih >= in_h)
                            zero_taps(taps, r.first, r.length, to);
                        else
                            copy_taps(plane + r.x_offset + id * x_stride_d + ih * x_stride_h, x_end, x_stride_w, in_w,
                                      r.column + first_tap * dilation_w, taps, stride_w, dilation_w, r.first, r.length,
                                      image_row, phase_row, to);
                    }
                    depth_now += taps;
                }
            }

            const int is_first = line == 0, is_last = line_end == lines;
            for (int fp = panel_begin; fp < panel_end; ++fp) {
                const __global acc_t *w_panel = w + (fp * depth + k_begin) * TILE_M;
                const int first_filter = fp * TILE_M;
                const int rows = min(TILE_M, filters - first_filter);
                acc_t starts[TILE_M]; // what the sums of a filter begin with
                for (int m = 0; m < TILE_M; ++m)
                    starts[m] =
                        has_bias && m < rows ? load_either(bias + (first_filter + m) * bias_units, bias_units) : 0.0f;
                for (int p = 0; p < width_panels; ++p) {
                    const acc_t *panel = panels + (long)p * block_depth * TILE_N;
                    const int count = min(TILE_N, width - p * TILE_N);
                    const long begin = offsets[p * TILE_N];
                    const int direct = y_is_flat && offsets[p * TILE_N + count - 1] - begin == (count - 1) * y_units;
                    __global data_t *out = y + begin + (long)first_filter * y_stride_c;
                    vf acc[TILE_M * TILE_NV];
#if DATA_BYTES == 2
                    __global acc_t *sums =
                        waiting + ((fp - panel_begin) * (MAX_COLUMNS / TILE_N) + p) * (TILE_M * TILE_N);
#endif

                    // A block's own sums join those before it in the end: one chain of all would err the more.
                    if (is_first) {
                        EACH_ROW(START_ROW)
                    } else {
                        tile_zero(acc, TILE_M, TILE_NV);
                    }
#if DATA_BYTES == 2
                    if (is_last && direct)
#else
                    if (direct)
#endif
                        for (int m = 0; m < rows; ++m)
                            for (int v = 0; v < TILE_N * y_units; v += 64 / sizeof(data_t))
                                PREFETCH_WRITE(out + m * y_stride_c + v);
                    if (TILE_NV > 1 && count <= VW)
                        multiply_narrow(acc, w_panel, panel, depth_now);
                    else
                        tile_multiply(acc, TILE_M, TILE_NV, w_panel, 1, TILE_M, panel, TILE_N, depth_now);
#if DATA_BYTES == 2
                    if (!is_first) {
                        EACH_ROW(JOIN_OUT_ROW)
                    }
                    if (!is_last) {
                        EACH_ROW(WAIT_ROW)
                        continue;
                    }
#else
                    if (!is_first && direct && rows == TILE_M && count == TILE_N) {
                        EACH_ROW(JOIN_OUT_ROW)
                    } else if (!is_first) {
                        read_tile(TILE_Y, tile);
                        EACH_ROW(JOIN_ROW)
                    }
#endif
                    if (is_last && act_kind != ACT_NONE) {
                        EACH_ROW(ACTIVATE_ROW)
                    }
                    if (direct && rows == TILE_M && count == TILE_N) {
                        EACH_ROW(STORE_ROW)
                    } else {
                        EACH_ROW(SPILL_ROW)
                        write_tile(TILE_Y, tile);
                    }
                }
            }
            line = line_end;
        } while (line < lines);
    }
}
