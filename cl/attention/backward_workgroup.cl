// SPDX-License-Identifier: MIT
// Attention's gradients for GPUs, in two passes that each make scores and weights anew from log_sum_exp: dq by
// work-groups that own BLOCK queries, dk and dv by work-groups that own BLOCK keys and go through the queries of all
// heads of their group. A work-group owns BLOCK columns, too; where there are more, what comes before is made for each
// part of them. See lib/attention_workgroup.clh for the constants; 64 work-items take 10 KiB of local memory. After
// Dao, "FlashAttention-2" (arXiv 2307.08691).
#include "lib/attention_workgroup.clh"

#define SAVED_PARAMS \
    ATTENTION_TENSOR(y), ATTENTION_TENSOR(dy), const __global acc_t *sums_base, long sums_offset, long sums_batch, \
    long sums_head, long sums_row

// What scores are diminished by, in powers of two, and the sum of dy y along the row, of BLOCK queries from `first` on.
// A row that sees nothing has weights of zero.
__attribute__((always_inline))
inline void load_rows(__local acc_t *levels, __local acc_t *means, const __global acc_t *sums, long sums_row,
                      const __global data_t *y, long y_row, const __global data_t *dy, long dy_row, int first,
                      int queries, int columns)
{
    const int i = get_local_id(0), query = first + i;
    if (i >= BLOCK)
        return;
    const acc_t sum = query < queries ? sums[query * sums_row] : -INFINITY;
    acc_t mean = 0.0f;
    for (int j = 0; j < columns && query < queries; ++j)
        mean = MAD(load_one(y, query * y_row + j), load_one(dy, query * dy_row + j), mean);
    levels[i] = sum == -INFINITY ? INFINITY : sum * LOG2_E;
    means[i] = mean;
}

// A score times scale with what the mask adds; -infinity where the key is not seen.
__attribute__((always_inline))
inline acc_t score_of(const attention *a, acc_t product, int query, int key)
{
    if (query >= a->queries || key >= attention_seen(a, query))
        return -INFINITY;
    return product * a->scale + (a->mask_kind != MASK_NONE ? attention_mask_one(a, query, key) : 0.0f);
}

// What dropout multiplies the weights of BLOCK keys (rows of the tile) and queries, or the other way round, with.
__attribute__((always_inline))
inline void fill_kept(__local acc_t *tile, const attention *a, int query, int key, int rows_are_keys)
{
    for (int n = get_local_id(0); n < BLOCK * BLOCK; n += ITEMS) {
        const int p = n / BLOCK, i = n % BLOCK;
        const int keeps = !a->threshold || attention_keeps(a, query + (rows_are_keys ? i : p),
                                                           key + (rows_are_keys ? p : i));
        tile[p * A_PITCH + i] = keeps ? a->keep : 0.0f;
    }
}

// Doubles take twice the registers, and so does what is done to sixteen of them at once: it is done to one after
// another in local memory. The tile is [column][row]; rows are queries or keys.
#ifdef DTYPE_F64
#define IN_TURN 1
#define SECOND_SQUARE SQUARE
#else
#define IN_TURN 0
#define SECOND_SQUARE 1
#endif
__attribute__((always_inline))
inline void differ_in_turn(__local acc_t *scores, __local acc_t *products, const attention *a, int query, int key,
                           int rows_are_keys, const __local acc_t *levels, const __local acc_t *means)
{
#pragma nounroll
    for (int n = get_local_id(0); n < BLOCK * BLOCK; n += ITEMS) {
        const int column = n / BLOCK, row = n % BLOCK, at = column * A_PITCH + row;
        const int i = rows_are_keys ? column : row, own_query = query + i;
        const int own_key = key + (rows_are_keys ? row : column);
        const acc_t kept = !a->threshold || attention_keeps(a, own_query, own_key) ? a->keep : 0.0f;
        const acc_t weight = exp2(score_of(a, scores[at], own_query, own_key) - levels[i]);
        const acc_t difference = weight * (products[at] * kept - means[i]);
        scores[at] = rows_are_keys ? weight * kept : difference;
        products[at] = difference;
    }
}

// Two products of rows with rows, of d and e columns: q and k, dy and v; a's rows are the tile's. One piece of code for
// both, as compilers take long over loops with barriers.
typedef struct {
    const __global data_t *a, *b;
    long a_row, b_row;
} operands;

__attribute__((always_inline))
inline void multiply_both(fragment_acc *second, fragment_acc *first, __local acc_t *a_tile, __local acc_t *b_tile,
                          operands scores, operands products, int a_first, int a_rows, int b_first, int b_rows, int d,
                          int e, uint item)
{
    fragment_zero(second);
#pragma nounroll
    for (int part = 0; part < 2; ++part) {
        const operands from = part ? products : scores;
        *first = *second;
        multiply_rows(second, a_tile, b_tile, from.a, from.a_row, a_first, a_rows, from.b, from.b_row, b_first, b_rows,
                      part ? e : d, item);
    }
}

