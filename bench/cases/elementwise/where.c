// SPDX-License-Identifier: MIT
// where rows columns [scalar numbers dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/where.h"
#include "ref/random.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("rows", as.where.rows, 0, "rows of a and y"),
    BENCH_REQUIRED("columns", as.where.columns, 0, "columns of a and y"),
    BENCH_CHOICE("scalar", as.where.scalar, 0, bench_flag_choices, "1: b is one number, as where a mask fills"),
    BENCH_CHOICE("numbers", as.where.numbers, 0, bench_flag_choices, "1: the condition is f32, not u8"),
    {.key = NULL},
};

static double elements(const bench_case *c)
{
    return (double)c->as.where.rows * (double)c->as.where.columns;
}

static double bytes(const bench_case *c)
{
    const double b = c->as.where.scalar ? 1 : elements(c), size = bench_case_element(c);
    return size * (2 * elements(c) + b) + (c->as.where.numbers ? size : 1) * elements(c);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_where *own = &c->as.where;
    const int64_t shape[2] = {own->rows, own->columns}, one[2] = {1, 1};
    husk_ref_random random = {.seed = seed};
    bench_array *condition = &data->saved[0];
    if (!bench_array_make(&data->x, HUSK_F32, 2, shape, NULL) ||
        !bench_array_make(&data->w, HUSK_F32, 2, own->scalar ? one : shape, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 2, shape, NULL) ||
        !bench_array_make(condition, own->numbers ? HUSK_F32 : HUSK_U8, 2, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    bench_array_fill(&data->w, seed + 1, 4);
    for (int64_t i = 0; i < shape[0] * shape[1]; i++) {
        const int64_t is_a = husk_ref_random_below(&random, 2);
        if (own->numbers)
            ((float *)condition->data)[i] = (float)is_a;
        else
            ((uint8_t *)condition->data)[i] = (uint8_t)is_a;
    }
    if (c->dir == BENCH_FWD)
        return true;
    if (!bench_array_make(&data->dy, HUSK_F32, 2, shape, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 2, 1);
    return true;
}

// db; da is y.
static bool make_output(const bench_case *c, const bench_data *data, bench_output *output)
{
    return c->dir == BENCH_FWD || bench_array_make(&output->gradients[0], HUSK_F32, 2, data->w.shape, NULL);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_where_params params = HUSK_WHERE_PARAMS(.variant = job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_where_backward(job->queue, &params, &set->saved[0], &set->dy, &set->y, &set->gradients[0]);
    return husk_where(job->queue, &params, &set->saved[0], &set->x, &set->w, &set->y);
}

static void verify_gradients(const bench_data *data, const bench_output *output, const bench_verify_options *options,
                             bench_verdict *verdict)
{
    husk_ref_array condition = bench_ref_array(&data->saved[0]), dy = bench_ref_array(&data->dy);
    const bench_array *const gradients[] = {&output->y, &output->gradients[0]};
    for (int i = 0; i < 2; i++) {
        husk_ref_array gradient = bench_ref_array(gradients[i]);
        husk_ref_where_backward op = {.condition = &condition, .dy = &dy, .gradient = &gradient, .by_b = i == 1};
        husk_ref_function function = husk_ref_where_backward_function(&op);
        husk_ref_report report = {0};
        husk_ref_check(&function, options->seed, &gradient, &report);
        bench_verdict_add(verdict, i ? "db" : "da", &report);
    }
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    if (c->dir == BENCH_BWD) {
        verify_gradients(data, output, options, verdict);
        return;
    }
    husk_ref_array condition = bench_ref_array(&data->saved[0]), a = bench_ref_array(&data->x);
    husk_ref_array b = bench_ref_array(&data->w), y = bench_ref_array(&output->y);
    husk_ref_where op = {.condition = &condition, .a = &a, .b = &b};
    husk_ref_function function = husk_ref_where_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int columns[] = {1, 15, 257, 1031};
    if (index >= 48)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "where rows=%d columns=%d scalar=%d numbers=%d%s", 3 + (int)index % 5,
             columns[index % 4], (int)(index / 4 % 2), (int)(index / 8 % 2), index >= 24 ? " dir=bwd" : "");
    return true;
}

const bench_op bench_op_where = {
    .name = "where",
    .gradients = {[BENCH_BWD] = "where_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = elements,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .make_output = make_output,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
