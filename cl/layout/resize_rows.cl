// SPDX-License-Identifier: MIT
// Resizing and its gradient for CPU devices, one work-item per work-group: blocks of a row that is written. The rows
// that it is a sum of become one line, by vectors; the elements of the block gather from that, by tables of positions
// and weights that rows below each other share. Where the row is channels, which are copied, the line is the block.
// Bound by memory where rows are copied, else by the gathering of single numbers.
//
//   -DVW=4|8|16                floats a vector holds
//   -DELEMENT_BYTES=1|2|4|8    the nearest elements, as bits of this size; else a dtype, and sums
//   -DGRADIENT                 see lib/resize.clh
#ifdef ELEMENT_BYTES
#include "lib/element.clh"
#include "lib/inline.clh"
#else
#include "lib/vector.clh"
#include "lib/long_sum.clh"
#endif
#include "lib/resize.clh"

#define BLOCK 256 // elements of the row that is written
#define CHUNK 512 // elements of the rows that are read, at a time

// Where the row of an element of a tensor stands, and the next row.
#define ROW_BEGIN(index, number) \
    for (int d = RESIZE_ROW - 1; d >= 0; --d) { \
        index[d] = (number) % RESIZE_EXTENT(shape[d]); \
        number /= RESIZE_EXTENT(shape[d]); \
    }
#define ROW_NEXT(index) \
    for (int d = RESIZE_ROW - 1; d >= 0 && ++index[d] == RESIZE_EXTENT(shape[d]); --d) \
        index[d] = 0

#ifdef ELEMENT_BYTES
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_resize_copy_rows(const __global element_t *x_base, long x_offset, __global element_t *y_base, long y_offset,
                           RESIZE_PARAMS, long elements, long share)
{
    ONE_ITEM();
    RESIZE_SHAPE(shape);
    const resize_dimension row = shape[RESIZE_ROW];
    const bool is_run = resize_is_copied(row) && row.x_stride == 1 && row.y_stride == 1;
    long first = get_group_id(0) * share, index[RESIZE_ROW], places[BLOCK], known = -1;
    int known_count = 0;
    const long last = min(first + share, elements);
    long number = first / row.outputs, column = first - number * row.outputs;
    ROW_BEGIN(index, number);
    while (first < last) {
        const int count = (int)min(min(row.outputs - column, last - first), (long)BLOCK);
        const __global element_t *x = x_base + x_offset;
        __global element_t *y = y_base + y_offset + column * row.y_stride;
        for (int d = 0; d < RESIZE_ROW; ++d) {
            x += resize_within(shape[d], resize_base(shape[d], index[d])) * shape[d].x_stride;
            y += index[d] * shape[d].y_stride;
        }
        if (is_run) {
            for (int e = 0; e < count; ++e)
                y[e] = x[column + e];
        } else {
            if (known != column || known_count < count)
                for (int e = 0; e < count; ++e)
                    places[e] = resize_within(row, resize_base(row, column + e)) * row.x_stride;
            known = column;
            known_count = count;
            for (int e = 0; e < count; ++e)
                y[e * row.y_stride] = x[places[e]];
        }
        first += count;
        column += count;
        if (column < row.outputs)
            continue;
        column = 0;
        ROW_NEXT(index);
    }
}
#else
// line[i] becomes the sum of all rows that are read, each with its weight, at column from + i of what is read.
inline void sum_rows(acc_t *line, const __global data_t *from_base, const resize_dimension *shape,
                     const resize_reach *reach, const long *index, long from, int length, acc_t coefficient)
{
    acc_t whole[CHUNK + VW], rests[CHUNK + VW];
#ifdef GRADIENT
    const long stride = shape[RESIZE_ROW].y_stride;
#else
    const long stride = shape[RESIZE_ROW].x_stride;
#endif
    long rows = 1;
    for (int d = 0; d < RESIZE_ROW; ++d)
        rows *= reach[d].count;
    if (rows > LONG_SUM_RUN)
        long_sums_begin(line, whole, rests, length);
    else
        for (int i = 0; i < length; i += VW)
            store_private((vf)(0.0f), line + i);
    for (long r = 0; r < rows; ++r) {
        const __global data_t *row = from_base + from * stride;
        acc_t weight = 1.0f;
        long rest = r;
        for (int d = RESIZE_ROW - 1; d >= 0; --d) {
            const long k = reach[d].count > 1 ? rest % reach[d].count : 0;
            rest = reach[d].count > 1 ? rest / reach[d].count : rest;
            row += resize_place(shape[d], reach[d], k);
            weight *= resize_factor(shape[d], reach[d], index[d], k, coefficient);
        }
        if (stride == 1)
            for (int i = 0; i < length; i += VW)
                store_private(load_private(line + i) + weight * load_vf_part(row + i, length - i), line + i);
        else
            for (int i = 0; i < length; ++i)
                line[i] += weight * load_one(row, i * stride);
        if (rows > LONG_SUM_RUN && r % LONG_SUM_RUN == LONG_SUM_RUN - 1)
            long_sums_run(line, whole, rests, length);
    }
    if (rows > LONG_SUM_RUN)
        long_sums_end(line, whole, rests, length);
}

// What a block reads of a line that begins at column `from`.
typedef struct {
    long column, from; // of which block and line these are
    int count, length;
#ifdef GRADIENT
    int first[BLOCK], last[BLOCK]; // of the line
    long base[CHUNK];
    acc_t fraction[CHUNK];
#else
    int place[4][BLOCK]; // in the line, or outside
    acc_t weight[4][BLOCK];
#endif
} resize_table;

