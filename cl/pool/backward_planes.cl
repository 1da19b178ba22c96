// SPDX-License-Identifier: MIT
// The gradient of pooling for CPU devices where the width is contiguous in memory (NCHW and its kin): one work-item
// per work-group, vectors along rows.
//
// A unit of work is a band of rows of one plane of dx (or a part of one long row), kept in private memory while the
// outputs whose windows meet it are gone through in ascending order; each adds what it has for the band's own
// elements. So bands share nothing, nothing is added atomically, and an element's sum is formed in one order wherever
// bands end.
//
//   husk_pool_backward_planes_max   dy goes to the saved position, if that is the band's: one addition an output
//   husk_pool_backward_planes_anew  the same without positions, which are found in x: lib/pool_anew.clh
//   husk_pool_backward_planes_avg   a row of outputs becomes the row of shares that all rows of its windows get: for
//                                   every phase of the stride a sum of unaligned vectors, or, for large windows, a
//                                   fill: lib/pool_spread.clh
//
// Averages of small windows, which most are, go the other way round: the band's outputs are copied, with zeros around
// them, and every vector of dx gathers its shares, tap by tap: lib/pool_gather.clh. One output for a plane is a fill.
//
// Needs stride 1 of dx and dy along the width. A band is BAND elements at most; windows reach over at most BAND.
//
//   -DVW=4|8|16   floats a vector holds
#include "lib/pool_anew.clh"
#include "lib/pool_bands.clh"
#include "lib/pool_gather.clh"
#include "lib/pool_spread.clh"

// ---- maximum ----

// A row of outputs into the band, whose elements are positions `base` .. base + count - 1; what is not the band's goes
// to the element after them.
POOL_INLINE void scatter_row(const __global data_t *dy, const __global int *positions, long stride, int first,
                             int last, int base, uint count, acc_t *band)
{
    int o = first;
    for (; o + 4 <= last; o += 4) {
        const uint p0 = min((uint)(positions[o * stride] - base), count);
        const uint p1 = min((uint)(positions[(o + 1) * stride] - base), count);
        const uint p2 = min((uint)(positions[(o + 2) * stride] - base), count);
        const uint p3 = min((uint)(positions[(o + 3) * stride] - base), count);
        band[p0] += load_one(dy, o);
        band[p1] += load_one(dy, o + 1);
        band[p2] += load_one(dy, o + 2);
        band[p3] += load_one(dy, o + 3);
    }
    for (; o < last; ++o)
        band[min((uint)(positions[o * stride] - base), count)] += load_one(dy, o);
}

// What a band has come to goes to its totals, and it begins anew: many terms of one sign, one after another, would err
// by more than the bound.
POOL_INLINE void move_band(acc_t *band, acc_t *totals, int count)
{
    for (int i = 0; i < count; i += VW) {
        store_private(load_private(totals + i) + load_private(band + i), totals + i);
        store_private((vf)(0.0f), band + i);
    }
}

// together: rows of outputs after which that is done; 0: never.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_backward_planes_max(POOL_BACKWARD_PARAMS, SAVED_PARAMS, int rows, int columns, int together,
                                   long unit_count, long share)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    vf vectors[BAND / VW + 2]; // aligned
    vf total_vectors[BAND / VW + 2];
    acc_t *band = (acc_t *)vectors, *totals = (acc_t *)total_vectors;
    band_place at = first_place(first, rows, columns, channels, in_d * in_h, in_w);
    for (long unit = first; unit < last; ++unit, next_place(&at, rows, columns, channels, in_d * in_h, in_w)) {
        const int count = (at.last - at.first) * at.columns;
        const int base = at.first * in_w + at.left;
        int added = 0;
        for (int i = 0; i < count; i += VW)
            store_private((vf)(0.0f), band + i);
        for (int i = 0; i < count && together; i += VW)
            store_private((vf)(0.0f), totals + i);
        band[count] = 0.0f;
        BAND_OUTPUTS(od, oh)
        const output_range ow =
            outputs_of(at.left, at.left + at.columns, window_w, stride_w, pad_w, dilation_w, out_w);
        const __global data_t *dy = y_base + y_offset + at.n * y_stride_n + at.c * y_stride_c;
        const long saved = indices_offset + at.n * indices_stride_n + at.c * indices_stride_c;
        for (int d = od.first; d < od.last; ++d) {
            for (int h = oh.first; h < oh.last; ++h) {
                const __global data_t *dy_row = dy + d * y_stride_d + h * y_stride_h;
                const long row = saved + d * indices_stride_d + h * indices_stride_h;
                if (indices_are_long) // little endian: the lower half is the position
                    scatter_row(dy_row, (const __global int *)((const __global long *)indices_base + row),
                                2 * indices_stride_w, ow.first, ow.last, base, (uint)count, band);
                else
                    scatter_row(dy_row, (const __global int *)indices_base + row, indices_stride_w, ow.first, ow.last,
                                base, (uint)count, band);
                if (++added == together) {
                    move_band(band, totals, count);
                    added = 0;
                }
            }
        }
        if (together)
            move_band(band, totals, count);
        store_band(together ? totals : band, at, in_h, x_base + x_offset + at.n * x_stride_n + at.c * x_stride_c,
                   x_stride_d, x_stride_h, accumulate);
    }
}

