// SPDX-License-Identifier: MIT
// The gradient of convolution by its weights, on CPUs, as a matrix product whose factors are never stored whole
// (implicit GEMM, arXiv 1410.0759): one work-item is a work-group and computes with explicit vectors.
//
//   dw[row][filter] = sum over p of patch[row][p] * dy[p][filter]
//   row = (channel, depth, row, column of the filter), p = (image, depth, row, column of dy)
//
// The positions are cut into slices by the shape alone, and a slice into blocks of BLOCK_P. A work-item takes a
// slice, some rows and some filters of a group. For every block it transposes dy into panels [p][TILE_N filters], which
// stay in the second-level cache; then, for every TILE_M rows, it copies their patches, a row of the image after the
// other, and sweeps the panels with a register tile. In between the sums wait in `parts`, [slice][group][panel][row]
// [TILE_N]. Every element's sum is in the order of the positions, slices apart, which are added in their order: the
// same bits however the work is divided. One slice alone is written to dw at its end, several are added by the second
// kernel.
//
// Transposing costs 0.4 cycles an element of dy, shared by the item's rows; copying 1/16 to 1/4 of the tile's work
// divided by the panels that share it (most where rows are short or not contiguous).
//
//   VW       4, 8 or 16: floats in a vector; -DHALF_VECTORS with -DDTYPE_F64, see lib/vector.clh
//   TILE_M   1..16, at most VW where VW is 16: rows in a register tile
//   TILE_NV  1..3: vectors of filters in a register tile, TILE_N = TILE_NV*VW
#include "lib/tile.clh"
#include "lib/long_sum.clh"
#include "lib/convolution.clh"
#include "lib/filter_gradient.clh"

#define BLOCK_P 256
#ifdef DTYPE_F64
#define PANEL_ROOM (16 * 16 * BLOCK_P)
#else
#define PANEL_ROOM (16 * 32 * BLOCK_P)
#endif
// Rows of patches lie this far apart: a power of two would put them all in one set of the cache.
#define A_ROW (BLOCK_P + VW)
#define MAX_PANELS (PANEL_ROOM / (BLOCK_P * TILE_N))

// Positions that lie in one row of dy.
struct run {
    long x_offset, y_offset;
    int depth, row, column; // of x, at the filter's first element: may lie in the padding
    int first, length;      // in the block
};

inline int find_runs(struct run *runs, long begin, int count, CONV_PARAMS)
{
    const long positions = (long)out_d * out_h * out_w;
    int made = 0;
    for (int done = 0; done < count; ++made) {
        const long at = begin + done;
        const long n = at / positions, p = at % positions;
        const int ow = p % out_w, oh = p / out_w % out_h, od = (int)(p / out_w / out_h);
        struct run r;
        r.x_offset = n * x_stride_n;
        r.y_offset = n * y_stride_n + od * y_stride_d + oh * y_stride_h + ow * y_stride_w;
        r.depth = od * stride_d - pad_d;
        r.row = oh * stride_h - pad_h;
        r.column = ow * stride_w - pad_w;
        r.first = done;
        r.length = min(out_w - ow, count - done);
        runs[made] = r;
        done += r.length;
    }
    return made;
}

// ---- dy ----

// Filters x positions, VW x VW at most, to to[p * TILE_N + filter]; what is missing of the filters becomes zeros.
inline void transpose_block(const __global data_t *from, long stride, int filters, int positions, acc_t *to)
{
    vf block[VW];
    if (filters == VW && positions >= VW) {
#define LOAD(i) \
    if ((i) < VW) \
        block[i] = load_vf(from + (i) * stride);
        REPEAT_16(LOAD)
#undef LOAD
    } else {
        acc_t part[VW * VW];
        for (int i = 0; i < VW; ++i)
            store_private(i < filters ? load_vf_part(from + i * stride, positions) : (vf)(0.0f), part + i * VW);
#define RELOAD(i) \
    if ((i) < VW) \
        block[i] = load_private(part + (i) * VW);
        REPEAT_16(RELOAD)
#undef RELOAD
    }
    transpose_vf(block);
#define STORE(i) \
    if ((i) < VW && (i) < positions) \
        store_private(block[i], to + (i) * TILE_N);
    REPEAT_16(STORE)
#undef STORE
}

