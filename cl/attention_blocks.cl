// SPDX-License-Identifier: MIT
// Attention for CPU devices: y = softmax(scale q k^T + mask) v.
//
// A work-group is one work-item that owns some queries of one head. It packs as many keys and values as PANEL_FLOATS
// has room for; then, for every TILE_M queries and LINE keys, a register tile makes the scores, weights take their
// place, and another adds their products with the values to the queries' sums, which are scaled when a larger score is
// met (lib/attention_blocks.clh has the parts and the constants). Packing costs about 30 cycles a key of 64 columns,
// for all queries together; exponentials a tenth of the products of 64 columns. After Dao, "FlashAttention-2" (arXiv
// 2307.08691), and the online softmax of Milakov and Gimelshein (arXiv 1805.02867).
#include "lib/attention_blocks.clh"

#define MOST_ROWS (STATE_FLOATS / TILE_N)

// What the queries of a work-group have come to.
typedef struct {
    acc_t *outputs;  // [row][pitch]
    acc_t *greatest; // [row], of the scores
    acc_t *sums;     // [row][VW], of the weights
    int pitch;
} progress;

// The scores of one query become weights; returns their greatest before.
ALWAYS_INLINE float mask_line(acc_t *line, const attention *a, int query, int key, int count)
{
    const int seen = attention_seen(a, query) - key;
    vf most = (vf)(-INFINITY);
    for (int t = 0; t < count; t += VW) {
        vf score = load_private(line + t);
        if (a->mask_kind != MASK_NONE)
            score += mask_along(a, query, key + t, min(count - t, VW));
        if (t + VW > min(seen, count))
            score = LANES < (vi)(min(seen, count) - t) ? score : (vf)(-INFINITY);
        store_private(score, line + t);
        most = score > most ? score : most;
    }
    return greatest_lane(most);
}

// rows: TILE_M or TAIL_M, literal; n of them are queries, from `query` on. Keys first .. first + count - 1 are packed.
ALWAYS_INLINE void attend(const attention *a, progress to, int rows, int n, int query, int first, int count,
                          const acc_t *turned, const acc_t *plain, int size)
{
    acc_t a_rows[TILE_M * ROW_PITCH] __attribute__((aligned(64)));
    acc_t lines[TILE_M * LINE_PITCH] __attribute__((aligned(64)));
    acc_t factors[16], greatest[16];
    const int last = min(count, attention_seen(a, query + n - 1) - first);
    if (last <= 0)
        return;
    pack_rows(a_rows, a->q + query * a->q_row, a->q_row, n, rows, a->d, a->scale);
    for (int i = 0; i < 16; ++i)
        factors[i] = greatest[i] = 0.0f;
    for (int key = 0; key < last; key += LINE) {
        const int width = min(last - key, LINE);
        multiply_turned(lines, rows, a_rows, turned + key * a->d, a->d, width);
        for (int i = 0; i < n; ++i) {
            const float most = fmax(mask_line(lines + i * LINE_PITCH, a, query + i, first + key, width),
                                    to.greatest[i]);
            greatest[i] = most == -INFINITY ? 0.0f : most;
            factors[i] = to.greatest[i] - greatest[i];
            to.greatest[i] = most;
        }
        for (int i = 0; i < 16; i += VW)
            store_private(exp2_vf(load_private(factors + i)), factors + i);
        for (int i = 0; i < n; ++i) {
            acc_t *line = lines + i * LINE_PITCH;
            vf sum = load_private(to.sums + i * VW) * factors[i];
            for (int t = 0; t < width; t += VW) {
                const vf weight = exp2_vf(load_private(line + t) - greatest[i]);
                sum += weight;
                store_private(weight, line + t);
            }
            store_private(sum, to.sums + i * VW);
            if (a->threshold)
                drop_line(line, a, query + i, first + key, width);
        }
        multiply_plain(to.outputs, to.pitch, factors, rows, lines, plain + key * TILE_N, size, a->e, width);
    }
}

// unit_rows queries a work-group, which fit STATE_FLOATS with 16 more; chunk keys are packed at a time, a multiple of
// LINE. log_sum_exp may be NULL.
__attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
__kernel void husk_attention_blocks(__global data_t *y_base, long y_offset, long y_batch, long y_head, long y_row,
                                    __global float *sums_base, long sums_offset, long sums_batch, long sums_head,
                                    long sums_row, int has_sums, ATTENTION_PARAMS, int unit_rows, int chunk)
{
    acc_t panels[PANEL_FLOATS] __attribute__((aligned(64)));
    acc_t state[STATE_FLOATS] __attribute__((aligned(64)));
    acc_t greatest[MOST_ROWS], sums[MOST_ROWS * VW];
    const int image = get_group_id(1) / heads, head = get_group_id(1) % heads;
    // The last queries come first: where they see more keys than others, the work ends evenly.
    const int begin = (get_num_groups(0) - 1 - get_group_id(0)) * unit_rows;
    const int rows = min(unit_rows, queries - begin);
    const int pitch = (e + TILE_N - 1) / TILE_N * TILE_N, size = chunk * TILE_N + VW;
    ATTENTION_OF(a, image, head);
    const int limit = attention_seen(&a, begin + rows - 1);
    acc_t *plain = panels + chunk * d;
    for (int i = 0; i < (rows + TILE_M) * pitch; i += VW)
        store_private((vf)(0.0f), state + i);
    for (int i = 0; i < rows; ++i) {
        greatest[i] = -INFINITY;
        store_private((vf)(0.0f), sums + i * VW);
    }
    for (int first = 0; first < limit; first += chunk) {
        const int count = min(chunk, limit - first);
        pack_turned(panels, a.k + first * a.k_row, a.k_row, count, d);
        pack_plain(plain, size, a.v + first * a.v_row, a.v_row, count, e);
        for (int row = 0; row < rows;) {
            const progress to = {state + row * pitch, greatest + row, sums + row * VW, pitch};
            const int left = rows - row;
            if (left > FULL_ABOVE) {
                attend(&a, to, TILE_M, min(left, TILE_M), begin + row, first, count, panels, plain, size);
                row += TILE_M;
            } else {
                attend(&a, to, TAIL_M, min(left, TAIL_M), begin + row, first, count, panels, plain, size);
                row += TAIL_M;
            }
        }
    }
    __global data_t *y = y_base + y_offset + image * y_batch + head * y_head + begin * y_row;
    __global float *out = sums_base + sums_offset + image * sums_batch + head * sums_head + begin * sums_row;
    for (int i = 0; i < rows; ++i, y += y_row) {
        const float sum = sum_lanes(load_private(sums + i * VW));
        const float factor = sum == 0.0f ? 0.0f : keep / sum;
        for (int j = 0; j < e; j += VW)
            store_vf_part(load_private(state + i * pitch + j) * factor, y + j, min(e - j, VW));
        if (has_sums)
            out[i * sums_row] = sum == 0.0f ? -INFINITY : MAD(greatest[i], LN_2, log(sum));
    }
}
