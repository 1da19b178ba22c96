// SPDX-License-Identifier: MIT
// Attention's gradients for CPU devices, in two passes that each make scores and weights anew from log_sum_exp: dq by
// work-groups that own queries, dk and dv by work-groups that own keys and go through the queries of all heads of their
// group. So every sum has one owner and one order, at the price of 7 products where 5 would do.
//
// As attention/blocks.cl: panels of the other side are packed, blocks of TILE_M rows multiplied with them. The sum of
// dy y along a row is made where dy is packed. The last rows are done as a whole block, zeros below: code for smaller
// ones would double what there is to compile. See lib/attention_blocks.clh for the constants. After Dao,
// "FlashAttention-2" (arXiv 2307.08691).
#include "lib/attention_blocks.clh"

#define MOST_QUERIES 2048 // in a chunk, as src/ops/attention/problem.c says

// What forward has left, and the output's gradient: one head of one batch.
typedef struct {
    const __global data_t *y, *dy;
    const __global acc_t *sums;
    long y_row, dy_row, sums_row;
} saved;

#define SAVED_PARAMS \
    ATTENTION_TENSOR(y), ATTENTION_TENSOR(dy), const __global acc_t *sums_base, long sums_offset, long sums_batch, \
    long sums_head, long sums_row
#define SAVED_OF(name, image, head) \
    const saved name = {y_base + y_offset + (image) * y_batch + (head) * y_head, \
                        dy_base + dy_offset + (image) * dy_batch + (head) * dy_head, \
                        sums_base + sums_offset + (image) * sums_batch + (head) * sums_head, y_row, dy_row, sums_row}

// What scores are diminished by, in powers of two; a row that sees nothing has weights of zero.
ALWAYS_INLINE acc_t level_of(const saved *s, int query)
{
    const acc_t sum = s->sums[query * s->sums_row];
    return sum == -INFINITY ? INFINITY : sum * LOG2_E;
}

// The sum of dy y along a row.
ALWAYS_INLINE acc_t mean_of(const saved *s, int query, int columns)
{
    const __global data_t *y = s->y + query * s->y_row, *dy = s->dy + query * s->dy_row;
    vf sum = (vf)(0.0f);
    for (int j = 0; j < columns; j += VW)
        sum = MAD(load_vf_part(y + j, columns - j), load_vf_part(dy + j, columns - j), sum);
    return sum_lanes(sum);
}

// A row of sums times factor goes to, or is added to, the gradient.
ALWAYS_INLINE void put_row(__global data_t *to, const acc_t *sums, int columns, acc_t factor, int adds)
{
    for (int j = 0; j < columns; j += VW) {
        const int lanes = min(columns - j, VW);
        const vf value = load_private(sums + j) * factor;
        store_vf_part(adds ? value + load_vf_part(to + j, lanes) : value, to + j, lanes);
    }
}

// ---- dq ----

// Scores and dy v^T of one query with `count` keys become ds.
ALWAYS_INLINE void differ_along(acc_t *line, const acc_t *products, const attention *a, int query, int key, int count,
                                acc_t level, acc_t mean)
{
    const int seen = min(attention_seen(a, query) - key, count);
    for (int t = 0; t < count; t += VW) {
        vf score = load_private(line + t);
        if (a->mask_kind != MASK_NONE)
            score += mask_along(a, query, key + t, min(count - t, VW));
        if (t + VW > seen)
            score = LANES < (vi)(seen - t) ? score : (vf)(-INFINITY);
        vf product = load_private(products + t);
        if (a->threshold)
            product *= drop_vf((vf)(a->keep), dropout_bits(a, query, key + t), a->threshold);
        store_private(exp2_vf(score - level) * (product - mean), line + t);
    }
}

