// SPDX-License-Identifier: MIT
// Attention for CPU devices where few queries meet many keys, as when a text is continued:
// y = softmax(scale q k^T + mask) v.
//
// Keys and values are read once, as they lie, and the memory they come from sets the pace; so nothing is packed. A
// work-group is one work-item. It owns the queries of all heads that share keys, and some of the keys' ranges. LINE
// keys at a time their scores are made, VW at once, each summed across the lanes by a tree of shuffles; weights take
// their place, and the values times them are added to the queries' sums. While scores are made the line's values are
// asked for, and meanwhile the next line's keys, so that memory always has something to do: without that it takes up
// to twice as long, since each phase reads another stream.
//
// Every range begins anew, and what comes of it is added to what the ranges before it came to: by the same work-group
// where that has all ranges, else by the second kernel, in the same order and by the same code. Ranges depend on the
// number of keys alone, so the bits do not depend on the number of work-groups. After Dao and others, "Flash-Decoding
// for long-context inference" (pytorch.org/blog/flash-decoding).
//
//   -DVW                     see lib/vector.clh; f64 takes -DHALF_VECTORS, too
//   -DTILE_M=4 -DTILE_NV=4   rows that are done at once where there are more than one; vectors of values
//   -DLINE=...               scores of a row that are held at once, a multiple of VW
//   -DMOST_ROWS=...          queries of a work-group
//   -DSTATE_FLOATS=...       room for them, and for their sums: 1 row or a multiple of 4, of columns in whole vectors
#include "lib/attention_lines.clh"
#include "lib/reduce.clh"

#if !defined(LINE) || !defined(MOST_ROWS) || !defined(STATE_FLOATS)
#error "LINE, MOST_ROWS and STATE_FLOATS are not set: the host passes them"
#endif

#define LINE_PITCH (LINE + VW)
#define ADD(a, b) ((a) + (b))

// ---- scores ----

// The scores of `rows` rows with VW / rows keys. rows is literal, 1 or 4, and so is is_whole: all keys are there, else
// n are, one at least. q: [columns / VW][rows][VW]. Four keys are read at once: more streams upset processors.
ALWAYS_INLINE void score(acc_t *lines, int rows, const acc_t *q, const __global data_t *k, long k_row, int d, int n,
                         int is_whole)
{
    vf acc[16];
#define ZERO(i) acc[i] = (vf)(0.0f);
    REPEAT_16(ZERO)
#undef ZERO
#define KEY(i, LOAD) LOAD(k + (is_whole ? (i) : min(i, n - 1)) * k_row + j)
#define LOAD_PART(from) load_vf_part(from, d - j)
#define ONE(i, LOAD) acc[i] = MAD(KEY(i, LOAD), q0, acc[i]);
#define ONES(first, LOAD) \
    ONE(first, LOAD) \
    ONE((first) + 1, LOAD) \
    ONE((first) + 2, LOAD) \
    ONE((first) + 3, LOAD)
#define FOUR(i, LOAD) \
    if ((i) < VW / 4) { \
        const vf key = KEY(i, LOAD); \
        acc[i] = MAD(key, q0, acc[i]); \
        acc[VW / 4 + (i)] = MAD(key, load_private(from + VW), acc[VW / 4 + (i)]); \
        acc[VW / 2 + (i)] = MAD(key, load_private(from + 2 * VW), acc[VW / 2 + (i)]); \
        acc[VW / 4 * 3 + (i)] = MAD(key, load_private(from + 3 * VW), acc[VW / 4 * 3 + (i)]); \
    }
#define FOURS(first, LOAD) FOUR(0, LOAD) FOUR(1, LOAD) FOUR(2, LOAD) FOUR(3, LOAD)
#define OVER_COLUMNS(STEP, first) \
    { \
        const acc_t *from = q; \
        int j = 0; \
        for (; j + VW <= d; j += VW, from += rows * VW) { \
            const vf q0 = load_private(from); \
            STEP(first, load_vf) \
        } \
        if (j < d) { \
            const vf q0 = load_private(from); \
            STEP(first, LOAD_PART) \
        } \
    }
    if (rows == 1) {
        OVER_COLUMNS(ONES, 0)
#if VW >= 8
        OVER_COLUMNS(ONES, 4)
#endif
#if VW >= 16
        OVER_COLUMNS(ONES, 8)
        OVER_COLUMNS(ONES, 12)
#endif
    } else {
        OVER_COLUMNS(FOURS, 0)
    }
#undef OVER_COLUMNS
#undef FOURS
#undef FOUR
#undef ONES
#undef ONE
#undef LOAD_PART
#undef KEY
    FOLD_EACH(acc, ADD)
    if (rows == 1) {
        store_private(acc[0], lines);
    } else {
        acc_t each[VW];
        store_private(acc[0], each);
#define KEEP(r) \
    for (int i = 0; i < VW / 4; ++i) \
        lines[(r) * LINE_PITCH + i] = each[(r) * (VW / 4) + i];
        REPEAT_4(KEEP)
#undef KEEP
    }
}

