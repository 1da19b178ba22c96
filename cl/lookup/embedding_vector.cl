// SPDX-License-Identifier: MIT
// Rows of a table for CPU devices: a work-group copies the rows of its lookups one after another. Bound by memory.
//
//   -DVW=4|8|16        floats a vector holds
#include "lib/inline.clh"
#include "lib/embedding.clh"
#include "lib/vector.clh"

#define PREFETCH_BYTES 2048

ALWAYS_INLINE void copy_row(const __global data_t *from, long from_stride, __global data_t *to, long to_stride,
                            long count, int streams)
{
    if (from_stride != 1 || to_stride != 1) {
        for (long c = 0; c < count; ++c)
            store_one(to, c * to_stride, load_one(from, c * from_stride));
        return;
    }
    long c = 0;
    if (streams && (ulong)to % (VW * sizeof(data_t)) == 0)
        for (; c + VW <= count; c += VW)
            STREAM_VF(load_vf(from + c), to + c);
    for (; c + 4 * VW <= count; c += 4 * VW) {
        const vf a = load_vf(from + c), b = load_vf(from + c + VW);
        const vf d = load_vf(from + c + 2 * VW), e = load_vf(from + c + 3 * VW);
        store_vf(a, to + c);
        store_vf(b, to + c + VW);
        store_vf(d, to + c + 2 * VW);
        store_vf(e, to + c + 3 * VW);
    }
    for (; c < count; c += VW) {
        const int lanes = (int)min((long)VW, count - c);
        store_vf_part(load_vf_part(from + c, lanes), to + c, lanes);
    }
}

// A row's beginning; what follows the processor sees itself.
ALWAYS_INLINE void prefetch_row(const __global data_t *table, long at, long count)
{
    const long last = min(count, (long)(PREFETCH_BYTES / sizeof(data_t)));
    for (long c = 0; c < last; c += 64 / sizeof(data_t))
        PREFETCH_READ(table + at + c);
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) __attribute__((vec_type_hint(vf)))
void husk_embedding_vector(EMBEDDING_PARAMS)
{
    ONE_ITEM();
    WALK_2(lookup);
    const long first = get_group_id(0) * share, last = min(first + share, lookups);
    const long column = get_group_id(1) * span, count = min(span, columns - column);
    const __global data_t *table = table_base + table_offset + column * table_column;
    __global data_t *y = y_base + y_offset + column * y_column;
    if (first >= last)
        return;
    index_seek(&lookup, first);
    long row = load_index(indices_base, indices_offset + lookup.at[0], is_i64);
    for (long n = first; n < last; ++n) {
        __global data_t *to = y + lookup.at[1];
        const long here = row;
        if (n + 1 < last) { // the next row, while this one is copied
            index_next(&lookup);
            row = load_index(indices_base, indices_offset + lookup.at[0], is_i64);
            prefetch_row(table, row * table_row, row >= 0 && row < rows && table_column == 1 ? count : 0);
        }
        if (here >= 0 && here < rows) {
            copy_row(table + here * table_row, table_column, to, y_column, count, streams);
        } else {
            for (long c = 0; c < count; ++c)
                store_one(to, c * y_column, NAN);
        }
    }
    if (streams)
        END_STREAM();
}