// An item's 4 x 4 join its totals from `own` on: lib/attention_totals.clh.
__attribute__((always_inline))
inline void join_block(__global acc_t *own, fragment_acc *acc, int ends)
{
    UNROLL
    for (int i = 0; i < 4; ++i)
        UNROLL
        for (int j = 0; j < 4; ++j)
            acc->sum[i][j] = totals_join(own, i * 4 + j, 1.0f, acc->sum[i][j], ends);
}

// An item's 4 x 4 of rows from `first` on times factor go to, or are added to, the gradient.
__attribute__((always_inline))
inline void put_block(__global data_t *to, long to_row, const fragment_acc *acc, int first, int rows, int column,
                      int columns, uint item, acc_t factor, int adds)
{
    UNROLL
    for (int i = 0; i < 4; ++i)
        UNROLL
        for (int j = 0; j < 4; ++j) {
            const int row = first + fragment_row(item, i), at = column + fragment_column(item, j);
            if (row < rows && at < columns) {
                const acc_t value = acc->sum[i][j] * factor;
                store_one(to, row * to_row + at, adds ? value + load_one(to, row * to_row + at) : value);
            }
        }
}

// registers husk_attention_backward_workgroup_queries: nvidia 208, amd 176
__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
__kernel void husk_attention_backward_workgroup_queries(__global data_t *dq_base, long dq_offset, long dq_batch,
                                                        long dq_head, long dq_row, SAVED_PARAMS, ATTENTION_PARAMS,
                                                        acc_t factor, int adds, TOTALS_PARAMS)
{
    __local acc_t a_tile[TILE], b_tile[TILE], weights[SQUARE], seconds[SECOND_SQUARE], levels[BLOCK], means[BLOCK];
    const uint item = get_local_id(0);
    ATTENTION_PLACE(queries, BLOCK);
    const int image = place / heads, head = place % heads;
    const int begin = (tiles - 1 - tile) * BLOCK, column = get_group_id(1) * BLOCK;
    const __global data_t *y = y_base + y_offset + image * y_batch + head * y_head;
    const __global data_t *dy = dy_base + dy_offset + image * dy_batch + head * dy_head;
    ATTENTION_OF(a, image, head);
    fragment_acc sum, score, product;
    fragment_zero(&sum);
    if (run)
        totals_begin(TOTALS_OF(16), 16);
    load_rows(levels, means, sums_base + sums_offset + image * sums_batch + head * sums_head, sums_row, y, y_row, dy,
              dy_row, begin, queries, e);
    const int limit = attention_seen(&a, min(begin + BLOCK, queries) - 1);
    for (int first = 0; first < limit; first += BLOCK) {
        const operands scores = {a.q, a.k, a.q_row, a.k_row}, products = {dy, a.v, dy_row, a.v_row};
        multiply_both(&product, &score, a_tile, b_tile, scores, products, begin, queries, first, keys, d, e, item);
        barrier(CLK_LOCAL_MEM_FENCE); // the rows are there, and the weights' last readers done
#if IN_TURN
        store_turned(weights, &score, item);
        store_turned(seconds, &product, item);
        barrier(CLK_LOCAL_MEM_FENCE);
        differ_in_turn(weights, seconds, &a, begin, first, 0, levels, means);
#else
        fill_kept(weights, &a, begin, first, 1);
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL
        for (int i = 0; i < 4; ++i) {
            const int row = fragment_row(item, i), query = begin + row;
            UNROLL
            for (int j = 0; j < 4; ++j) {
                const int key = first + fragment_column(item, j);
                const acc_t kept = weights[fragment_column(item, j) * A_PITCH + row];
                const acc_t weight = exp2(score_of(&a, score.sum[i][j], query, key) - levels[row]);
                score.sum[i][j] = weight * (product.sum[i][j] * kept - means[row]);
            }
        }
        store_turned(weights, &score, item);
#endif
        multiply_weights(&score, weights, b_tile, a.k, a.k_row, first, keys, column, d, item);
        add_block(&sum, &score);
        const int is_end = first + BLOCK >= limit;
        if (run && (is_end || TOTALS_DUE(first, BLOCK)))
            join_block(TOTALS_OF(16), &sum, is_end);
    }
    put_block(dq_base + dq_offset + image * dq_batch + head * dq_head, dq_row, &sum, begin, queries, column, d,
              item, factor, adds);
}