// Rows that are wanted soon.
typedef struct {
    const __global data_t *at;
    long row;
    int rows, columns;
} wanted;

// Asks for rows first .. first + count - 1, so far as they are there.
ALWAYS_INLINE void ask(const wanted *w, int first, int count)
{
    for (int i = first; i < min(first + count, w->rows); ++i)
        for (int j = 0; j < w->columns; j += 64 / DATA_BYTES)
            PREFETCH_FAR(w->at + i * w->row + j);
}

// `count` scores of each of `blocks` times `rows` rows.
ALWAYS_INLINE void score_lines(acc_t *lines, int rows, int blocks, const acc_t *q, int q_block,
                               const __global data_t *k, long k_row, int d, int count, const wanted *next)
{
    const int at_once = VW / rows;
    for (int t = 0; t < count; t += at_once) {
        const int n = min(count - t, at_once);
        ask(next, t, n);
        for (int b = 0; b < blocks; ++b) {
            acc_t *to = lines + b * rows * LINE_PITCH + t;
            if (n == at_once)
                score(to, rows, q + b * q_block, k + t * k_row, k_row, d, n, 1);
            else
                score(to, rows, q + b * q_block, k + t * k_row, k_row, d, n, 0);
        }
    }
}

// ---- values ----

// outputs = outputs * factors + weights times values, of `rows` rows, 1 or 4, and `vectors` vectors of columns, 4 or
// 1; both are literal. One vector may be cut at `columns`.
ALWAYS_INLINE void add_strip(acc_t *outputs, int pitch, const acc_t *factors, int rows, int vectors,
                             const acc_t *lines, const __global data_t *v, long v_row, int columns, int count,
                             const wanted *next)
{
    vf acc[16];
    // The line's own sums, joined with the earlier ones at the end: errors grow with a line and with lines, not with
    // keys. Of one row every fourth key has its own: one alone would wait for itself.
#define BEGIN(r, c) acc[(r) * 4 + (c)] = (vf)(0.0f);
#define LOAD(at, c) (vectors == 4 ? load_vf(v + (at) + (c) * VW) : load_vf_part(v + (at), columns))
#define ADD_ROW(r, c) acc[(r) * 4 + (c)] = MAD((vf)(lines[(r) * LINE_PITCH + t]), value##c, acc[(r) * 4 + (c)]);
#define ADD_KEY(r, c) acc[(r) * 4 + (c)] = MAD((vf)(lines[t + (r)]), LOAD((r) * v_row, c), acc[(r) * 4 + (c)]);
#define ADD_LAST(r, c) acc[c] = MAD((vf)(lines[t]), LOAD(0, c), acc[c]);
#define KEEP(r, c) \
    { \
        acc_t *to = outputs + (r) * pitch + (c) * VW; \
        store_private(MAD(load_private(to), (vf)(factors[r]), acc[(r) * 4 + (c)]), to); \
    }
#define EACH(STEP) \
    TILE_ROW_EACH(0, vectors, STEP) TILE_ROW_EACH(1, vectors, STEP) TILE_ROW_EACH(2, vectors, STEP) \
    TILE_ROW_EACH(3, vectors, STEP)
    EACH(BEGIN)
    int t = 0;
    if (rows == 1) {
        for (; t + 4 <= count; t += 4, v += 4 * v_row) {
            ask(next, t, 4);
            EACH(ADD_KEY)
        }
        for (; t < count; ++t, v += v_row) {
            TILE_ROW_EACH(0, vectors, ADD_LAST)
        }
#define JOIN(r, c) acc[c] = (acc[c] + acc[4 + (c)]) + (acc[8 + (c)] + acc[12 + (c)]);
        TILE_ROW_EACH(0, vectors, JOIN)
#undef JOIN
        TILE_ROW_EACH(0, vectors, KEEP)
    } else {
        for (; t < count; ++t, v += v_row) {
            ask(next, t, 1);
            const vf zero = (vf)(0.0f), value0 = LOAD(0, 0), value1 = vectors == 4 ? LOAD(0, 1) : zero;
            const vf value2 = vectors == 4 ? LOAD(0, 2) : zero, value3 = vectors == 4 ? LOAD(0, 3) : zero;
            EACH(ADD_ROW)
        }
        EACH(KEEP)
    }
#undef BEGIN
#undef LOAD
#undef ADD_ROW
#undef ADD_KEY
#undef ADD_LAST
#undef KEEP
#undef EACH
}

