// SPDX-License-Identifier: MIT
// Attention for GPUs: y = softmax(scale q k^T + mask) v, both products by lib/fragment.clh.
//
// A work-group owns a tile of queries of one head and COLUMNS columns of y. It goes through the keys a tile at a time:
// scores in registers, their maxima by way of local memory, weights as a tile of what is multiplied, products with the
// values where the scores were, which are added to what the tiles before came to, scaled when a larger score is met
// (lib/attention_totals.clh). Tiles of K and V pass through local memory in two buffers, the next fetched while one is
// multiplied. After Dao, "FlashAttention-2" (arXiv 2307.08691).
//
//   -DBLOCK_M ...        see lib/fragment.clh: plain multiply-adds (variant tiled) or a matrix engine (variant matrix);
//                        BLOCK_M queries, as many keys
//   -DCOLUMNS=n          of y, a multiple of BLOCK_N
//   -DHOLDS_QUERIES      q, of COLUMNS columns at most, stays in local memory; without, it passes through with k
//   -DINDEX_64           where an element of a tensor lies 2^31 or further from its base
//
// Local memory of tiled: 35 KiB (tiles of 64), 14 KiB (of 32). Of matrix: 64 bytes of each line of a tile, two tiles of
// keys, one for each BLOCK_K columns of the queries, and 4 bytes of each score.
#include "lib/fragment_operands.clh"
#include "lib/attention.clh"
#include "lib/attention_totals.clh"

#if !defined(COLUMNS)
#error "COLUMNS, the columns of y that a work-group computes, is not set: the host passes a multiple of BLOCK_N"
#endif
#if BLOCK_M != BLOCK_N || COLUMNS % BLOCK_N != 0 || BLOCK_N % BLOCK_K != 0
#error "tiles must be square, and divide COLUMNS; BLOCK_K must divide them"
#endif

#define COLUMN_BLOCKS (COLUMNS / BLOCK_N)
#define KEY_TILES     (BLOCK_N / BLOCK_K) // of the weights, and of V: so many steps of a tile of keys
#ifdef HOLDS_QUERIES
#define QUERY_TILES   (COLUMNS / BLOCK_K)
#define QUERY_TILE(t, buffer) (t)
#else
#define QUERY_TILES   2
#define QUERY_TILE(t, buffer) (buffer)
#endif

// Weights are 1 at most; f16 has as many digits of small ones when they are larger.
#if defined(PRODUCT_F16)
#define WEIGHT_SCALE 16384.0f
#else
#define WEIGHT_SCALE 1.0f
#endif

// An item's totals: its outputs, shares of its rows' sums, and what their scores counted from.
#define SUMS_TOTAL  (COLUMN_BLOCKS * ITEM_M * ITEM_N)
#define BASES_TOTAL (SUMS_TOTAL + ITEM_M)
#define TOTALS      (BASES_TOTAL + ITEM_M)

// What the mask adds, then what items say of their rows, then the weights' tiles: all in one place.
#define WEIGHTS_BYTES (KEY_TILES * A_TILE * sizeof(tile_t))
#define MASK_BYTES    (BLOCK_M * BLOCK_N * sizeof(acc_t))
#if FRAGMENT_SHARERS > BLOCK_N
#error "more items share a row than it has keys"
#endif

// lib/fragment_operands.clh's words for three operands. Keys from `limit` on no query of the tile sees.
#define k_tiles b_tiles
#define v_tiles b_tiles
#define FETCH_Q(t, at) \
    { \
        const int steps = d - (t) * BLOCK_K; \
        const __global operand_t *q_from = a.q + (long)begin * a.q_row + (t) * BLOCK_K; \
        FETCH_SIDE(q, A_FOURS, at) \
    }
#define KEEP_Q(at) KEEP_SIDE(q, A_FOURS, BLOCK_M, at)
#define FETCH_K(key, t, next) \
    { \
        const int steps = d - (t) * BLOCK_K; \
        const operand ok = {(index_t)a.k_row, 1, limit - (key), 1, k_aligned, 1}; \
        const __global operand_t *k_from = a.k + (long)(key) * a.k_row + (t) * BLOCK_K; \
        FETCH_SIDE(k, B_FOURS, next) \
    }
#define KEEP_K(next) \
    { \
        const operand ok = {0, 1, 0, 1, 0, 1}; \
        KEEP_SIDE(k, B_FOURS, BLOCK_N, next) \
    }
#define FETCH_V(key, column, next) \
    { \
        const int steps = limit - (key); \
        const operand ov = {1, (index_t)a.v_row, e - (column), 0, v_aligned, 1}; \
        const __global operand_t *v_from = a.v + (long)(key) * a.v_row + (column); \
        FETCH_SIDE(v, B_FOURS, next) \
    }