// ---- maximum, found anew ----

// Elements past the caches, but for those before and behind whole vectors.
POOL_INLINE void copy_past(const __global data_t *from, __global data_t *to, int count)
{
    int i = min(count, (int)(-((ulong)to / DATA_BYTES) % VW));
    store_vf_part(load_vf_part(from, i), to, i);
    for (; i + VW <= count; i += VW)
        STREAM_VF(load_vf(from + i), to + i);
    store_vf_part(load_vf_part(from + i, count - i), to + i, count - i);
}

// The band's strips. stage: where they go first, if they are to go past the caches, else NULL.
POOL_INLINE void find_band(int window, int stride, band_place at, __global data_t *stage, POOL_BACKWARD_PARAMS,
                           ANEW_PARAMS)
{
    const int advance = VW - (window - 1) / stride; // outputs from a strip to the next
    const int o_h = cover_first(at.first + pad_h, window, stride, 1);
    const int o_w = cover_first(at.left + pad_w, window, stride, 1);
    const int right = at.left + at.columns;
    const __global data_t *x = source_base + source_offset, *dy = y_base + y_offset;
    anew_strip strip;
    strip.x_begin = x;
    strip.x_end = x + (batch - 1) * source_stride_n + (channels - 1) * source_stride_c +
                  (in_h - 1) * source_stride_h + in_w;
    strip.dy_begin = dy;
    strip.dy_end = dy + (batch - 1) * y_stride_n + (channels - 1) * y_stride_c + (out_h - 1) * y_stride_h + out_w;
    strip.x_stride = source_stride_h;
    strip.dy_stride = y_stride_h;
    strip.dx_stride = stage ? at.columns : x_stride_h;
    strip.ahead = (at.last - at.first) * source_stride_h;
    strip.top = o_h * stride - pad_h;
    strip.in_h = in_h;
    strip.first = at.first - strip.top;
    strip.rows = at.last - strip.top;
    strip.outputs = out_h - o_h;
    strip.in_w = in_w;
    strip.accumulate = accumulate;
    x += at.n * source_stride_n + at.c * source_stride_c + strip.top * source_stride_h;
    dy += at.n * y_stride_n + at.c * y_stride_c + o_h * y_stride_h;
    __global data_t *to_dx = x_base + x_offset + at.n * x_stride_n + at.c * x_stride_c + at.first * x_stride_h;
    __global data_t *dx = (stage ? stage - at.left : to_dx) - strip.first * strip.dx_stride;
    bool is_right = true;
#define MAKE_STRIPS(exact) \
    for (int o = o_w, from = at.left; from < right; o += advance) { \
        const int distance = stride == 1 ? 1 : VW; /* of a row's loads */ \
        strip.left = o * stride - pad_w; \
        strip.x = x + strip.left; \
        strip.dy = dy + o; \
        strip.dx = dx + strip.left; \
        strip.alive = lanes_between(-o, out_w - o); \
        strip.floor = BLEND((vf)(0.0f), (vf)(-INFINITY), expand_mask(strip.alive)); \
        for (int i = 0; i < 3; ++i) \
            strip.inside[i] = lanes_between(-strip.left - i * distance, in_w - strip.left - i * distance); \
        const int to = min(right, strip.left + stride * VW); \
        for (int i = 0; i < 2; ++i) \
            strip.own[i] = lanes_between(from - strip.left - i * VW, to - strip.left - i * VW); \
        is_right &= anew_make(exact, window, stride, &strip); \
        from = to; \
    }
    if (!accumulate) {
        MAKE_STRIPS(false)
    }
    if (accumulate || !is_right) {
        MAKE_STRIPS(true)
    }
#undef MAKE_STRIPS
    if (stage && x_stride_h == at.columns) {
        copy_past(stage, to_dx, (at.last - at.first) * at.columns);
    } else if (stage) {
        for (int h = at.first; h < at.last; ++h, stage += at.columns, to_dx += x_stride_h)
            copy_past(stage, to_dx + at.left, at.columns);
    }
}

