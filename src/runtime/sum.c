// SPDX-License-Identifier: MIT
#include "runtime/sum.h"

#include <stdio.h>

#include <husk/context.h>

#include "base/checked.h"
#include "base/tensor.h"

enum { SUM_COLUMNS = 256, ADDS = 1 }; // cl/lib/sum.clh, cl/lib/map.clh
// Where there are fewer sums than UNITS_WANTED at a time, they are divided into partial sums of at least CHUNK_MINIMUM.
enum { UNITS_WANTED = 64, CHUNK_MINIMUM = 16384, CHUNK_MULTIPLE = 64, GROUPS_PER_UNIT = 8, SHARE_MINIMUM = 16384 };
// GPUs: work-groups in a row of a launch at most; there are as many rows as it takes. Drivers count the work-items of a
// dimension in 32 bits.
enum { MOST_GROUPS = 32768 };

static bool is_kept(const husk__walk_dimension *loop)
{
    return loop->strides[HUSK__WALK_Y] != 0;
}

// Kept dimensions first, the row staying where it is; each kind in the order it had.
static void order(husk__sum *sum)
{
    const husk__walk given = sum->walk;
    const int32_t row = given.rank - 1;
    int32_t at = 0;
    for (int pass = 0; pass < 2; ++pass)
        for (int32_t d = 0; d < row; ++d)
            if (is_kept(&given.dimensions[d]) == (pass == 0)) {
                sum->walk.dimensions[at++] = given.dimensions[d];
                sum->kept_rank += pass == 0;
            }
    sum->is_columns = is_kept(&given.dimensions[row]);
    for (int32_t d = 0; d < given.rank; ++d)
        if (is_kept(&sum->walk.dimensions[d]))
            sum->ends.dimensions[sum->ends.rank++] = sum->walk.dimensions[d];
    if (sum->ends.rank == 0)
        sum->ends = (husk__walk){.rank = 1, .dimensions = {{.extent = 1}}};
}

// By shapes alone.
static void divide(husk__sum *sum)
{
    const int64_t count = sum->walk.dimensions[sum->walk.rank - 1].extent;
    const int64_t columns = sum->is_columns ? count : 1; // sums that are made at a time, and units for them
    const int64_t units = sum->kept * husk__divide_up(columns, SUM_COLUMNS);
    const int64_t terms = sum->reduced * husk__min_i64(columns, SUM_COLUMNS); // of a unit
    const int64_t most = husk__min_i64(husk__divide_up(UNITS_WANTED, units), terms / CHUNK_MINIMUM);
    sum->splits = husk__max_i64(husk__min_i64(most, sum->reduced), 1);
    sum->chunk = husk__divide_up(sum->reduced, sum->splits);
    if (!sum->is_columns)
        sum->chunk = husk__round_up(sum->chunk, CHUNK_MULTIPLE);
    sum->splits = husk__divide_up(sum->reduced, sum->chunk);
}

husk__sum husk__sum_make(int32_t rank, const int64_t *shape, const husk_tensor *const tensors[HUSK__WALK_TENSORS])
{
    const husk_tensor *y = tensors[HUSK__WALK_Y];
    husk__sum sum = {.partial = husk__accumulator_size(y->dtype)};
    bool is_empty = false;
    for (int32_t d = 0; d < rank; ++d)
        is_empty = is_empty || shape[d] == 0;
    if (is_empty) { // sums without terms
        const husk_tensor *const none[] = {y, y, y, y};
        sum.ends = husk__walk_make(y->rank, y->shape, none, HUSK__WALK_Y);
        sum.total = husk__walk_count(&sum.ends);
        return sum;
    }
    sum.walk = husk__walk_make(rank, shape, tensors, HUSK__WALK_U);
    order(&sum);
    sum.kept = 1;
    sum.reduced = 1;
    for (int32_t d = 0; d < sum.walk.rank; ++d)
        if (!is_kept(&sum.walk.dimensions[d]))
            sum.reduced *= sum.walk.dimensions[d].extent;
        else if (d + 1 < sum.walk.rank)
            sum.kept *= sum.walk.dimensions[d].extent;
    sum.total = husk__walk_count(&sum.ends);
    divide(&sum);
    return sum;
}

uint64_t husk__sum_workspace(const husk__sum *sum)
{
    return sum->splits > 1 ? (uint64_t)sum->splits * (uint64_t)sum->total * sum->partial : 0;
}