// All columns of `blocks` times `rows` rows.
ALWAYS_INLINE void add_values(acc_t *outputs, int pitch, const acc_t *factors, int rows, int blocks,
                              const acc_t *lines, const __global data_t *v, long v_row, int e, int count, wanted next)
{
    for (int b = 0; b < blocks; ++b, outputs += rows * pitch, factors += rows, lines += rows * LINE_PITCH) {
        int c = 0;
        for (; c + 4 * VW <= e; c += 4 * VW) {
            add_strip(outputs + c, pitch, factors, rows, 4, lines, v + c, v_row, 4 * VW, count, &next);
            next.rows = 0;
        }
        for (; c < e; c += VW) {
            add_strip(outputs + c, pitch, factors, rows, 1, lines, v + c, v_row, e - c, count, &next);
            next.rows = 0;
        }
    }
}

// ---- weights ----

// Scores of one query with `count` keys become weights; factor: what its earlier outputs count for now.
ALWAYS_INLINE void weigh(acc_t *line, const attention *a, int query, int key, int count, acc_t *greatest, acc_t *sums,
                         acc_t *factor)
{
    vf most = (vf)(-INFINITY);
    if (a->mask_kind != MASK_NONE || count % VW != 0 || attention_seen(a, query) < key + count)
        mask_line(line, a, query, key, count);
    for (int t = 0; t < count; t += VW)
        most = greater_vf(load_private(line + t), most);
    const acc_t found = reduce_max(most), now = found > *greatest ? found : *greatest;
    const acc_t shift = now == -INFINITY ? 0.0f : now;
    const vf before = exp2_vf((vf)(*greatest - shift));
    *greatest = now;
    *factor = before.s0;
    store_private(weigh_line(line, count, shift, load_private(sums) * before), sums);
    if (a->threshold)
        drop_line(line, a, query, key, count);
}

// ---- ranges ----

// What a query has come to.
typedef struct {
    acc_t greatest; // of the scores
    acc_t sum;      // of the weights
} extent;