// Needs windows of 2 x 2 or 3 x 3 at stride 1 or 2, no depth and no dilation, x and dx of stride 1 along the width.
// stage: a band for every work-group, where dx is larger than the caches.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_backward_planes_anew(POOL_BACKWARD_PARAMS, ANEW_PARAMS, __global data_t *stage_base,
                                    long stage_offset, int rows, int columns, long unit_count, long share)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    __global data_t *stage = stage_base ? stage_base + stage_offset + (long)get_group_id(0) * rows * columns : 0;
    band_place at = first_place(first, rows, columns, channels, in_h, in_w);
#define FIND_BANDS(window, stride) \
    for (long unit = first; unit < last; ++unit, next_place(&at, rows, columns, channels, in_h, in_w)) \
        find_band(window, stride, at, stage, POOL_BACKWARD_ARGS, ANEW_ARGS);
    if (window_w == 3 && stride_w == 2) {
        FIND_BANDS(3, 2)
    } else if (window_w == 3) {
        FIND_BANDS(3, 1)
    } else if (stride_w == 2) {
        FIND_BANDS(2, 2)
    } else {
        FIND_BANDS(2, 1)
    }
#undef FIND_BANDS
    if (stage)
        END_STREAM();
}

// ---- average ----

// One output a plane, whose window is all of it.
POOL_INLINE void fill_plane(acc_t value, int count, __global data_t *dx, int accumulate)
{
    for (int i = 0; i < count; i += VW) {
        const vf before = accumulate ? load_vf_part(dx + i, count - i) : (vf)(0.0f);
        store_vf_part((vf)(value) + before, dx + i, count - i);
    }
}

