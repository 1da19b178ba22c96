// SPDX-License-Identifier: MIT
// activation count [act dtype dir]
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/activation.h"

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.activation.count, 0, "elements"),
    BENCH_CHOICE("act", act, HUSK_ACT_RELU, bench_act_choices, "the function"),
    {.key = NULL},
};

static double flops(const bench_case *c)
{
    return (double)c->as.activation.count;
}

static double bytes(const bench_case *c)
{
    // The gradient of what changes nothing is dy, whatever x.
    const double passes = c->dir == BENCH_FWD || c->act == HUSK_ACT_NONE ? 2 : 3;
    return bench_case_element(c) * passes * (double)c->as.activation.count;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t *count = &c->as.activation.count;
    if (!bench_array_make(&data->x, HUSK_F32, 1, count, NULL) || !bench_array_make(&data->y, HUSK_F32, 1, count, NULL))
        return false;
    bench_array_fill(&data->x, seed, 8);
    if (c->dir == BENCH_FWD)
        return true;
    if (!bench_array_make(&data->dy, HUSK_F32, 1, count, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 1, 1);
    return true;
}

static husk_activation_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_ACTIVATION_PARAMS(.activation = c->act, .slope = BENCH_LEAKY_SLOPE, .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_activation_params params = params_of(job->c, job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_activation_backward(job->queue, &params, &set->x, NULL, &set->dy, &set->y);
    return husk_activation(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_activation_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y), dy = bench_ref_array(&data->dy);
    husk_ref_activation op = {.params = &params, .x = &x};
    husk_ref_activation_backward backward = {.params = &params, .x = &x, .dy = &dy};
    husk_ref_function function =
        c->dir == BENCH_FWD ? husk_ref_activation_function(&op) : husk_ref_activation_backward_function(&backward);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, c->dir == BENCH_FWD ? "y" : "dx", &report);
}

// Every activation at sizes around vectors and work-groups.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {1, 15, 257, 4099};
    if (index >= 72)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "activation count=%d act=%s%s", counts[index % 4],
             husk_act_name((husk_act)(index / 4 % 9)), index < 36 ? "" : " dir=bwd");
    return true;
}

const bench_op bench_op_activation = {
    .name = "activation",
    .gradients = {[BENCH_BWD] = "activation_backward"},
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