// Adds what a range has come to, outputs too.
ALWAYS_INLINE void add_range(extent *total, acc_t *outputs, const extent *part, const acc_t *part_outputs, int columns)
{
    const acc_t most = part->greatest > total->greatest ? part->greatest : total->greatest;
    const acc_t shift = most == -INFINITY ? 0.0f : most;
    const vf before = exp2_vf((vf)(total->greatest - shift)), now = exp2_vf((vf)(part->greatest - shift));
    total->greatest = most;
    total->sum = MAD(total->sum, before.s0, part->sum * now.s0);
    for (int j = 0; j < columns; j += VW)
        store_private(MAD(load_private(outputs + j), before, load_private(part_outputs + j) * now), outputs + j);
}

ALWAYS_INLINE void finish(const extent *total, const acc_t *outputs, int columns, acc_t keep, __global data_t *y,
                          __global acc_t *log_sum_exp)
{
    const acc_t factor = total->sum == 0.0f ? 0.0f : keep / total->sum;
    for (int j = 0; j < columns; j += VW)
        store_vf_part(load_private(outputs + j) * factor, y + j, columns - j);
    if (log_sum_exp)
        *log_sum_exp = total->sum == 0.0f ? -INFINITY : MAD(total->greatest, LN_2, log(total->sum));
}

#define OUTPUT_PARAMS \
    __global data_t *y_base, long y_offset, long y_batch, long y_head, long y_row, __global acc_t *sums_base, \
    long sums_offset, long sums_batch, long sums_head, long sums_row, int has_sums
#define Y_OF(image, head, query) \
    (y_base + y_offset + (image) * y_batch + (head) * y_head + (query) * y_row)
#define SUMS_OF(image, head, query) \
    (has_sums ? sums_base + sums_offset + (image) * sums_batch + (head) * sums_head + (query) * sums_row : 0)

// A head's queries, without the logarithm's base times scale.
ALWAYS_INLINE void pack_queries(acc_t *q, int at_once, int q_block, const attention *a, long q_head, int rows)
{
    for (int i = 0; i < (rows + at_once - 1) / at_once * at_once; ++i) {
        const __global data_t *from = a->q + i / a->queries * q_head + i % a->queries * a->q_row;
        acc_t *to = q + i / at_once * q_block + i % at_once * VW;
        for (int j = 0; j < a->d; j += VW, to += at_once * VW)
            store_private(i < rows ? load_vf_part(from + j, a->d - j) * a->scale : (vf)(0.0f), to);
    }
}

// at_once: 1 or 4, literal.
#define ATTEND(at_once) \
    do { \
        score_lines(lines, at_once, blocks, q, q_block, a.k + key * k_row, k_row, d, count, &values); \
        for (int i = 0; i < rows; ++i) { \
            attention own = a; \
            own.mask = mask_at(a.mask, mask_kind, i / queries * mask_head); \
            own.first += (long)(i / queries) * queries * keys; \
            weigh(lines + i * LINE_PITCH, &own, i % queries, key, count, &now[i].greatest, sums + i * VW, \
                  &factors[i]); \
        } \
        add_values(outputs, pitch, factors, at_once, blocks, lines, values.at, v_row, e, count, next); \
    } while (0)