// dk or dv may be NULL: has_dk, has_dv.
// registers husk_attention_backward_workgroup_keys DTYPE_F64: nvidia 256, amd 208
// registers husk_attention_backward_workgroup_keys: nvidia 240, amd 192
__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
__kernel void husk_attention_backward_workgroup_keys(__global data_t *dk_base, long dk_offset, long dk_batch,
                                                     long dk_head, long dk_row, __global data_t *dv_base,
                                                     long dv_offset, long dv_batch, long dv_head, long dv_row,
                                                     int has_dk, int has_dv, SAVED_PARAMS, ATTENTION_PARAMS,
                                                     acc_t factor, int adds, TOTALS_PARAMS)
{
    __local acc_t a_tile[TILE], b_tile[TILE], weights[SQUARE], seconds[SECOND_SQUARE], levels[BLOCK], means[BLOCK];
    const uint item = get_local_id(0);
    ATTENTION_PLACE(keys, BLOCK);
    const int kv_heads = heads / group, image = place / kv_heads, kv_head = place % kv_heads;
    const int begin = tile * BLOCK, column = get_group_id(1) * BLOCK;
    const int makes_dk = has_dk && column < d, makes_dv = has_dv && column < e;
    fragment_acc dk_sum, dv_sum, score, product;
    fragment_zero(&dk_sum);
    fragment_zero(&dv_sum);
    int left = run; // blocks that are added before the totals are met
    if (run)
        totals_begin(TOTALS_OF(32), 32);
    for (int head = kv_head * group; head < (kv_head + 1) * group; ++head) {
        const __global data_t *y = y_base + y_offset + image * y_batch + head * y_head;
        const __global data_t *dy = dy_base + dy_offset + image * dy_batch + head * dy_head;
        ATTENTION_OF(a, image, head);
        const int skipped = (int)clamp(begin - shift, 0L, (long)queries) / BLOCK * BLOCK; // they see none of the keys
        for (int first = skipped; first < queries; first += BLOCK) {
            barrier(CLK_LOCAL_MEM_FENCE); // the last rows' and weights' readers are done
            load_rows(levels, means, sums_base + sums_offset + image * sums_batch + head * sums_head, sums_row, y,
                      y_row, dy, dy_row, first, queries, e);
            const operands scores = {a.k, a.q, a.k_row, a.q_row}, products = {a.v, dy, a.v_row, dy_row};
            multiply_both(&product, &score, a_tile, b_tile, scores, products, begin, keys, first, queries, d, e,
                          item);
            barrier(CLK_LOCAL_MEM_FENCE);
#if IN_TURN
            store_turned(weights, &score, item);
            store_turned(seconds, &product, item);
            barrier(CLK_LOCAL_MEM_FENCE);
            differ_in_turn(weights, seconds, &a, first, begin, 1, levels, means);
#else
            fill_kept(weights, &a, first, begin, 0);
            barrier(CLK_LOCAL_MEM_FENCE);
            UNROLL
            for (int i = 0; i < 4; ++i) {
                const int key = begin + fragment_row(item, i);
                UNROLL
                for (int j = 0; j < 4; ++j) {
                    const int row = fragment_column(item, j), query = first + row;
                    const acc_t kept = weights[row * A_PITCH + fragment_row(item, i)];
                    const acc_t weight = exp2(score_of(&a, score.sum[i][j], query, key) - levels[row]);
                    score.sum[i][j] = weight * kept;
                    product.sum[i][j] = weight * (product.sum[i][j] * kept - means[row]);
                }
            }
#endif
            // Barriers under a condition are dear to some compilers: a product that is not wanted has no steps. The
            // sums change places so that one piece of code makes both.
#pragma nounroll
            for (int part = 0; part < 2; ++part) {
                const int is_wanted = part ? makes_dk : makes_dv;
                if (!IN_TURN)
                    store_turned(weights, &score, item);
                multiply_weights(&score, IN_TURN && part ? seconds : weights, b_tile, part ? a.q : dy,
                                 part ? a.q_row : dy_row, first, is_wanted ? queries : first, column, part ? d : e,
                                 item);
                add_block(&dv_sum, &score);
                const fragment_acc other = dv_sum;
                dv_sum = dk_sum;
                dk_sum = other;
                score = product;
                barrier(CLK_LOCAL_MEM_FENCE); // before the weights are others
            }
            const int is_end = head + 1 == (kv_head + 1) * group && first + BLOCK >= queries;
            if (run && (is_end || --left == 0)) {
                __global acc_t *own = TOTALS_OF(32);
                join_block(own, &dk_sum, is_end);
                join_block(own + 16 * ITEMS, &dv_sum, is_end);
                left = run;
            }
        }
    }
    if (makes_dk)
        put_block(dk_base + dk_offset + image * dk_batch + kv_head * dk_head, dk_row, &dk_sum, begin, keys, column, d,
                  item, factor, adds);
    if (makes_dv)
        put_block(dv_base + dv_offset + image * dv_batch + kv_head * dv_head, dv_row, &dv_sum, begin, keys, column, e,
                  item, 1.0f, adds);
}
