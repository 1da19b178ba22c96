// SPDX-License-Identifier: MIT
// dropout count [percent dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/dropout.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.dropout.count, 0, "elements"),
    BENCH_INTEGER("percent", as.dropout.percent, 10, 0, "so many in a hundred are dropped"),
    {.key = NULL},
};

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    return c->as.dropout.percent <= 100 || bench_explain(reason, BENCH_REASON_TEXT, "percent is more than 100");
}

static double flops(const bench_case *c)
{
    return (double)c->as.dropout.count;
}

static double bytes(const bench_case *c)
{
    return 2 * bench_case_element(c) * (double)c->as.dropout.count;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t *count = &c->as.dropout.count;
    bench_array *x = c->dir == BENCH_FWD ? &data->x : &data->dy;
    if (!bench_array_make(x, HUSK_F32, 1, count, NULL) || !bench_array_make(&data->y, HUSK_F32, 1, count, NULL))
        return false;
    bench_array_fill(x, seed, 4);
    return true;
}

static husk_dropout_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_DROPOUT_PARAMS(.p = (float)c->as.dropout.percent / 100.0f, .seed = 20150416, .offset = 7,
                               .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_dropout_params params = params_of(job->c, job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_dropout_backward(job->queue, &params, &set->dy, &set->y);
    return husk_dropout(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_dropout_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y), dy = bench_ref_array(&data->dy);
    husk_ref_dropout op = {.params = &params, .x = &x};
    husk_ref_dropout_backward backward = {.params = &params, .dy = &dy};
    husk_ref_function function =
        c->dir == BENCH_FWD ? husk_ref_dropout_function(&op) : husk_ref_dropout_backward_function(&backward);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, c->dir == BENCH_FWD ? "y" : "dx", &report);
}

// Sizes around vectors and work-groups, shares of every kind.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {15, 4099, 70001}, shares[] = {0, 10, 50, 99, 100};
    if (index >= 30)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "dropout count=%d percent=%d%s", counts[index % 3], shares[index / 3 % 5],
             index < 15 ? "" : " dir=bwd");
    return true;
}

const bench_op bench_op_dropout = {
    .name = "dropout",
    .gradients = {[BENCH_BWD] = "dropout_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .narrows = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