#define KEEP_V(next) \
    { \
        const operand ov = {1, 0, 0, 0, 0, 1}; \
        KEEP_SIDE(v, B_FOURS, BLOCK_N, next) \
    }
#ifdef HOLDS_QUERIES
#define FETCH_QK(key, t, next) FETCH_K(key, t, next)
#define KEEP_QK(next)          KEEP_K(next)
#else
#define FETCH_QK(key, t, next) FETCH_Q(t, next) FETCH_K(key, t, next)
#define KEEP_QK(next)          KEEP_Q(next) KEEP_K(next)
#endif

inline int is_aligned(const __global data_t *first, long row)
{
    return row % 4 == 0 && ((uintptr_t)first & (4 * DATA_BYTES - 1)) == 0;
}

// Dropped weights become zero: four of them a draw, wherever the row's first lies among its four.
inline void drop_weights(const attention *a, __local tile_t *weights, int begin, int first, uint item)
{
    const int draws = BLOCK_N / 4 + 1;
    for (int n = item; n < BLOCK_M * draws; n += GROUP_ITEMS) {
        const int row = n / draws, query = begin + row;
        const ulong number = (ulong)(a->first + (long)query * a->keys + first), block = number / 4 + n % draws;
        if (query >= a->queries)
            break;
        const uint4 drawn = philox_block(block, a->stream, a->seed);
        const uint words[4] = {drawn.x, drawn.y, drawn.z, drawn.w};
        UNROLL
        for (int w = 0; w < 4; ++w) {
            const long key = (long)(block * 4 + w - number);
            if (key >= 0 && key < BLOCK_N && words[w] < a->threshold)
                fragment_keep_sum(weights + key / BLOCK_K * A_TILE, BLOCK_M, row, key % BLOCK_K, 0.0f);
        }
    }
}

