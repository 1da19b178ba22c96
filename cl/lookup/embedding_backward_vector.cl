// SPDX-License-Identifier: MIT
// The gradient of a table of embeddings for CPU devices: a stable counting sort of the indices by rows, then each row's
// sum in registers, written once. Reads dy once and the indices twice.
//
//   -DVW=4|8|16        floats a vector holds
#include "lib/inline.clh"
#include "lib/embedding.clh"
#include "lib/vector.clh"
#include "lib/long_sum.clh"

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_embedding_backward_vector_sort(EMBEDDING_SORT_PARAMS)
{
    ONE_ITEM();
    WALK_2(lookup);
    const long first = get_group_id(0) * owned;
    embedding_sort(ends_base + ends_offset, order_base + order_offset, indices_base, indices_offset, is_i64, lookups,
                   &lookup, skipped, first, min(first + owned, rows));
}

ALWAYS_INLINE vf finish(vf sum, const __global data_t *to, int lanes, acc_t terms, int flags)
{
    if (flags & EMBEDDING_MEANS)
        sum /= terms;
    if (flags & EMBEDDING_ADDS)
        sum += load_vf_part(to, lanes);
    return sum;
}

// A row at stride 1 from rows at stride 1.
ALWAYS_INLINE void sum_row(const __global data_t *dy, const __global long *order, long begin, long end,
                           __global data_t *to, long columns, acc_t terms, int flags)
{
    long c = 0;
    for (; c + 4 * VW <= columns; c += 4 * VW) {
        LONG_SUM_VF(all0);
        LONG_SUM_VF(all1);
        LONG_SUM_VF(all2);
        LONG_SUM_VF(all3);
        for (long k = begin, stop; k < end;) {
            vf s0 = (vf)(0.0f), s1 = (vf)(0.0f), s2 = (vf)(0.0f), s3 = (vf)(0.0f);
            for (stop = min(k + LONG_SUM_RUN, end); k < stop; ++k) {
                const __global data_t *from = dy + order[k] + c;
                s0 += load_vf(from);
                s1 += load_vf(from + VW);
                s2 += load_vf(from + 2 * VW);
                s3 += load_vf(from + 3 * VW);
            }
            LONG_SUM_ADD_VF(all0, s0);
            LONG_SUM_ADD_VF(all1, s1);
            LONG_SUM_ADD_VF(all2, s2);
            LONG_SUM_ADD_VF(all3, s3);
        }
        store_vf(finish(LONG_SUM_TOTAL_VF(all0), to + c, VW, terms, flags), to + c);
        store_vf(finish(LONG_SUM_TOTAL_VF(all1), to + c + VW, VW, terms, flags), to + c + VW);
        store_vf(finish(LONG_SUM_TOTAL_VF(all2), to + c + 2 * VW, VW, terms, flags), to + c + 2 * VW);
        store_vf(finish(LONG_SUM_TOTAL_VF(all3), to + c + 3 * VW, VW, terms, flags), to + c + 3 * VW);
    }
    for (; c < columns; c += VW) {
        const int lanes = (int)min((long)VW, columns - c);
        LONG_SUM_VF(all);
        for (long k = begin, stop; k < end;) {
            vf run = (vf)(0.0f);
            for (stop = min(k + LONG_SUM_RUN, end); k < stop; ++k)
                run += load_vf_part(dy + order[k] + c, lanes);
            LONG_SUM_ADD_VF(all, run);
        }
        store_vf_part(finish(LONG_SUM_TOTAL_VF(all), to + c, lanes, terms, flags), to + c, lanes);
    }
}

ALWAYS_INLINE vf gather(const __global data_t *from, long step, int lanes)
{
    acc_t some[VW];
    for (int i = 0; i < VW; ++i)
        some[i] = i < lanes ? load_one(from, i * step) : 0.0f;
    return load_private(some);
}

// Columns side by side here, too: Intel's compiler adds up a loop's one sum in an order of its own.
ALWAYS_INLINE void sum_row_strided(const __global data_t *dy, long dy_column, const __global long *order, long begin,
                                   long end, __global data_t *to, long to_column, long columns, acc_t terms, int flags)
{
    for (long c = 0; c < columns; c += VW) {
        const int lanes = (int)min((long)VW, columns - c);
        LONG_SUM_VF(all);
        for (long k = begin, stop; k < end;) {
            vf run = (vf)(0.0f);
            for (stop = min(k + LONG_SUM_RUN, end); k < stop; ++k)
                run += gather(dy + order[k] + c * dy_column, dy_column, lanes);
            LONG_SUM_ADD_VF(all, run);
        }
        vf sum = LONG_SUM_TOTAL_VF(all);
        if (flags & EMBEDDING_MEANS)
            sum /= terms;
        if (flags & EMBEDDING_ADDS)
            sum += gather(to + c * to_column, to_column, lanes);
        acc_t some[VW];
        store_private(sum, some);
        for (int i = 0; i < lanes; ++i)
            store_one(to, (c + i) * to_column, some[i]);
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_embedding_backward_vector_sum(EMBEDDING_SUM_PARAMS)
{
    ONE_ITEM();
    const __global long *ends = ends_base + ends_offset, *order = order_base + order_offset;
    const long parts = get_num_groups(0), part = get_group_id(0);
    const long last = embedding_part(ends, rows, part + 1, parts);
    for (long row = embedding_part(ends, rows, part, parts); row < last; ++row) {
        const long begin = embedding_begin(ends, row), end = ends[row];
        __global data_t *to = dtable_base + dtable_offset + row * dtable_row;
        if (begin == end && flags & EMBEDDING_ADDS)
            continue;
        const acc_t terms = (acc_t)max(end - begin, 1L);
        if (dy_column == 1 && dtable_column == 1)
            sum_row(dy_base + dy_offset, order, begin, end, to, columns, terms, flags);
        else
            sum_row_strided(dy_base + dy_offset, dy_column, order, begin, end, to, dtable_column, columns, terms,
                            flags);
    }
}
