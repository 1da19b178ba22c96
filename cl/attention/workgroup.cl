// SPDX-License-Identifier: MIT
// Attention for GPUs: y = softmax(scale q k^T + mask) v.
//
// A work-group owns BLOCK queries of one head and BLOCK columns of y, and goes through the keys BLOCK at a time:
// scores, weights in local memory, products with the values in registers, which are scaled when a larger score is met
// (lib/attention_totals.clh).
// Where v has more columns than BLOCK the scores are computed for each part of them. See lib/attention_workgroup.clh
// for the constants; 64 work-items take 10 KiB of local memory. After Dao, "FlashAttention-2" (arXiv 2307.08691).
#include "lib/attention_workgroup.clh"

// An item's totals: its outputs, shares of its rows' sums, and what their scores counted from.
enum { SUMS_TOTAL = 16, BASES_TOTAL = 20, TOTALS = 24 };

// log_sum_exp may be NULL.
// registers husk_attention_workgroup DTYPE_F64: nvidia 256, amd 248
// registers husk_attention_workgroup SIDE=16: nvidia 208, amd 168
// registers husk_attention_workgroup: nvidia 168, amd 160
__attribute__((reqd_work_group_size(ITEMS, 1, 1)))
__kernel void husk_attention_workgroup(__global data_t *y_base, long y_offset, long y_batch, long y_head, long y_row,
                                       __global acc_t *sums_base, long sums_offset, long sums_batch, long sums_head,
                                       long sums_row, int has_sums, ATTENTION_PARAMS, TOTALS_PARAMS)
{
    __local acc_t a_tile[TILE], b_tile[TILE], weights[SQUARE], part[SIDE * BLOCK];
    const uint item = get_local_id(0);
    const int item_column = item % SIDE;
    ATTENTION_PLACE(queries, BLOCK);
    const int image = place / heads, head = place % heads;
    const int begin = (tiles - 1 - tile) * BLOCK, column = get_group_id(1) * BLOCK;
    ATTENTION_OF(a, image, head);
    fragment_acc output, score;
    acc_t greatest[4], sum[4];
    fragment_zero(&output);
    UNROLL
    for (int i = 0; i < 4; ++i) {
        greatest[i] = -INFINITY;
        sum[i] = 0.0f;
    }
    if (run)
        totals_begin(TOTALS_OF(TOTALS), TOTALS);
    const int limit = attention_seen(&a, min(begin + BLOCK, queries) - 1);
    for (int first = 0; first < limit; first += BLOCK) {
        multiply_rows(&score, a_tile, b_tile, a.q, a.q_row, begin, queries, a.k, a.k_row, first, keys, d, item);
        UNROLL
        for (int i = 0; i < 4; ++i) {
            const int query = begin + fragment_row(item, i);
            const int seen = query < queries ? attention_seen(&a, query) : 0;
            acc_t most = -INFINITY;
            UNROLL
            for (int j = 0; j < 4; ++j) {
                const int key = first + fragment_column(item, j);
                acc_t s = -INFINITY;
                if (key < seen) {
                    s = score.sum[i][j] * scale;
                    if (a.mask_kind != MASK_NONE)
                        s += attention_mask_one(&a, query, key);
                }
                score.sum[i][j] = s;
                most = fmax(most, s);
            }
            part[item_column * BLOCK + fragment_row(item, i)] = most;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        UNROLL
        for (int i = 0; i < 4; ++i) {
            const int row = fragment_row(item, i), query = begin + row;
            acc_t most = greatest[i];
            for (int t = 0; t < SIDE; ++t)
                most = fmax(most, part[t * BLOCK + row]);
            const acc_t base = most == -INFINITY ? 0.0f : most;
            const acc_t factor = exp2(greatest[i] - base);
            greatest[i] = most;
            acc_t more = 0.0f;
            UNROLL
            for (int j = 0; j < 4; ++j) {
                const acc_t weight = exp2(score.sum[i][j] - base);
                more += weight;
                output.sum[i][j] *= factor;
                const int key = first + fragment_column(item, j);
                score.sum[i][j] = a.threshold && !attention_keeps(&a, query, key) ? 0.0f : weight;
            }
            sum[i] = MAD(sum[i], factor, more);
        }
        store_turned(weights, &score, item);
        multiply_weights(&score, weights, b_tile, a.v, a.v_row, first, keys, column, e, item);
        add_block(&output, &score);
        const int is_end = first + BLOCK >= limit;
        if (run && (is_end || TOTALS_DUE(first, BLOCK))) {
            __global acc_t *own = TOTALS_OF(TOTALS);
            UNROLL
            for (int i = 0; i < 4; ++i) {
                const acc_t base = greatest[i] == -INFINITY ? 0.0f : greatest[i];
                const acc_t factor = totals_factor(own, BASES_TOTAL + i, base);
                sum[i] = totals_join(own, SUMS_TOTAL + i, factor, sum[i], is_end);
                UNROLL
                for (int j = 0; j < 4; ++j)
                    output.sum[i][j] = totals_join(own, i * 4 + j, factor, output.sum[i][j], is_end);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE); // before the greatest are written again
    }
    UNROLL
    for (int i = 0; i < 4; ++i)
        part[item_column * BLOCK + fragment_row(item, i)] = sum[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    UNROLL
    for (int i = 0; i < 4; ++i) {
        const int row = fragment_row(item, i), query = begin + row;
        acc_t total = 0.0f;
        for (int t = 0; t < SIDE; ++t)
            total += part[t * BLOCK + row];
        const acc_t factor = total == 0.0f ? 0.0f : keep / total;
        __global data_t *y = y_base + y_offset + image * y_batch + head * y_head + query * y_row;
        UNROLL
        for (int j = 0; j < 4; ++j) {
            const int at = column + fragment_column(item, j);
            if (query < queries && at < e)
                store_one(y, at, output.sum[i][j] * factor);
        }
        if (query < queries && has_sums && item_column == 0 && column == 0)
            sums_base[sums_offset + image * sums_batch + head * sums_head + query * sums_row] =
                total == 0.0f ? -INFINITY : MAD(greatest[i], LN_2, log(total));
    }
}