// CPU devices: whole units for a work-group, several groups a core, none of less than SHARE_MINIMUM terms.
static void share_units(husk__sum *sum, int64_t cores)
{
    const int64_t count = sum->walk.rank > 0 ? sum->walk.dimensions[sum->walk.rank - 1].extent : 1;
    const int64_t columns = sum->is_columns ? count : 1;
    sum->units = sum->kept * husk__divide_up(columns, SUM_COLUMNS) * sum->splits;
    const int64_t terms = husk__max_i64(sum->chunk * husk__min_i64(columns, SUM_COLUMNS), 1);
    sum->share =
        husk__max_i64(husk__divide_up(sum->units, GROUPS_PER_UNIT * cores), husk__divide_up(SHARE_MINIMUM, terms));
    sum->range = (husk__range){{(size_t)husk__divide_up(sum->units, sum->share), 1, 1}, {1, 1, 1}};
    sum->end_share = husk__max_i64(husk__divide_up(sum->total, GROUPS_PER_UNIT * cores), 1024);
    sum->end_range = (husk__range){{(size_t)husk__divide_up(sum->total, sum->end_share), 1, 1}, {1, 1, 1}};
}

// cl/lib/sum_grid.clh's sum_group() is the number of a group.
static husk__range range_of(int64_t groups, int64_t items)
{
    const int64_t rows = husk__max_i64(husk__divide_up(groups, MOST_GROUPS), 1);
    return (husk__range){{(size_t)husk__divide_up(groups, rows), (size_t)rows, 1}, {(size_t)items, 1, 1}};
}

// GPUs: a work-group a sum, or a work-item.
static void share_items(husk__sum *sum, int64_t items)
{
    const int64_t count = sum->walk.rank > 0 ? sum->walk.dimensions[sum->walk.rank - 1].extent : 1;
    sum->units = sum->kept * (sum->is_columns ? count : 1) * sum->splits;
    const int64_t groups = sum->is_columns ? husk__divide_up(sum->units, items) : sum->units;
    sum->range = range_of(groups, items);
    sum->end_range = range_of(husk__divide_up(sum->total, items), items);
}

husk_status husk__sum_prepare(husk_context *context, const char *file, const char *options, const char *kernel,
                              int64_t items, husk__sum *sum, const husk__scope *scope)
{
    char name[96];
    if (items == 1)
        share_units(sum, (int64_t)husk_context_traits(context)->compute_units);
    else
        share_items(sum, items);
    snprintf(name, sizeof name, "%s_sum", kernel);
    husk_status status = husk__kernel_get(context, file, options, name, &sum->kernel, scope);
    snprintf(name, sizeof name, "%s_finish", kernel);
    return status == HUSK_OK ? husk__kernel_get(context, file, options, name, &sum->finish, scope) : status;
}

static husk_status launch(const husk__sum *sum, husk_queue *queue, const husk__map_run *run, husk__arg partial,
                          bool is_end, const husk__scope *scope)
{
    const husk__walk *walk = is_end ? &sum->ends : &sum->walk;
    const int32_t outer = HUSK_MAX_RANK - walk->rank;
    const husk__walk_values values = husk__walk_prepare(walk);
    husk__arg list[5 + HUSK__WALK_ARGS + 14];
    husk__arg *end = list;
    *end++ = HUSK__ARG_TENSOR(run->y);
    *end++ = HUSK__ARG_TENSOR(run->u);
    *end++ = HUSK__ARG_TENSOR(run->v ? run->v : run->u);
    *end++ = HUSK__ARG_TENSOR(run->w ? run->w : run->u);
    *end++ = partial;
    end = husk__walk_write_args(&values, HUSK__WALK_TENSORS, end);
    *end++ = HUSK__ARG_I32(outer);
    *end++ = HUSK__ARG_I32(outer + sum->kept_rank);
    *end++ = HUSK__ARG_I32(sum->is_columns);
    *end++ = HUSK__ARG_I64(sum->kept);
    *end++ = HUSK__ARG_I64(sum->reduced);
    *end++ = HUSK__ARG_I64(sum->chunk);
    *end++ = HUSK__ARG_I64(sum->splits);
    *end++ = HUSK__ARG_I64(is_end ? sum->total : sum->units);
    *end++ = HUSK__ARG_I64(is_end ? sum->end_share : sum->share);
    *end++ = HUSK__ARG_I32(run->adds ? ADDS : 0);
    *end++ = HUSK__ARG_I32(run->kind);
    for (int i = 0; i < 3; ++i)
        *end++ = HUSK__ARG_F32(run->numbers[i]);
    return husk__launch(queue, is_end ? sum->finish : sum->kernel, is_end ? &sum->end_range : &sum->range, list,
                        (size_t)(end - list), scope);
}

husk_status husk__sum_launch(const husk__sum *sum, husk_queue *queue, const husk__map_run *run,
                             const husk_buffer *scratch, uint64_t at, const husk__scope *scope)
{
    const husk__arg partial =
        sum->splits > 1 ? HUSK__ARG_BUFFER(scratch, at, sum->partial) : HUSK__ARG_BUFFER(NULL, 0, sum->partial);
    husk_status status = HUSK_OK;
    if (sum->splits > 0)
        status = launch(sum, queue, run, partial, false, scope);
    if (status == HUSK_OK && sum->splits != 1)
        status = launch(sum, queue, run, partial, true, scope);
    return status;
}