// Work-group x does one range, of `range` keys, and leaves what it came to in parts; or it does all, where it is the
// only one. y: of a batch, the heads that share keys.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_ranges(OUTPUT_PARAMS, ATTENTION_PARAMS, __global acc_t *parts_base, long parts_offset,
                                    int range)
{
    ONE_ITEM();
    acc_t q[STATE_FLOATS] __attribute__((aligned(64)));
    acc_t outputs[STATE_FLOATS] __attribute__((aligned(64)));
    acc_t totals[STATE_FLOATS] __attribute__((aligned(64)));
    acc_t lines[MOST_ROWS * LINE_PITCH] __attribute__((aligned(64)));
    acc_t sums[MOST_ROWS * VW], factors[MOST_ROWS];
    extent now[MOST_ROWS], total[MOST_ROWS];
    const int unit = get_group_id(1), kv_heads = heads / group, image = unit / kv_heads;
    const int head = unit % kv_heads * group, rows = group * queries, at_once = rows == 1 ? 1 : 4;
    const int blocks = (rows + at_once - 1) / at_once, pitch = (e + VW - 1) / VW * VW;
    const int q_block = (d + VW - 1) / VW * VW * at_once;
    const int is_part = get_num_groups(0) > 1;
    ATTENTION_OF(a, image, head);
    const int limit = attention_seen(&a, queries - 1);
    int from = get_group_id(0) * range;
    const int end = is_part ? min(from + range, limit) : limit;
    pack_queries(q, at_once, q_block, &a, q_head, rows);
    for (int i = 0; i < rows; ++i) {
        total[i].greatest = -INFINITY;
        total[i].sum = 0.0f;
    }
    for (int i = 0; i < blocks * at_once * pitch; i += VW)
        store_private((vf)(0.0f), totals + i);
    do { // once even where nothing is seen
        const int stop = min(from + range, end);
        for (int i = 0; i < blocks * at_once * pitch; i += VW)
            store_private((vf)(0.0f), outputs + i);
        for (int i = 0; i < blocks * at_once; ++i) {
            now[i].greatest = -INFINITY;
            factors[i] = 0.0f;
            store_private((vf)(0.0f), sums + i * VW);
        }
        for (int key = from; key < stop; key += LINE) {
            const int count = min(stop - key, LINE);
            const wanted values = {a.v + key * v_row, v_row, count, e};
            const wanted next = {a.k + (key + count) * k_row, k_row, min(end - key - count, LINE), d};
            if (rows == 1)
                ATTEND(1);
            else
                ATTEND(4);
        }
        for (int i = 0; i < rows; ++i) {
            now[i].sum = reduce_sum(load_private(sums + i * VW));
            if (is_part) {
                __global acc_t *part =
                    parts_base + parts_offset +
                    (((long)unit * rows + i) * get_num_groups(0) + get_group_id(0)) * (pitch + 2);
                for (int j = 0; j < pitch; j += VW)
                    store_acc(load_private(outputs + i * pitch + j), part + j);
                part[pitch] = now[i].greatest;
                part[pitch + 1] = now[i].sum;
            } else {
                add_range(&total[i], totals + i * pitch, &now[i], outputs + i * pitch, pitch);
            }
        }
        from += range;
    } while (from < end);
    for (int i = 0; i < rows && !is_part; ++i)
        finish(&total[i], totals + i * pitch, e, keep, Y_OF(image, head + i / queries, i % queries),
               SUMS_OF(image, head + i / queries, i % queries));
}

// Work-group x is a query's number in its head, y that of the head in the batch.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_ranges_join(OUTPUT_PARAMS, const __global acc_t *parts_base, long parts_offset, int heads,
                                         int ranges, int e, acc_t keep)
{
    ONE_ITEM();
    acc_t outputs[STATE_FLOATS] __attribute__((aligned(64)));
    acc_t part_outputs[STATE_FLOATS] __attribute__((aligned(64)));
    const int query = get_group_id(0), image = get_group_id(1) / heads, head = get_group_id(1) % heads;
    const int pitch = (e + VW - 1) / VW * VW;
    const __global acc_t *part =
        parts_base + parts_offset + ((long)get_group_id(1) * get_num_groups(0) + query) * ranges * (pitch + 2);
    extent total = {-INFINITY, 0.0f};
    for (int j = 0; j < pitch; j += VW)
        store_private((vf)(0.0f), outputs + j);
    for (int i = 0; i < ranges; ++i, part += pitch + 2) {
        const extent now = {part[pitch], part[pitch + 1]};
        for (int j = 0; j < pitch; j += VW)
            store_private(load_acc(part + j), part_outputs + j);
        add_range(&total, outputs, &now, part_outputs, pitch);
    }
    finish(&total, outputs, e, keep, Y_OF(image, head, query), SUMS_OF(image, head, query));
}