// Positions that follow one another in dy, of TILE_N filters.
inline void stage_positions(const __global data_t *dy, long y_stride_c, long y_stride_w, int filters, int length,
                            acc_t *to)
{
    if (y_stride_c == 1) {
        for (int p = 0; p < length; ++p)
            for (int v = 0; v < TILE_N; v += VW)
                store_private(load_vf_part(dy + p * y_stride_w + v, clamp(filters - v, 0, VW)), to + p * TILE_N + v);
    } else if (y_stride_w == 1) {
        for (int v = 0; v < TILE_N; v += VW)
            for (int p = 0; p < length; p += VW)
                transpose_block(dy + v * y_stride_c + p, y_stride_c, clamp(filters - v, 0, VW), length - p,
                                to + p * TILE_N + v);
    } else {
        for (int p = 0; p < length; ++p)
            for (int k = 0; k < TILE_N; ++k)
                to[p * TILE_N + k] = k < filters ? load_one(dy, k * y_stride_c + p * y_stride_w) : 0.0f;
    }
}

// ---- patches ----

// Elements column, column + stride ... of a row of x, zero where it has none. Up to VW elements past the run's end are
// written, too: the next run comes later.
inline void copy_run(const __global data_t *row, long x_stride, int extent, int column, int stride, int length,
                     const __global data_t *end, acc_t *to)
{
    const int low = column < 0 ? min((stride - 1 - column) / stride, length) : 0;
    const int high = column >= extent ? low : clamp((extent - column + stride - 1) / stride, low, length);
    for (int i = 0; i < low; i += VW)
        store_private((vf)(0.0f), to + i);
    int i = low;
    if (x_stride == 1 && stride == 1) {
        const __global data_t *from = row + column;
        for (; i < high && from + i + VW <= end; i += VW)
            store_private(load_vf(from + i), to + i);
    } else if (x_stride == 1 && stride == 2) {
        const __global data_t *from = row + column;
        for (; i < high && from + 2 * i + 2 * VW <= end; i += VW)
            store_private(even_elements(load_vf(from + 2 * i), load_vf(from + 2 * i + VW)), to + i);
    }
    for (; i < high; ++i)
        to[i] = load_one(row, (column + (long)i * stride) * x_stride);
    for (i = high; i < length; i += VW)
        store_private((vf)(0.0f), to + i);
}

// One row of the product: channel c, element (d, h, s) of the filter.
inline void copy_patch(const __global data_t *x, const __global data_t *end, const struct run *runs, int run_count,
                       int d, int h, int s, acc_t *to, CONV_PARAMS)
{
    for (int i = 0; i < run_count; ++i) {
        const struct run r = runs[i];
        const int id = r.depth + d * dilation_d, ih = r.row + h * dilation_h;
        if (id < 0 || id >= in_d || ih < 0 || ih >= in_h) {
            for (int j = 0; j < r.length; j += VW)
                store_private((vf)(0.0f), to + r.first + j);
            continue;
        }
        copy_run(x + r.x_offset + id * x_stride_d + ih * x_stride_h, x_stride_w, in_w, r.column + s * dilation_w,
                 stride_w, r.length, end, to + r.first);
    }
}

#define EACH_ROW(STEP) REPEAT_16(STEP)
#define JOIN_ONE(i, j) acc[(i) * TILE_NV + (j)] += load_acc(parts + (i) * TILE_N + (j) * VW);
#define JOIN_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, JOIN_ONE) \
    }
#define STORE_ONE(i, j) store_acc(acc[(i) * TILE_NV + (j)], parts + (i) * TILE_N + (j) * VW);
#define STORE_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, STORE_ONE) \
    }
#define SPILL_ONE(i, j) store_private(acc[(i) * TILE_NV + (j)], tile + (i) * TILE_N + (j) * VW);
#define SPILL_ROW(i) \
    if ((i) < TILE_M) { \
        TILE_ROW_EACH(i, TILE_NV, SPILL_ONE) \
    }

