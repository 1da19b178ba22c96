// SPDX-License-Identifier: MIT
// optimizer count [kind dtype]
//
// Steps are in place and measured one after the other, with the same gradient. Whatever their number, everything stays
// an ordinary number: gradients are away from 0, states go to what the gradient makes of them (itself, its double, its
// square), and the parameter moves by some 2^-7 a step until that is less than half of its last place.
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "ref/optimizer/optimizer.h"

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

// Where the state is that sums squares; -1: there is none.
static int squares(const bench_case *c)
{
    return c->as.optimizer.kind == HUSK_OPTIMIZER_SGD ? -1 : states(c) - 1;
}

// 0.5 to 1, of either sign.
static void fill(bench_array *array, uint64_t seed)
{
    float *values = array->data;
    bench_array_fill(array, seed, 0.5f);
    for (int64_t i = 0; i < array->count; i++)
        values[i] += copysignf(0.5f, values[i]);
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t shape[] = {c->as.optimizer.count};
    if (!bench_array_make(&data->x, HUSK_F32, 1, shape, NULL) || !bench_array_make(&data->y, HUSK_F32, 1, shape, NULL))
        return false;
    bench_array_fill(&data->y, seed, 2.0f);
    fill(&data->x, seed + 1);
    for (int i = 0; i < states(c); i++) {
        bench_array *state = &data->saved[i];
        if (!bench_array_make(state, HUSK_F32, 1, shape, NULL))
            return false;
        fill(state, seed + 2 + (uint64_t)i);
        for (int64_t k = 0; i == squares(c) && k < state->count; k++)
            ((float *)state->data)[k] = fabsf(((float *)state->data)[k]);
    }
    return true;
}

static husk_optimizer_params params_of(const bench_case *c, const char *variant)
{
    husk_optimizer_params params = husk_optimizer_defaults((husk_optimizer_kind)c->as.optimizer.kind, 0x1p-7);
    params.momentum = c->as.optimizer.kind == HUSK_OPTIMIZER_SGD ? 0.5 : 0;
    params.weight_decay = 0;
    params.step = 2;
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_optimizer_params params = params_of(job->c, job->form);
    const husk_tensor *second = squares(job->c) < 0 ? NULL : &set->saved[squares(job->c)];
    const husk_tensor *first = squares(job->c) == 0 ? NULL : &set->saved[0];
    return husk_optimizer(job->queue, &params, &set->x, &set->y, first, second, NULL);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_optimizer_params params = params_of(c, NULL);
    const husk_ref_array g = bench_ref_array(&data->x), w = bench_ref_array(&data->y);
    husk_ref_array before[2], made[2];
    husk_ref_optimizer op = {.params = &params, .g = &g, .before = {&w, NULL, NULL, NULL}};
    const husk_ref_function function = husk_ref_optimizer_function(&op);
    for (int i = 0; i < states(c); i++) {
        before[i] = bench_ref_array(&data->saved[i]);
        made[i] = bench_ref_array(&output->saved[i]);
        op.before[i == squares(c) ? HUSK_REF_OPTIMIZER_SECOND : HUSK_REF_OPTIMIZER_FIRST] = &before[i];
    }
    const husk_ref_array y = bench_ref_array(&output->y);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, "w", &report);
    for (int i = 0; i < states(c); i++) {
        op.output = i == squares(c) ? HUSK_REF_OPTIMIZER_SECOND : HUSK_REF_OPTIMIZER_FIRST;
        report = (husk_ref_report){0};
        husk_ref_check(&function, options->seed, &made[i], &report);
        bench_verdict_add(verdict, i == squares(c) ? "second" : "first", &report);
    }
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
    .updates_saved = 3u,
    .make_data = make_data,
    .husk_enqueue = husk_enqueue,
    .verify = verify,
    .generate = generate,
};
