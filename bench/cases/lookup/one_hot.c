// SPDX-License-Identifier: MIT
// one_hot labels classes [dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/lookup/one_hot.h"
#include "ref/random.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("labels", as.one_hot.labels, 0, "labels"),
    BENCH_REQUIRED("classes", as.one_hot.classes, 1, "what they are below"),
    {.key = NULL},
};

static double flops(const bench_case *c)
{
    return (double)c->as.one_hot.labels * (double)c->as.one_hot.classes;
}

static double bytes(const bench_case *c)
{
    // Labels are i32 whatever y is.
    return (double)c->as.one_hot.labels * (4 + bench_case_element(c) * (double)c->as.one_hot.classes);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const bench_one_hot *o = &c->as.one_hot;
    const int64_t shape[] = {o->labels, o->classes};
    husk_ref_random random = {.seed = seed};
    if (!bench_array_make(&data->x, HUSK_I32, 1, shape, NULL) || !bench_array_make(&data->y, HUSK_F32, 2, shape, NULL))
        return false;
    for (int64_t i = 0; i < o->labels; i++)
        ((int32_t *)data->x.data)[i] = (int32_t)husk_ref_random_below(&random, o->classes);
    return true;
}

static husk_one_hot_params params_of(const char *variant)
{
    husk_one_hot_params params = husk_one_hot_defaults();
    params.on = 0.9f;
    params.off = 0.1f;
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_one_hot_params params = params_of(job->form);
    return husk_one_hot(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_one_hot_params params = params_of(NULL);
    husk_ref_array labels = bench_ref_array(&data->x), y = bench_ref_array(&output->y);
    const husk_ref_one_hot op = {.params = &params, .labels = &labels, .classes = c->as.one_hot.classes};
    husk_ref_function function = husk_ref_one_hot_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "y", &report);
}

// Classes around vectors.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int classes[] = {1, 10, 16, 33, 1000}, labels[] = {1, 7, 16, 17, 77, 1025};
    if (index >= 30)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "one_hot labels=%d classes=%d", labels[index / 5], classes[index % 5]);
    return true;
}

const bench_op bench_op_one_hot = {
    .name = "one_hot",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