// A tile of which only the first vector has filters.
ALWAYS_INLINE void multiply_narrow(vf *acc, const acc_t *a, const acc_t *panel, int count)
{
    vf narrow[TILE_M];
#define TAKE(i) \
    if ((i) < TILE_M) \
        narrow[i] = acc[(i) * TILE_NV];
    REPEAT_16(TAKE)
#undef TAKE
    tile_multiply(narrow, TILE_M, 1, a, A_ROW, 1, panel, TILE_N, count);
#define GIVE(i) \
    if ((i) < TILE_M) \
        acc[(i) * TILE_NV] = narrow[i];
    REPEAT_16(GIVE)
#undef GIVE
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_panels(const __global data_t *restrict x_base, long x_offset,
                                       const __global data_t *restrict dy_base, long dy_offset,
                                       __global acc_t *restrict parts_base, long parts_offset,
                                       __global data_t *restrict dw_base, long dw_offset, CONV_PARAMS, int filter_items,
                                       int writes_dw, W_STRIDES_PARAMS)
{
    ONE_ITEM();
    W_UNITS
    const long total = (long)batch * out_d * out_h * out_w;
    const long blocks = (total + BLOCK_P - 1) / BLOCK_P;
    const int slice = get_group_id(0), slices = get_num_groups(0);
    const int group = get_group_id(2) / filter_items, filter_item = get_group_id(2) % filter_items;
    const long begin = min(total, blocks * slice / slices * BLOCK_P);
    const long end = min(total, blocks * (slice + 1) / slices * BLOCK_P);

    const int kernel_size = kernel_d * kernel_h * kernel_w;
    const int rows = channels * kernel_size, tiles = (rows + TILE_M - 1) / TILE_M;
    const int tile_begin = (int)((long)tiles * get_group_id(1) / get_num_groups(1));
    const int tile_end = (int)((long)tiles * (get_group_id(1) + 1) / get_num_groups(1));
    const int all_panels = (filters + TILE_N - 1) / TILE_N;
    const int panels_begin = all_panels * filter_item / filter_items;
    const int panels_end = all_panels * (filter_item + 1) / filter_items;

    const __global data_t *x = x_base + x_offset + (long)group * channels * x_stride_c;
    const __global data_t *x_end = x_base + x_offset + (batch - 1) * x_stride_n +
                                   (groups * channels - 1) * x_stride_c + (in_d - 1) * x_stride_d +
                                   (in_h - 1) * x_stride_h + (in_w - 1) * x_stride_w + 1;
    const __global data_t *dy = dy_base + dy_offset + (long)group * filters * y_stride_c;
    __global data_t *dw = dw_base + dw_offset + (long)group * filters * w_stride_k;
    __global acc_t *own_parts = parts_base + parts_offset +
                                 ((long)slice * groups + group) * all_panels * tiles * (TILE_M * TILE_N);
    const int w_is_flat = (w_stride_w == w_units || kernel_w == 1) &&
                          (w_stride_h == kernel_w * w_units || kernel_h == 1) &&
                          (w_stride_d == (long)kernel_h * kernel_w * w_units || kernel_d == 1) &&
                          (w_stride_c == (long)kernel_size * w_units || channels == 1);
    const int y_is_flat = y_stride_h == out_w * y_stride_w && y_stride_d == out_h * y_stride_h;

    acc_t panels[PANEL_ROOM];
    acc_t patches[TILE_M * A_ROW];
    acc_t tile[16 * TILE_N];
    struct run runs[BLOCK_P];
    for (int i = 0; i < 16 * TILE_N; i += VW)
        store_private((vf)(0.0f), tile + i);

    for (int first_panel = panels_begin; first_panel < panels_end; first_panel += MAX_PANELS) {
        const int panel_count = min(MAX_PANELS, panels_end - first_panel);
        for (long p = begin; p < end; p += BLOCK_P) {
            const int count = (int)min((long)BLOCK_P, end - p);
            const int run_count = find_runs(runs, p, count, CONV_ARGS);
            for (int i = 0; i < run_count;) {
                // Rows that follow one another in dy are one run here. Those of two images do not, though both may read
                // the same x, where that is expanded.
                int length = runs[i].length, next = i + 1;
                while (y_is_flat && next < run_count &&
                       runs[next].y_offset == runs[i].y_offset + length * y_stride_w)
                    length += runs[next++].length;
                for (int j = 0; j < panel_count; ++j) {
                    const int first_filter = (first_panel + j) * TILE_N;
                    stage_positions(dy + runs[i].y_offset + first_filter * y_stride_c, y_stride_c, y_stride_w,
                                    filters - first_filter, length,
                                    panels + j * (BLOCK_P * TILE_N) + runs[i].first * TILE_N);
                }
                i = next;
            }
            for (int t = tile_begin; t < tile_end; ++t) {
                const int first_row = t * TILE_M, here = min(TILE_M, rows - first_row);
                for (int i = 0; i < TILE_M; ++i) {
                    acc_t *to = patches + i * A_ROW;
                    if (i >= here) {
                        for (int j = 0; j < count; j += VW)
                            store_private((vf)(0.0f), to + j);
                        continue;
                    }
                    const int tap = (first_row + i) % kernel_size, c = (first_row + i) / kernel_size;
                    copy_patch(x + c * x_stride_c, x_end, runs, run_count, tap / kernel_w / kernel_h,
                               tap / kernel_w % kernel_h, tap % kernel_w, to, CONV_ARGS);
                }
                for (int j = 0; j < panel_count; ++j) {
                    const int first_filter = (first_panel + j) * TILE_N;
                    const acc_t *panel = panels + j * (BLOCK_P * TILE_N);
                    __global acc_t *parts =
                        own_parts + ((long)(first_panel + j) * tiles + t) * (TILE_M * TILE_N);
                    // A block's own sums join those before it in the end: one chain of all would err the more.
                    vf acc[TILE_M * TILE_NV];
                    tile_zero(acc, TILE_M, TILE_NV);
                    if (TILE_NV > 1 && filters - first_filter <= VW)
                        multiply_narrow(acc, patches, panel, count);
                    else
                        tile_multiply(acc, TILE_M, TILE_NV, patches, A_ROW, 1, panel, TILE_N, count);
                    if (p > begin) {
                        EACH_ROW(JOIN_ROW)
                    }
                    if (!writes_dw || p + BLOCK_P < end) {
                        EACH_ROW(STORE_ROW)
                        continue;
                    }
                    EACH_ROW(SPILL_ROW)
                    for (int v = 0; v < TILE_N && first_filter + v < filters; v += VW)
                        for (int i = 0; i < here; i += VW)
                            write_block(tile + i * TILE_N + v, TILE_N, dw + (first_filter + v) * w_stride_k,
                                        first_row + i, min(VW, here - i), min(VW, filters - first_filter - v),
                                        w_is_flat, kernel_d, kernel_h, kernel_w, W_STRIDES);
                }
            }
        }
    }
}

// Several slices, or none at all (an empty batch), into dw: the groups of get_group_id(1), some of its tiles.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_panels_reduce(const __global acc_t *restrict parts_base, long parts_offset,
                                              __global data_t *restrict dw_base, long dw_offset, int slices, int groups,
                                              int channels, int filters, int kernel_d, int kernel_h, int kernel_w,
                                              W_STRIDES_PARAMS)
{
    ONE_ITEM();
    W_UNITS
    const int kernel_size = kernel_d * kernel_h * kernel_w;
    const int rows = channels * kernel_size, tiles = (rows + TILE_M - 1) / TILE_M;
    const int all_panels = (filters + TILE_N - 1) / TILE_N;
    const int group = get_group_id(1);
    const long slice_size = (long)groups * all_panels * tiles * (TILE_M * TILE_N);
    const long items = get_num_groups(0), item = get_group_id(0);
    const int w_is_flat = (w_stride_w == w_units || kernel_w == 1) &&
                          (w_stride_h == kernel_w * w_units || kernel_h == 1) &&
                          (w_stride_d == (long)kernel_h * kernel_w * w_units || kernel_d == 1) &&
                          (w_stride_c == (long)kernel_size * w_units || channels == 1);
    const __global acc_t *parts = parts_base + parts_offset +
                                   (long)group * all_panels * tiles * (TILE_M * TILE_N);
    __global data_t *dw = dw_base + dw_offset + (long)group * filters * w_stride_k;
    acc_t tile[16 * TILE_N];
    for (int i = 0; i < 16 * TILE_N; i += VW)
        store_private((vf)(0.0f), tile + i);
    const long count = (long)all_panels * tiles;
    for (long at = count * item / items; at < count * (item + 1) / items; ++at) {
        const int first_filter = (int)(at / tiles) * TILE_N, first_row = (int)(at % tiles) * TILE_M;
        const int here = min(TILE_M, rows - first_row);
        for (int i = 0; i < TILE_M * TILE_N; i += VW) {
            vf sum = (vf)(0.0f);
            for (int slice = 0; slice < slices; ++slice)
                sum += load_acc(parts + slice * slice_size + at * (TILE_M * TILE_N) + i);
            store_private(sum, tile + i);
        }
        for (int v = 0; v < TILE_N && first_filter + v < filters; v += VW)
            for (int i = 0; i < here; i += VW)
                write_block(tile + i * TILE_N + v, TILE_N, dw + (first_filter + v) * w_stride_k, first_row + i,
                            min(VW, here - i), min(VW, filters - first_filter - v), w_is_flat, kernel_d, kernel_h,
                            kernel_w, W_STRIDES);
    }
}

