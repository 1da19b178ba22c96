// SPDX-License-Identifier: MIT
// Attention for CPU devices: y = softmax(scale q k^T + mask) v.
//
// A work-group is one work-item that owns some queries of one head. It packs as many keys and values as PANEL_FLOATS
// has room for; then, for every TILE_M queries and LINE keys at most, a register tile makes the scores, weights take
// their place, and another adds their products with the values to the queries' sums, which are scaled when a larger
// score is met (lib/attention_blocks.clh has the parts and the constants). Where all keys are packed at once a tile's
// sums end in y before the next tile begins, and never leave the first-level cache. Of the time at 1024 keys of 64
// columns the products take 88%, weights 7, packing and the rest 5. After Dao, "FlashAttention-2" (arXiv 2307.08691),
// and the online softmax of Milakov and Gimelshein (arXiv 1805.02867).
#include "lib/attention_blocks.clh"

// Of the rows of a work-group, where chunks of keys follow each other; a tile reads as many more as a vector holds.
#define MOST_ROWS (STATE_ROOM / TILE_N + 16)

// What some queries have come to.
typedef struct {
    acc_t *outputs;  // [row][pitch]
    acc_t *greatest; // [row], of the scores
    acc_t *sums;     // [row][VW], of the weights
    int pitch;
} progress;

ALWAYS_INLINE void begin_rows(progress to, int rows)
{
    for (int i = 0; i < rows * to.pitch; i += VW)
        store_private((vf)(0.0f), to.outputs + i);
    for (int i = 0; i < 16; i += VW)
        store_private((vf)(-INFINITY), to.greatest + i);
    for (int i = 0; i < rows; ++i)
        store_private((vf)(0.0f), to.sums + i * VW);
}

// The greatest of each of `rows` lines, VW at most: lane i has that of line i, others -inf. A NaN is skipped.
ALWAYS_INLINE vf greatest_of_lines(const acc_t *lines, int rows, int count)
{
    vf most[16];
#define START(i) most[i] = (vf)(-INFINITY);
    REPEAT_16(START)
#undef START
    for (int t = 0; t < count; t += VW) {
#define MORE(i) \
    if ((i) < rows) \
        most[i] = greater_vf(load_private(lines + (i) * LINE_PITCH + t), most[i]);
        REPEAT_16(MORE)
#undef MORE
    }
    FOLD_EACH(most, greater_vf)
    return most[0];
}

// Scores of a tile's lines become weights, of which sums are made; factors: what earlier outputs count for now.
ALWAYS_INLINE void weigh(acc_t *lines, progress to, acc_t *factors, int rows, int n, int count)
{
    acc_t shifts[16];
#define GROUP(g) \
    if ((g) * VW < rows) { \
        const vf before = load_private(to.greatest + (g) * VW); \
        const vf found = greatest_of_lines(lines + (g) * VW * LINE_PITCH, min(rows - (g) * VW, VW), count); \
        const vf most = greater_vf(found, before); \
        const vf shift = most == (vf)(-INFINITY) ? (vf)(0.0f) : most; \
        store_private(most, to.greatest + (g) * VW); \
        store_private(shift, shifts + (g) * VW); \
        store_private(exp2_vf(before - shift), factors + (g) * VW); \
    }
    REPEAT_4(GROUP)
#undef GROUP
    for (int i = 0; i < n; ++i) {
        acc_t *line = lines + i * LINE_PITCH;
        const vf more = weigh_line(line, count, shifts[i], (vf)(0.0f));
        store_private(MAD(load_private(to.sums + i * VW), (vf)(factors[i]), more), to.sums + i * VW);
    }
}