// As attend() of attention/blocks.cl.
ALWAYS_INLINE void descend(const attention *a, const saved *s, acc_t *outputs, int pitch, int rows, int n, int query,
                           int first, int count, const acc_t *keys, const acc_t *values, const acc_t *plain, int size)
{
    acc_t q_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t dy_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t lines[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t products[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t ones[16], means[16];
    const int last = min(count, attention_seen(a, query + n - 1) - first);
    if (last <= 0)
        return;
    pack_rows(q_rows, a->q + query * a->q_row, a->q_row, n, rows, a->d, a->scale);
    pack_rows(dy_rows, s->dy + query * s->dy_row, s->dy_row, n, rows, a->e, 1.0f);
    for (int i = 0; i < 16; ++i) {
        ones[i] = 1.0f;
        means[i] = i < n ? mean_of(s, query + i, a->e) : 0.0f;
    }
    for (int key = 0; key < last; key += LINE) {
        const int width = min(last - key, LINE);
        multiply_turned(lines, rows, q_rows, keys + key * a->d, a->d, width);
        multiply_turned(products, rows, dy_rows, values + key * a->e, a->e, width);
        for (int i = 0; i < n; ++i)
            differ_along(lines + i * LINE_PITCH, products + i * LINE_PITCH, a, query + i, first + key, width,
                         level_of(s, query + i), means[i]);
        multiply_plain(outputs, pitch, ones, rows, lines, plain + key * TILE_N, size, a->d, width);
    }
}

// unit_rows queries a work-group; chunk keys are packed at a time. factor: the scale without log2 e.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_backward_blocks_queries(__global data_t *dq_base, long dq_offset, long dq_batch,
                                                     long dq_head, long dq_row, SAVED_PARAMS, ATTENTION_PARAMS,
                                                     acc_t factor, int adds, int unit_rows, int chunk)
{
    ONE_ITEM();
    acc_t panels[PANEL_ROOM] __attribute__((aligned(64)));
    acc_t state[STATE_ROOM] __attribute__((aligned(64)));
    const int image = get_group_id(1) / heads, head = get_group_id(1) % heads;
    const int begin = (get_num_groups(0) - 1 - get_group_id(0)) * unit_rows;
    const int rows = min(unit_rows, queries - begin);
    const int pitch = (d + TILE_N - 1) / TILE_N * TILE_N, size = chunk * TILE_N + VW;
    ATTENTION_OF(a, image, head);
    SAVED_OF(s, image, head);
    const int limit = attention_seen(&a, begin + rows - 1);
    acc_t *values = panels + chunk * d, *plain = values + chunk * e;
    for (int i = 0; i < (rows + TILE_M) * pitch; i += VW)
        store_private((vf)(0.0f), state + i);
    for (int first = 0; first < limit; first += chunk) {
        const int count = min(chunk, limit - first);
        pack_turned(panels, a.k + first * a.k_row, a.k_row, count, d);
        pack_turned(values, a.v + first * a.v_row, a.v_row, count, e);
        pack_plain(plain, size, a.k + first * a.k_row, a.k_row, count, d);
        for (int row = 0; row < rows; row += TILE_M)
            descend(&a, &s, state + row * pitch, pitch, TILE_M, min(rows - row, TILE_M), begin + row, first, count,
                    panels, values, plain, size);
    }
    __global data_t *dq = dq_base + dq_offset + image * dq_batch + head * dq_head + begin * dq_row;
    for (int i = 0; i < rows; ++i)
        put_row(dq + i * dq_row, state + i * pitch, d, factor, adds);
}

// ---- dk and dv ----

// What the mask adds to the scores of `lanes` queries with one key.
ALWAYS_INLINE vf mask_across(const attention *a, int query, int key, int lanes)
{
    if (a->mask_row == 0)
        return (vf)(attention_mask_one(a, query, key));
    acc_t line[VW];
    for (int i = 0; i < VW; ++i)
        line[i] = i < lanes ? attention_mask_one(a, query + i, key) : 0.0f;
    return load_private(line);
}

ALWAYS_INLINE vwords dropout_bits_across(const attention *a, int query, int key)
{
    uint low[VW], high[VW], word[VW];
    for (int i = 0; i < VW; ++i) {
        const ulong number = (ulong)(a->first + (long)(query + i) * a->keys + key);
        low[i] = (uint)(number >> 2);
        high[i] = (uint)(number >> 34);
        word[i] = (uint)number & 3u;
    }
    return philox_lanes(LOAD_PRIVATE(vwords, low), LOAD_PRIVATE(vwords, high), LOAD_PRIVATE(vwords, word), a->stream,
                        a->seed);
}

// Scores and v dy^T of one key with `count` queries become weights and ds.
ALWAYS_INLINE void differ_across(acc_t *line, acc_t *products, const attention *a, int query, int key, int count,
                                 const acc_t *levels, const acc_t *means)
{
    const int first = (int)clamp(key - a->shift - query, 0L, (long)count); // that sees the key
    for (int t = 0; t < count; t += VW) {
        vf score = load_private(line + t);
        if (a->mask_kind != MASK_NONE)
            score += mask_across(a, query + t, key, min(count - t, VW));
        if (t < first)
            score = LANES >= (vi)(first - t) ? score : (vf)(-INFINITY);
        if (t + VW > count)
            score = LANES < (vi)(count - t) ? score : (vf)(-INFINITY);
        const vf weight = exp2_vf(score - load_private(levels + t));
        vf kept = (vf)(1.0f);
        if (a->threshold)
            kept = drop_vf((vf)(a->keep), dropout_bits_across(a, query + t, key), a->threshold);
        const vf product = load_private(products + t) * kept;
        store_private(weight * kept, line + t);
        store_private(weight * (product - load_private(means + t)), products + t);
    }
}

// The chunk's panels: queries and dy, turned and plain, and what belongs to each query.
typedef struct {
    acc_t *q, *dy, *plain_q, *plain_dy, *levels, *means;
    int size;
} chunk_panels;

// rows: TILE_M, literal; n of them are keys, from `key` on. Queries first .. first + count - 1 are packed.
ALWAYS_INLINE void gather(const attention *a, chunk_panels p, acc_t *dk, int dk_pitch, acc_t *dv, int dv_pitch,
                          int rows, int n, int key, int first, int count)
{
    acc_t k_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t v_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t lines[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t products[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t ones[16];
    // The first query that sees the first key, and lines that begin where panels do.
    const int skipped = (int)clamp(key - a->shift - first, 0L, (long)count) / LINE * LINE;
    pack_rows(k_rows, a->k + key * a->k_row, a->k_row, n, rows, a->d, a->scale);
    pack_rows(v_rows, a->v + key * a->v_row, a->v_row, n, rows, a->e, 1.0f);
    for (int i = 0; i < 16; ++i)
        ones[i] = 1.0f;
    for (int query = skipped; query < count; query += LINE) {
        const int width = min(count - query, LINE);
        multiply_turned(lines, rows, k_rows, p.q + query * a->d, a->d, width);
        multiply_turned(products, rows, v_rows, p.dy + query * a->e, a->e, width);
        for (int i = 0; i < n; ++i)
            differ_across(lines + i * LINE_PITCH, products + i * LINE_PITCH, a, first + query, key + i, width,
                          p.levels + query, p.means + query);
        multiply_plain(dv, dv_pitch, ones, rows, lines, p.plain_dy + query * TILE_N, p.size, a->e, width);
        multiply_plain(dk, dk_pitch, ones, rows, products, p.plain_q + query * TILE_N, p.size, a->d, width);
    }
}

// unit_rows keys a work-group; chunk queries are packed at a time. dk or dv may be NULL: has_dk, has_dv.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_backward_blocks_keys(__global data_t *dk_base, long dk_offset, long dk_batch, long dk_head,
                                                  long dk_row, __global data_t *dv_base, long dv_offset, long dv_batch,
                                                  long dv_head, long dv_row, int has_dk, int has_dv, SAVED_PARAMS,
                                                  ATTENTION_PARAMS, acc_t factor, int adds, int unit_rows, int chunk)
{
    ONE_ITEM();
    acc_t panels[PANEL_ROOM] __attribute__((aligned(64)));
    acc_t state[STATE_ROOM] __attribute__((aligned(64)));
    acc_t levels[MOST_QUERIES + VW], means[MOST_QUERIES + VW];
    const int kv_heads = heads / group, image = get_group_id(1) / kv_heads, kv_head = get_group_id(1) % kv_heads;
    const int begin = get_group_id(0) * unit_rows, rows = min(unit_rows, keys - begin);
    const int dk_pitch = (d + TILE_N - 1) / TILE_N * TILE_N, dv_pitch = (e + TILE_N - 1) / TILE_N * TILE_N;
    const int size = chunk * TILE_N + VW;
    const chunk_panels p = {panels, panels + chunk * d, panels + chunk * (d + e),
                            panels + chunk * (d + e) + dk_pitch / TILE_N * size, levels, means, size};
    acc_t *dk_state = state, *dv_state = state + (rows + TILE_M) * dk_pitch;
    for (int i = 0; i < (rows + TILE_M) * (dk_pitch + dv_pitch); i += VW)
        store_private((vf)(0.0f), state + i);
    for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        ATTENTION_OF(a, image, head);
        SAVED_OF(s, image, head);
        const int skipped = (int)clamp(begin - shift, 0L, (long)queries) / chunk * chunk; // they see none of the keys
        for (int first = skipped; first < queries; first += chunk) {
            const int count = min(chunk, queries - first);
            pack_turned(p.q, a.q + first * a.q_row, a.q_row, count, d);
            pack_turned(p.dy, s.dy + first * s.dy_row, s.dy_row, count, e);
            pack_plain(p.plain_q, size, a.q + first * a.q_row, a.q_row, count, d);
            pack_plain(p.plain_dy, size, s.dy + first * s.dy_row, s.dy_row, count, e);
            for (int i = 0; i < count + VW; ++i) {
                levels[i] = i < count ? level_of(&s, first + i) : INFINITY;
                means[i] = i < count ? mean_of(&s, first + i, e) : 0.0f;
            }
            for (int row = 0; row < rows; row += TILE_M)
                gather(&a, p, dk_state + row * dk_pitch, dk_pitch, dv_state + row * dv_pitch, dv_pitch, TILE_M,
                       min(rows - row, TILE_M), begin + row, first, count);
        }
    }
    __global data_t *dk = dk_base + dk_offset + image * dk_batch + kv_head * dk_head + begin * dk_row;
    __global data_t *dv = dv_base + dv_offset + image * dv_batch + kv_head * dv_head + begin * dv_row;
    for (int i = 0; i < rows; ++i) {
        if (has_dk)
            put_row(dk + i * dk_row, dk_state + i * dk_pitch, d, factor, adds);
        if (has_dv)
            put_row(dv + i * dv_row, dv_state + i * dv_pitch, e, 1.0f, adds);
    }
}