// ---- dbias ----

#define SUM_LANE(i) \
    if ((i) < VW) \
        total += lanes[i];

// Some filters each, of all groups: sums of dy over all positions.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_conv_backward_weights_bias(const __global data_t *restrict dy_base, long dy_offset,
                                     __global data_t *restrict dbias_base, long dbias_offset, int batch, int filters,
                                     int out_d, int out_h, int out_w, long y_stride_n, long y_stride_c,
                                     long y_stride_d, long y_stride_h, long y_stride_w, long dbias_stride,
                                     int accumulate)
{
    ONE_ITEM();
    const long items = get_num_groups(0), item = get_group_id(0);
    const int step = y_stride_c == 1 ? VW : 1; // filters at a time
    const int units = (filters + step - 1) / step;
    for (int unit = (int)(units * item / items); unit < (int)(units * (item + 1) / items); ++unit) {
        const int filter = unit * step, here = min(step, filters - filter);
        const __global data_t *dy = dy_base + dy_offset + filter * y_stride_c;
        LONG_SUM_VF(all);
        for (int n = 0; n < batch; ++n)
            for (int d = 0; d < out_d; ++d)
                for (int h = 0; h < out_h; ++h) {
                    const __global data_t *row = dy + n * y_stride_n + d * y_stride_d + h * y_stride_h;
                    const int step = y_stride_c != 1 && y_stride_w == 1 ? VW : 1; // elements of a row at a time
                    // Long: a row may be all of an image, of nearly 2^31 elements.
                    for (long w = 0, stop; w < out_w;) {
                        vf sum = (vf)(0.0f), next = (vf)(0.0f);
                        stop = min(w + LONG_SUM_RUN * step, (long)out_w);
                        if (y_stride_c == 1) {
                            for (; w < stop; ++w)
                                sum += load_vf_part(row + w * y_stride_w, here);
                        } else if (y_stride_w == 1) {
                            for (; w + 2 * VW <= stop; w += 2 * VW) {
                                sum += load_vf(row + w);
                                next += load_vf(row + w + VW);
                            }
                            for (; w < stop; w += VW)
                                sum += load_vf_part(row + w, (int)(stop - w));
                        } else {
                            for (; w < stop; ++w)
                                sum.s0 += load_one(row, w * y_stride_w);
                        }
                        sum += next;
                        LONG_SUM_ADD_VF(all, sum);
                    }
                }
        const vf sum = LONG_SUM_TOTAL_VF(all);
        acc_t lanes[VW];
        store_private(sum, lanes);
        if (y_stride_c != 1) {
            acc_t total = 0.0f;
            REPEAT_16(SUM_LANE)
            lanes[0] = total;
        }
        for (int i = 0; i < here; ++i) {
            const int bias_units = UNITS(accumulate & WIDE);
            __global data_t *to = dbias_base + (dbias_offset + (filter + i) * dbias_stride) * bias_units;
            store_either(to, accumulate & ADDS ? lanes[i] + load_either(to, bias_units) : lanes[i], bias_units);
        }
    }
}
