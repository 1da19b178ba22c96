// SPDX-License-Identifier: MIT
// copy rows columns [outer turn dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/layout/copy.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("rows", as.copy.rows, 0, "extent of the dimension before the last"),
    BENCH_REQUIRED("columns", as.copy.columns, 0, "extent of the last dimension"),
    BENCH_INTEGER("outer", as.copy.outer, 1, 0, "extent before the rows"),
    BENCH_CHOICE("turn", as.copy.turn, 0, bench_flag_choices, "1: x is stored with the last two dimensions exchanged"),
    {.key = NULL},
};

static double elements(const bench_case *c)
{
    return (double)c->as.copy.outer * (double)c->as.copy.rows * (double)c->as.copy.columns;
}

static double bytes(const bench_case *c)
{
    return 2 * bench_case_element(c) * elements(c);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_copy *p = &c->as.copy;
    const int64_t shape[3] = {p->outer, p->rows, p->columns}, strides[3] = {p->rows * p->columns, 1, p->rows};
    if (!bench_array_make(&data->x, HUSK_F32, 3, shape, p->turn ? strides : NULL) ||
        !bench_array_make(&data->y, HUSK_F32, 3, shape, NULL))
        return false;
    bench_array_fill(&data->x, seed, 8);
    return true;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_copy_params params = HUSK_COPY_PARAMS(.variant = job->form);
    return husk_copy(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const bench_copy *p = &c->as.copy;
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    husk_ref_copy op = {.x = &x, .dtype = c->dtype, .rank = 3, .shape = {p->outer, p->rows, p->columns}};
    husk_ref_function function = husk_ref_copy_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1, 7, 31, 32, 33, 64, 65, 100};
    if (index >= 32)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "copy outer=%d rows=%d columns=%d turn=%d", 1 + (int)(index % 3), sizes[index % 8],
             sizes[index * 5 / 8 % 8], (int)(index / 2 % 2));
    return true;
}

const bench_op bench_op_copy = {
    .name = "copy",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = elements,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