inline void make_table(resize_table *table, resize_dimension row, long column, int count, long from, int length,
                       acc_t coefficient)
{
    if (table->column == column && table->from == from && table->count >= count && table->length >= length)
        return;
    table->column = column;
    table->from = from;
    table->count = count;
    table->length = length;
#ifdef GRADIENT
    for (int e = 0; e < count; ++e) {
        const resize_reach reach = resize_reach_of(row, column + e);
        table->first[e] = (int)min(max(reach.first - from, 0L), (long)length);
        table->last[e] = (int)min(max(reach.first + reach.count - from, 0L), (long)length);
    }
    for (int j = 0; j < length; ++j) {
        table->base[j] = resize_base(row, from + j);
        table->fraction[j] = resize_fraction(row, from + j);
    }
#else
    for (int e = 0; e < count; ++e) {
        const resize_reach reach = resize_reach_of(row, column + e);
        for (int k = 0; k < (int)row.taps; ++k) {
            const long place = resize_within(row, reach.first + k) - from;
            table->place[k][e] = place >= 0 && place < length ? (int)place : length;
            table->weight[k][e] = resize_weight(row.taps, k, reach.fraction, coefficient);
        }
    }
#endif
}

// Adds to each sum of the block what it reads of the line.
inline void gather(acc_t *sums, const resize_table *table, acc_t *line, resize_dimension row, long column, int count,
                   int length, acc_t coefficient)
{
#ifdef GRADIENT
    for (int e = 0; e < count; ++e) {
        const int last = min(table->last[e], length);
        LONG_SUM(all);
        for (int j = table->first[e], stop; j < last;) {
            acc_t run = 0.0f;
            for (stop = min(j + LONG_SUM_RUN, last); j < stop; ++j)
                run += line[j] * resize_share(row, column + e, table->base[j], table->fraction[j], coefficient);
            LONG_SUM_ADD(all, run);
        }
        sums[e] += LONG_SUM_TOTAL(all);
    }
#else
    line[table->length] = 0.0f; // for what lies outside of the line
    for (int k = 0; k < (int)row.taps; ++k)
        for (int e = 0; e < count; ++e)
            sums[e] += table->weight[k][e] * line[table->place[k][e]];
#endif
}

inline void store_sums(const acc_t *sums, __global data_t *to, long stride, int count, int adds)
{
    for (int e = 0; e < count; e += stride == 1 ? VW : 1) {
        if (stride == 1) {
            vf sum = load_private(sums + e);
            if (adds)
                sum += load_vf_part(to + e, count - e);
            store_vf_part(sum, to + e, count - e);
        } else {
            store_one(to, e * stride, adds ? sums[e] + load_one(to, e * stride) : sums[e]);
        }
    }
}

__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void husk_resize_rows(const __global data_t *from_base, long from_offset, __global data_t *to_base, long to_offset,
                      RESIZE_PARAMS, acc_t coefficient, int adds, long elements, long share)
{
    ONE_ITEM();
    RESIZE_SHAPE(shape);
    const resize_dimension row = shape[RESIZE_ROW];
    const bool is_copied = resize_is_copied(row);
    const long extent = RESIZE_EXTENT(row);
    long first = get_group_id(0) * share, index[RESIZE_ROW];
    const long last = min(first + share, elements);
    long number = first / extent, column = first - number * extent;
    resize_table table;
    table.column = -1;
    ROW_BEGIN(index, number);
    while (first < last) {
        acc_t sums[BLOCK + VW], whole[BLOCK + VW], rests[BLOCK + VW], line[CHUNK + VW];
        resize_reach reach[RESIZE_ROW];
        const int count = (int)min(min(extent - column, last - first), (long)BLOCK);
        long to = to_offset + column * RESIZE_STRIDE(row);
        for (int d = 0; d < RESIZE_ROW; ++d) {
            reach[d] = resize_reach_of(shape[d], index[d]);
            to += index[d] * RESIZE_STRIDE(shape[d]);
        }
        const resize_reach lowest = resize_reach_of(row, column), highest = resize_reach_of(row, column + count - 1);
#ifdef GRADIENT
        const long begin = lowest.first, end = highest.first + highest.count;
#else
        const long begin = resize_within(row, lowest.first);
        const long end = resize_within(row, highest.first + highest.count - 1) + 1;
#endif
        if (is_copied) {
            sum_rows(sums, from_base + from_offset, shape, reach, index, column, count, coefficient);
        } else {
            long_sums_begin(sums, whole, rests, count);
            for (long from = begin; from < end; from += CHUNK) {
                const int length = (int)min(end - from, (long)CHUNK);
                sum_rows(line, from_base + from_offset, shape, reach, index, from, length, coefficient);
                make_table(&table, row, column, count, from, length, coefficient);
                gather(sums, &table, line, row, column, count, length, coefficient);
                if (end - begin > CHUNK)
                    long_sums_run(sums, whole, rests, count);
            }
            if (end - begin > CHUNK)
                long_sums_end(sums, whole, rests, count);
        }
        store_sums(sums, to_base + to, RESIZE_STRIDE(row), count, adds);
        first += count;
        column += count;
        if (column < extent)
            continue;
        column = 0;
        ROW_NEXT(index);
    }
}
#endif