// rows: TILE_M or TAIL_M, literal; n of them are queries, from `query` on. Keys first .. first + count - 1 are packed,
// and done `step` at a time.
ALWAYS_INLINE void attend(const attention *a, progress to, int rows, int n, int query, int first, int count, int step,
                          const acc_t *turned, const acc_t *plain, int size)
{
    acc_t a_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t lines[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t factors[16];
    const int last = min(count, attention_seen(a, query + n - 1) - first);
    if (last <= 0)
        return;
    pack_rows(a_rows, a->q + query * a->q_row, a->q_row, n, rows, a->d, a->scale);
    for (int key = 0; key < last; key += step) {
        const int width = min(last - key, step);
        multiply_turned(lines, rows, a_rows, turned + key * a->d, a->d, width);
        if (a->mask_kind != MASK_NONE || width % VW != 0 || attention_seen(a, query) < first + key + width)
            for (int i = 0; i < n; ++i)
                mask_line(lines + i * LINE_PITCH, a, query + i, first + key, width);
        weigh(lines, to, factors, rows, n, width);
        for (int i = 0; i < n && a->threshold; ++i)
            drop_line(lines + i * LINE_PITCH, a, query + i, first + key, width);
        multiply_plain(to.outputs, to.pitch, factors, rows, lines, plain + key * TILE_N, size, a->e, width);
    }
}

// For what is stored after this tile, and for the next tile's queries; `left` rows are to be done, this tile's first.
ALWAYS_INLINE void ask_ahead(const __global data_t *q, long q_row, int d, const __global data_t *y, long y_row, int e,
                             int left)
{
    for (int i = 0; i < min(left, TILE_M); ++i)
        for (int j = 0; j < e; j += 64 / DATA_BYTES)
            PREFETCH_WRITE(y + i * y_row + j);
    for (int i = TILE_M; i < min(left, 2 * TILE_M); ++i)
        for (int j = 0; j < d; j += 64 / DATA_BYTES)
            PREFETCH_READ(q + i * q_row + j);
}

// n rows of results. sums may be NULL.
ALWAYS_INLINE void finish_rows(const progress from, int n, int columns, acc_t keep, __global data_t *y, long y_row,
                               __global acc_t *sums, long sums_row)
{
    for (int i = 0; i < n; ++i) {
        const acc_t sum = sum_lanes(load_private(from.sums + i * VW));
        const acc_t factor = sum == 0.0f ? 0.0f : keep / sum;
        for (int j = 0; j < columns; j += VW)
            store_vf_part(load_private(from.outputs + i * from.pitch + j) * factor, y + i * y_row + j,
                          min(columns - j, VW));
        if (sums)
            sums[i * sums_row] = sum == 0.0f ? -INFINITY : MAD(from.greatest[i], LN_2, log(sum));
    }
}

// unit_rows queries a work-group; chunk keys are packed and `step` done at a time, multiples of TILE_N, step at most
// LINE. Where a chunk does not hold all keys, unit_rows fit STATE_ROOM with 16 more. log_sum_exp may be NULL.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_blocks(__global data_t *y_base, long y_offset, long y_batch, long y_head, long y_row,
                                    __global acc_t *sums_base, long sums_offset, long sums_batch, long sums_head,
                                    long sums_row, int has_sums, ATTENTION_PARAMS, int unit_rows, int chunk, int step)
{
    ONE_ITEM();
    acc_t panels[PANEL_ROOM] __attribute__((aligned(64)));
    acc_t state[STATE_ROOM] __attribute__((aligned(64)));
    acc_t greatest[MOST_ROWS], sums[MOST_ROWS * VW];
    const int image = get_group_id(1) / heads, head = get_group_id(1) % heads;
    // The last queries and the first ones in turn: where they see unequal numbers of keys, neighbours are even.
    const int turn = get_group_id(0) / 2;
    const int begin = (get_group_id(0) % 2 ? turn : (int)get_num_groups(0) - 1 - turn) * unit_rows;
    const int rows = min(unit_rows, queries - begin);
    const int pitch = (e + TILE_N - 1) / TILE_N * TILE_N, size = chunk * TILE_N + VW;
    ATTENTION_OF(a, image, head);
    const int limit = attention_seen(&a, begin + rows - 1), at_once = keys <= chunk;
    acc_t *plain = panels + chunk * d;
    __global data_t *y = y_base + y_offset + image * y_batch + head * y_head + begin * y_row;
    __global acc_t *out = sums_base + sums_offset + image * sums_batch + head * sums_head + begin * sums_row;
    int first = 0;
    do { // once even where nothing is seen
        const int count = min(chunk, limit - first);
        pack_turned(panels, a.k + first * a.k_row, a.k_row, count, d);
        pack_plain(plain, size, a.v + first * a.v_row, a.v_row, count, e);
        for (int row = 0; row < rows;) {
            const int at = at_once ? 0 : row, left = rows - row;
            const progress to = {state + at * pitch, greatest + at, sums + at * VW, pitch};
            ask_ahead(a.q + (begin + row) * q_row, q_row, d, y + row * y_row, y_row, e, left);
            const int full = left > FULL_ABOVE, n = min(left, full ? TILE_M : TAIL_M);
            if (first == 0)
                begin_rows(to, full ? TILE_M : TAIL_M);
            if (full)
                attend(&a, to, TILE_M, n, begin + row, first, count, step, panels, plain, size);
            else
                attend(&a, to, TAIL_M, n, begin + row, first, count, step, panels, plain, size);
            if (first + chunk >= limit)
                finish_rows(to, n, e, keep, y + row * y_row, y_row, has_sums ? out + row * sums_row : 0, sums_row);
            row += full ? TILE_M : TAIL_M;
        }
        first += chunk;
    } while (first < limit);
}
