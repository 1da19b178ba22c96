// SPDX-License-Identifier: MIT
// optimizer count [kind dtype]
//
// Steps are in place and measured one after the other, so their operands are a fixed point: gradients and states are
// 0, and the parameter stays as it is. tests/ops/test_optimizer.c checks numbers that move.
#include <stdio.h>
#include <string.h>

#include "data.h"
#include "op.h"
#include "ref/optimizer.h"

static const bench_choice kind_choices[] = {
#define KIND_CHOICE(name, number, text) {text, number},
    HUSK_OPTIMIZER_LIST(KIND_CHOICE)
#undef KIND_CHOICE
        {NULL, 0},
};

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.optimizer.count, 1, "elements"),
    BENCH_CHOICE("kind", as.optimizer.kind, HUSK_OPTIMIZER_ADAM, kind_choices, "sgd, rmsprop, adam or adamw"),
    {.key = NULL},
};

// States beside the parameter; sgd is measured with momentum.
static int states(const bench_case *c)
{
    return c->as.optimizer.kind >= HUSK_OPTIMIZER_ADAM ? 2 : 1;
}

static double flops(const bench_case *c)
{
    return 5.0 * (1 + states(c)) * (double)c->as.optimizer.count;
}

static double bytes(const bench_case *c)
{
    return 4.0 * (3 + 2 * states(c)) * (double)c->as.optimizer.count;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t shape[] = {c->as.optimizer.count};
    bench_array *const zeros[] = {&data->x, &data->saved[0], &data->saved[1]};
    if (!bench_array_make(&data->y, HUSK_F32, 1, shape, NULL))
        return false;
    bench_array_fill(&data->y, seed, 2.0f);
    for (int i = 0; i < 1 + states(c); i++) {
        if (!bench_array_make(zeros[i], HUSK_F32, 1, shape, NULL))
            return false;
        memset(zeros[i]->data, 0, (size_t)shape[0] * sizeof(float));
    }
    return true;
}

static husk_optimizer_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_OPTIMIZER_PARAMS(.kind = (husk_optimizer_kind)c->as.optimizer.kind, .rate = 0.5f,
                                 .momentum = c->as.optimizer.kind == HUSK_OPTIMIZER_SGD ? 0.5f : 0.0f, .step = 2,
                                 .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_optimizer_params params = params_of(job->c, job->form);
    const bool is_adam = params.kind >= HUSK_OPTIMIZER_ADAM;
    const husk_tensor *first = params.kind == HUSK_OPTIMIZER_RMSPROP ? NULL : &set->saved[0];
    const husk_tensor *second = params.kind == HUSK_OPTIMIZER_RMSPROP ? &set->saved[0] : NULL;
    if (is_adam)
        second = &set->saved[1];
    return husk_optimizer(job->queue, &params, &set->x, &set->y, first, second, NULL);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_optimizer_params params = params_of(c, NULL);
    const husk_ref_array g = bench_ref_array(&data->x), w = bench_ref_array(&data->y);
    const husk_ref_array made = bench_ref_array(&output->y);
    const husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, NULL, NULL, NULL}};
    const husk_ref_function function = husk_ref_optimizer_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &made, &report);
    bench_verdict_add(verdict, "w", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {1, 15, 16, 17, 63, 1000, 4099, 100001};
    if (index >= 32)
        return false;
    snprintf(line, BENCH_CASE_TEXT, "optimizer count=%d kind=%s", counts[index / 4],
             husk_optimizer_kind_name((husk_optimizer_kind)(index % 4)));
    return true;
}

const bench_op bench_op_optimizer = {
    .name = "optimizer",
    .fields = fields,
    .common = BENCH_COMMON_DTYPE,
    .flops = flops,
    .bytes = bytes,
    .is_bandwidth = true,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
