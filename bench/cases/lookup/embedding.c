// SPDX-License-Identifier: MIT
// embedding lookups rows columns [dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/freivalds.h"
#include "ref/random.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("lookups", as.embedding.lookups, 0, "indices"),
    BENCH_REQUIRED("rows", as.embedding.rows, 1, "the table's"),
    BENCH_REQUIRED("columns", as.embedding.columns, 1, "the table's"),
    {.key = NULL},
};

static double flops(const bench_case *c)
{
    return (double)c->as.embedding.lookups * (double)c->as.embedding.columns;
}

// The indices, which are i32 whatever the table is; a row for each, and so many of the table's.
static double bytes_with(const bench_case *c, double rows)
{
    const double lookups = (double)c->as.embedding.lookups, columns = (double)c->as.embedding.columns;
    return 4 * lookups + bench_case_element(c) * columns * (lookups + rows);
}

// Forward reads and writes a row a lookup; the gradient reads one and writes the whole table.
static double bytes(const bench_case *c)
{
    const double lookups = (double)c->as.embedding.lookups, rows = (double)c->as.embedding.rows;
    // A row that is looked up again is read once; the table's gradient is written whole.
    return bytes_with(c, c->dir == BENCH_FWD ? fmin(lookups, rows) : rows);
}

static double operands(const bench_case *c)
{
    return bytes_with(c, (double)c->as.embedding.rows);
}

static bool make_indices(const bench_embedding *e, bench_array *indices, uint64_t seed)
{
    husk_ref_random random = {.seed = seed};
    if (!bench_array_make(indices, HUSK_I32, 1, &e->lookups, NULL))
        return false;
    for (int64_t i = 0; i < e->lookups; i++)
        ((int32_t *)indices->data)[i] = (int32_t)husk_ref_random_below(&random, e->rows);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_embedding *e = &c->as.embedding;
    const int64_t table[] = {e->rows, e->columns}, rows[] = {e->lookups, e->columns};
    const bool is_forward = c->dir == BENCH_FWD;
    bench_array *input = is_forward ? &data->x : &data->dy;
    if (!make_indices(e, &data->saved[0], seed + 1) ||
        !bench_array_make(input, HUSK_F32, 2, is_forward ? table : rows, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 2, is_forward ? rows : table, NULL))
        return false;
    bench_array_fill(input, seed, 1);
    return true;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_embedding_params params = HUSK_EMBEDDING_PARAMS(.variant = job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_embedding_backward(job->queue, &params, &set->saved[0], &set->dy, &set->y);
    return husk_embedding(job->queue, &params, &set->x, &set->saved[0], &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y), dy = bench_ref_array(&data->dy);
    husk_ref_array indices = bench_ref_array(&data->saved[0]);
    husk_ref_embedding op = {.table = &x, .indices = &indices};
    husk_ref_embedding_backward backward = {.indices = &indices, .dy = &dy, .rows = c->as.embedding.rows};
    const husk_ref_function function = husk_ref_embedding_function(&op);
    husk_ref_report report = {0};
    if (c->dir == BENCH_FWD)
        husk_ref_check(&function, options->seed, &y, &report);
    else
        husk_ref_embedding_backward_check(&backward, options->seed, &y, &report);
    bench_verdict_add(verdict, c->dir == BENCH_FWD ? "y" : "dtable", &report);
}

// Columns around vectors; tables of which every row is looked up often, and seldom.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int columns[] = {1, 17, 64, 300}, rows[] = {7, 900}, lookups[] = {1, 33, 321};
    if (index >= 48)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "embedding lookups=%d rows=%d columns=%d%s", lookups[index / 8 % 3],
             rows[index / 4 % 2], columns[index % 4], index < 24 ? "" : " dir=bwd");
    return true;
}

const bench_op bench_op_embedding = {
    .name = "embedding",
    .gradients = {[BENCH_BWD] = "embedding_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = flops,
    .bytes = bytes,
    .operands = operands,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