// log_sum_exp may be NULL. Work-groups: tiles of queries of one head after another, parts of the columns.
// registers husk_attention_tiled BLOCK_M=32 HOLDS_QUERIES: nvidia 160, amd 200
// registers husk_attention_tiled BLOCK_M=64 ITEM_M=4: nvidia 168, amd 168
// registers husk_attention_tiled ENGINE_AMD_MFMA: amd 176
// registers husk_attention_tiled BLOCK_M=32 COLUMNS=64: nvidia 224, amd 184
// registers husk_attention_tiled: nvidia 256, amd 256
__attribute__((reqd_work_group_size(GROUP_ITEMS, 1, 1))) FRAGMENT_ATTRIBUTE
__kernel void husk_attention_tiled(__global data_t *y_base, long y_offset, long y_batch, long y_head, long y_row,
                                   __global acc_t *sums_base, long sums_offset, long sums_batch, long sums_head,
                                   long sums_row, int has_sums, ATTENTION_PARAMS, TOTALS_PARAMS)
{
    __local tile_t q_tiles[QUERY_TILES][A_TILE] __attribute__((aligned(16)));
    __local tile_t b_tiles[2][B_TILE] __attribute__((aligned(16)));
    __local uchar shared[WEIGHTS_BYTES > MASK_BYTES ? WEIGHTS_BYTES : MASK_BYTES] __attribute__((aligned(16)));
    __local acc_t row_base[BLOCK_M], row_factor[BLOCK_M];
    // Always 0. What follows from an item's number alone is computed before the loop and kept in registers all through;
    // with this added, read anew for each tile of keys, it is computed where it is wanted: some 50 registers fewer.
    __local uint nothing;
    __local tile_t *weights = (__local tile_t *)shared;
    __local acc_t *mask = (__local acc_t *)shared;
    __local acc_t *parts = (__local acc_t *)shared + fragment_sharer(get_local_id(0)) * BLOCK_M; // the item's own
    const __local acc_t *row_parts = (const __local acc_t *)shared + get_local_id(0);            // of row `item`
    const uint item = get_local_id(0);
    ATTENTION_PLACE(queries, BLOCK_M);
    const int image = place / heads, head = place % heads;
    const int begin = (tiles - 1 - tile) * BLOCK_M, column = get_group_id(1) * COLUMNS;
    ATTENTION_OF(a, image, head);
    const int limit = attention_seen(&a, min(begin + BLOCK_M, queries) - 1);
    const int d_tiles = max(1, (d + BLOCK_K - 1) / BLOCK_K);
    const int column_blocks = clamp((e - column + BLOCK_N - 1) / BLOCK_N, 1, COLUMN_BLOCKS);
    const operand oq = {(index_t)a.q_row, 1, queries - begin, 1, is_aligned(a.q, a.q_row), 1};
    const int k_aligned = is_aligned(a.k, a.k_row), v_aligned = is_aligned(a.v, a.v_row);
    const int copies_q = FRAGMENT_COPIES && oq.aligned, copies_k = FRAGMENT_COPIES && k_aligned, copies_v = 0;
    const share q_share = share_of(1, item, BLOCK_M), k_share = share_of(1, item, BLOCK_N);
    const share v_share = share_of(0, item, BLOCK_N);
    carried_four q_next[A_FOURS], k_next[B_FOURS], v_next[B_FOURS];

    fragment_acc score, output[COLUMN_BLOCKS];
    acc_t sum[ITEM_M], greatest = -INFINITY; // an item's share of its rows' sums; of row `item`
    FRAGMENT_UNROLL
    for (int c = 0; c < COLUMN_BLOCKS; ++c)
        fragment_zero(&output[c]);
    FRAGMENT_UNROLL
    for (int i = 0; i < ITEM_M; ++i)
        sum[i] = 0.0f;

    if (run)
        totals_begin(TOTALS_OF(TOTALS), TOTALS);
    if (item == 0)
        nothing = (uint)mask_kind / 4;
#ifdef HOLDS_QUERIES
    for (int t = 0; t < d_tiles; ++t) {
        FETCH_Q(t, t)
        KEEP_Q(t)
    }
#endif
    FETCH_QK(0, 0, 0)
    KEEP_QK(0)
    fragment_copies_end();
    barrier(CLK_LOCAL_MEM_FENCE);
    int now = 0;
    for (int first = 0; first < limit; first += BLOCK_N) {
        const uint here = item + nothing;
        const share k_share = share_of(1, here, BLOCK_N), v_share = share_of(0, here, BLOCK_N);
        fragment_zero(&score);
        for (int t = 0; t < d_tiles; ++t) {
            const int next = now ^ 1, is_last = t + 1 == d_tiles;
            if (is_last) {
                FETCH_V(first, column, next)
            } else {
                FETCH_QK(first, t + 1, next)
            }
            fragment_multiply(&score, q_tiles[QUERY_TILE(t, now)], b_tiles[now], item);
            if (is_last) {
                KEEP_V(next)
            } else {
                KEEP_QK(next)
            }
            fragment_copies_end();
            barrier(CLK_LOCAL_MEM_FENCE);
            now = next;
        }

        FRAGMENT_UNROLL
        for (int i = 0; i < ITEM_M; ++i) {
            const int query = begin + fragment_row(here, i);
            const int seen = query < queries ? attention_seen(&a, query) - first : 0;
            FRAGMENT_UNROLL
            for (int j = 0; j < ITEM_N; ++j)
                fragment_set(&score, i, j,
                             fragment_column(here, j) < seen ? fragment_value(&score, i, j) * scale : -INFINITY);
        }
        if (a.mask_kind != MASK_NONE) {
            // By way of local memory: places of an item's own scores in the mask would take too many registers. Of keys
            // that a query does not see nothing is added: NaN and infinity there would make the row NaN.
#pragma unroll 1
            for (int n = item; n < BLOCK_M * BLOCK_N; n += GROUP_ITEMS) {
                const int query = begin + n / BLOCK_N, key = first + n % BLOCK_N;
                const int is_seen = query < queries && key < attention_seen(&a, query);
                mask[n] = is_seen ? attention_mask_one(&a, query, key) : 0.0f;
            }
            barrier(CLK_LOCAL_MEM_FENCE);
            FRAGMENT_UNROLL
            for (int i = 0; i < ITEM_M; ++i)
                FRAGMENT_UNROLL
                for (int j = 0; j < ITEM_N; ++j)
                    fragment_set(&score, i, j,
                                 fragment_value(&score, i, j) +
                                     mask[fragment_row(here, i) * BLOCK_N + fragment_column(here, j)]);
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        FRAGMENT_UNROLL
        for (int i = 0; i < ITEM_M; ++i) {
            acc_t most = -INFINITY;
            FRAGMENT_UNROLL
            for (int j = 0; j < ITEM_N; ++j)
                most = fmax(most, fragment_value(&score, i, j));
            parts[fragment_row(here, i)] = most;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (item < BLOCK_M) {
            acc_t most = greatest;
            for (int s = 0; s < FRAGMENT_SHARERS; ++s)
                most = fmax(most, row_parts[s * BLOCK_M]);
            const acc_t base = most == -INFINITY ? 0.0f : most;
            row_base[item] = base;
            row_factor[item] = exp2(greatest - base);
            greatest = most;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        FRAGMENT_UNROLL
        for (int i = 0; i < ITEM_M; ++i) {
            const int row = fragment_row(here, i);
            const acc_t base = row_base[row];
            acc_t more = 0.0f;
            FRAGMENT_UNROLL
            for (int j = 0; j < ITEM_N; ++j) {
                const acc_t weight = exp2(fragment_value(&score, i, j) - base);
                const int step = fragment_column(here, j);
                more += weight;
                fragment_keep_sum(weights + step / BLOCK_K * A_TILE, BLOCK_M, row, step % BLOCK_K,
                                  weight * WEIGHT_SCALE);
            }
            sum[i] = MAD(sum[i], row_factor[row], more);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (a.threshold) {
            drop_weights(&a, weights, begin, first, item);
            barrier(CLK_LOCAL_MEM_FENCE);
        }

        // Column block after column block, of each all steps; then the next keys. The scores' registers are free.
        const int key_tiles = min(KEY_TILES, (limit - first + BLOCK_K - 1) / BLOCK_K);
        for (int c = 0, u = 0; c < column_blocks;) {
            const int next = now ^ 1, ends = u + 1 == key_tiles;
            const int next_c = c + ends, next_u = ends ? 0 : u + 1, is_last = next_c == column_blocks;
            if (is_last) {
                FETCH_QK(first + BLOCK_N, 0, next)
            } else {
                FETCH_V(first + next_u * BLOCK_K, column + next_c * BLOCK_N, next)
            }
            if (u == 0)
                fragment_zero(&score);
            fragment_multiply(&score, weights + u * A_TILE, b_tiles[now], item);
            if (is_last) {
                KEEP_QK(next)
            } else {
                KEEP_V(next)
            }
            fragment_copies_end();
            barrier(CLK_LOCAL_MEM_FENCE);
            if (ends) {
                const uint there = item + nothing;
                FRAGMENT_UNROLL
                for (int i = 0; i < ITEM_M; ++i) {
                    const acc_t factor = row_factor[fragment_row(there, i)];
                    FRAGMENT_UNROLL
                    for (int j = 0; j < ITEM_N; ++j) {
                        const acc_t more = fragment_value(&score, i, j);
                        FRAGMENT_UNROLL
                        for (int b = 0; b < COLUMN_BLOCKS; ++b)
                            if (b == c)
                                fragment_set(&output[b], i, j, MAD(fragment_value(&output[b], i, j), factor, more));
                    }
                }
            }
            now = next;
            c = next_c;
            u = next_u;
        }

        const int is_end = first + BLOCK_N >= limit;
        if (run && (is_end || TOTALS_DUE(first, BLOCK_N))) {
            const uint there = item + nothing;
            __global acc_t *own = TOTALS_OF(TOTALS) + nothing;
            FRAGMENT_UNROLL
            for (int i = 0; i < ITEM_M; ++i) {
                const acc_t factor = totals_factor(own, BASES_TOTAL + i, row_base[fragment_row(there, i)]);
                sum[i] = totals_join(own, SUMS_TOTAL + i, factor, sum[i], is_end);
                FRAGMENT_UNROLL
                for (int c = 0; c < COLUMN_BLOCKS; ++c)
                    FRAGMENT_UNROLL
                    for (int j = 0; j < ITEM_N; ++j)
                        fragment_set(&output[c], i, j,
                                     totals_join(own, (c * ITEM_M + i) * ITEM_N + j, factor,
                                                 fragment_value(&output[c], i, j), is_end));
            }
        }
    }

    FRAGMENT_UNROLL
    for (int i = 0; i < ITEM_M; ++i)
        parts[fragment_row(item, i)] = sum[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item < BLOCK_M) {
        const int query = begin + item;
        acc_t total = 0.0f;
        for (int s = 0; s < FRAGMENT_SHARERS; ++s)
            total += row_parts[s * BLOCK_M];
        row_factor[item] = total == 0.0f ? 0.0f : keep / (total * WEIGHT_SCALE);
        if (query < queries && has_sums && column == 0)
            sums_base[sums_offset + image * sums_batch + head * sums_head + query * sums_row] =
                total == 0.0f ? -INFINITY : MAD(greatest, LN_2, log(total));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    FRAGMENT_UNROLL
    for (int i = 0; i < ITEM_M; ++i) {
        const int row = fragment_row(item, i);
        if (begin + row < queries) {
            const acc_t factor = row_factor[row];
            __global data_t *y = y_base + y_offset + image * y_batch + head * y_head + (begin + row) * y_row + column;
            FRAGMENT_UNROLL
            for (int c = 0; c < COLUMN_BLOCKS; ++c)
                FRAGMENT_UNROLL
                for (int j = 0; j < ITEM_N; ++j) {
                    const int at = c * BLOCK_N + fragment_column(item, j);
                    if (at < e - column)
                        store_one(y, at, fragment_value(&output[c], i, j) * factor);
                }
        }
    }
}