// by_fills: 1 where spread_by_fills is to be taken.
__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_pool_backward_planes_avg(POOL_BACKWARD_PARAMS, int rows, int columns, int by_fills, long unit_count,
                                   long share)
{
    ONE_ITEM();
    const long first = get_group_id(0) * share;
    const long last = min(first + share, unit_count);
    vf band_vectors[BAND / VW + 2], share_vectors[BAND / VW + 4]; // aligned
    acc_t *band = (acc_t *)band_vectors, *shares = (acc_t *)share_vectors;
    acc_t values[2 * BAND + 4 * VW], scales[2 * BAND + 4 * VW];
    output_row row = {values, 0, 0, 0, 0, 0};
    int scaled_left = -1; // of the band that `scales` are for

    const bool is_one = out_d == 1 && out_h == 1 && out_w == 1 && window_d == in_d && window_h == in_h &&
                        window_w == in_w && pad_d + pad_h + pad_w == 0 && dilation_d + dilation_h + dilation_w == 3 &&
                        rows >= in_d * in_h && columns >= in_w &&
                        (x_stride_h == in_w || in_h == 1) && (x_stride_d == (long)in_h * in_w || in_d == 1);
    const acc_t share_of_one = 1.0f / (acc_t)((long)in_d * in_h * in_w);
    acc_t copies[GATHER_ROOM + 2 * VW];
    gathered from = {copies, 0, 0, out_w + 2 * ((window_w - 1) * dilation_w + VW), (window_w - 1) * dilation_w};
    const bool gathers = !is_one && can_gather(rows, columns, POOL_BACKWARD_ARGS);
    if (gathers) {
        for (int i = 0; i < GATHER_ROOM + 2 * VW; i += VW) // beside outputs it stays so
            store_private((vf)(0.0f), copies + i);
        for (int i = 0; i < out_w + VW; ++i)
            scales[i] = i < out_w ? cover_scale(i, window_w, stride_w, pad_w, dilation_w, in_w, limit_w, count_pad)
                                  : 0.0f;
    }
    band_place at = first_place(first, rows, columns, channels, in_d * in_h, in_w);
    for (long unit = first; unit < last; ++unit, next_place(&at, rows, columns, channels, in_d * in_h, in_w)) {
        if (is_one) {
            fill_plane(load_one(y_base, y_offset + at.n * y_stride_n + at.c * y_stride_c) * share_of_one,
                       in_d * in_h * in_w, x_base + x_offset + at.n * x_stride_n + at.c * x_stride_c, accumulate);
            continue;
        }
        if (gathers) {
            copy_shares(&from, scales, at, POOL_BACKWARD_ARGS);
            gather_band(&from, at, POOL_BACKWARD_ARGS);
            continue;
        }
        BAND_OUTPUTS(od, oh)
        if (scaled_left != at.left) {
            const output_range ow =
                outputs_of(at.left, at.left + at.columns, window_w, stride_w, pad_w, dilation_w, out_w);
            const int reach = at.left + pad_w - (window_w - 1) * dilation_w;
            row.from = at.left + pad_w;
            row.columns = at.columns;
            row.first = ow.first;
            row.last = ow.last;
            row.lowest = reach >= 0 ? reach / stride_w : -((stride_w - 1 - reach) / stride_w);
            // Up to the output of the last column, and a vector that begins there.
            const int span = (at.left + at.columns - 1 + pad_w) / stride_w - row.lowest + 1 + VW;
            for (int i = 0; i < span; ++i) {
                const int o = row.lowest + i;
                values[i] = 0.0f;
                scales[i] = o >= ow.first && o < ow.last
                                ? cover_scale(o, window_w, stride_w, pad_w, dilation_w, in_w, limit_w, count_pad)
                                : 0.0f;
            }
            scaled_left = at.left;
        }

        for (int i = 0; i < (at.last - at.first) * at.columns; i += VW)
            store_private((vf)(0.0f), band + i);
        for (int d = od.first; d < od.last; ++d) {
            const acc_t scale_d = cover_scale(d, window_d, stride_d, pad_d, dilation_d, in_d, limit_d, count_pad);
            for (int h = oh.first; h < oh.last; ++h) {
                const acc_t scale =
                    scale_d * cover_scale(h, window_h, stride_h, pad_h, dilation_h, in_h, limit_h, count_pad);
                const __global data_t *dy = y_base + y_offset + at.n * y_stride_n + at.c * y_stride_c +
                                            d * y_stride_d + h * y_stride_h;
                for (int o = row.first; o < row.last; o += VW) { // past the last one zeros stay: scales are 0 there
                    const int i = o - row.lowest;
                    const vf value = load_vf_part(dy + o, row.last - o) * (load_private(scales + i) * scale);
                    store_private(o + VW <= row.last ? value : LANES < (vi)(row.last - o) ? value : (vf)(0.0f),
                                  values + i);
                }
                if (by_fills)
                    spread_by_fills(row, window_w, stride_w, shares);
                else
                    spread_by_phases(row, window_w, stride_w, dilation_w, shares);
                store_private((vf)(0.0f), shares + row.columns); // whole vectors are added to the band's rows
                for (int i = window_first(d * stride_d - pad_d, dilation_d); i < window_d; ++i) {
                    const int z = d * stride_d - pad_d + i * dilation_d;
                    if (z >= d_last)
                        break;
                    for (int j = window_first(h * stride_h - pad_h, dilation_h); j < window_h; ++j) {
                        const int line = h * stride_h - pad_h + j * dilation_h;
                        const int to = z * in_h + line;
                        if (line >= in_h || to >= at.last)
                            break;
                        if (to < at.first)
                            continue;
                        acc_t *band_row = band + (to - at.first) * at.columns;
                        for (int k = 0; k < at.columns; k += VW)
                            store_private(load_private(band_row + k) + load_private(shares + k), band_row + k);
                    }
                }
            }
        }
        store_band(band, at, in_h, x_base + x_offset + at.n * x_stride_n + at.c * x_stride_c, x_stride_d, x_stride_h,
                   accumulate);
    }
}
