// SPDX-License-Identifier: MIT
// quantize rows columns [per=tensor|row|column u8 dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/quantized/quantize.h"

enum { PER_TENSOR, PER_ROW, PER_COLUMN };
static const bench_choice per_choices[] = {{"tensor", PER_TENSOR}, {"row", PER_ROW}, {"column", PER_COLUMN}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("rows", as.quantize.rows, 0, "rows"),
    BENCH_REQUIRED("columns", as.quantize.columns, 0, "elements of a row"),
    BENCH_CHOICE("per", as.quantize.per, PER_TENSOR, per_choices, "one scale and zero point, or one a row or column"),
    BENCH_CHOICE("u8", as.quantize.u8, 0, bench_flag_choices, "1: from 0 to 255, not from -128 to 127"),
    {.key = NULL},
};

static double elements(const bench_case *c)
{
    return (double)c->as.quantize.rows * (double)c->as.quantize.columns;
}

// A division, a rounding, an addition and two comparisons an element.
static double flops(const bench_case *c)
{
    return 5 * elements(c);
}

static double bytes(const bench_case *c)
{
    return 5 * elements(c);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_quantize *p = &c->as.quantize;
    const int64_t shape[2] = {p->rows, p->columns}, one = 1;
    const int64_t *channels = p->per == PER_ROW ? &shape[0] : p->per == PER_COLUMN ? &shape[1] : &one;
    const husk_dtype byte = p->u8 ? HUSK_U8 : HUSK_I8;
    if (!bench_array_make(&data->x, HUSK_F32, 2, shape, NULL) || !bench_array_make(&data->y, byte, 2, shape, NULL) ||
        !bench_array_make(&data->w, HUSK_F32, 1, channels, NULL) ||
        !bench_array_make(&data->bias, byte, 1, channels, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    bench_array_fill_bytes(&data->bias, seed + 1);
    for (int64_t i = 0; i < data->w.count; i++)
        ((float *)data->w.data)[i] = 0.03f + 0.001f * (float)(i % 17);
    return true;
}

static husk_quantize_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_QUANTIZE_PARAMS(.axis = c->as.quantize.per == PER_COLUMN, .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_quantize_params params = params_of(job->c, job->form);
    return husk_quantize(job->queue, &params, &set->x, &set->w, &set->bias, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_quantize_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), scale = bench_ref_array(&data->w);
    husk_ref_array zero = bench_ref_array(&data->bias), y = bench_ref_array(&output->y);
    const husk_ref_quantize op = {.params = &params, .x = &x, .scale = &scale, .zero = &zero, .dtype = y.dtype};
    husk_ref_function function = husk_ref_quantize_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int sizes[] = {1, 7, 31, 32, 33, 64, 65, 100};
    static const char *const pers[] = {"tensor", "row", "column"};
    if (index >= 36)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "quantize rows=%d columns=%d per=%s u8=%d", sizes[index % 8],
             sizes[index * 5 / 8 % 8], pers[index % 3], (int)(index / 2 % 2));
    return true;
}

const bench_op bench_op_quantize = {
    .name = "quantize",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
