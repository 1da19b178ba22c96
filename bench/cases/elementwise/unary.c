// SPDX-License-Identifier: MIT
// unary count [op dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/elementwise/unary.h"

static const bench_choice op_choices[] = {
#define CHOICE(name, number, text) {text, number},
    HUSK_UNARY_LIST(CHOICE)
#undef CHOICE
        {NULL, 0},
};

static const bench_field fields[] = {
    BENCH_REQUIRED("count", as.unary.count, 0, "elements"),
    BENCH_CHOICE("op", as.unary.op, HUSK_UNARY_EXP, op_choices, "the function"),
    {.key = NULL},
};

static double flops(const bench_case *c)
{
    return (double)c->as.unary.count;
}

// Of the gradients some are zero whatever x and dy, and negate's is -dy.
static double passes(const bench_case *c)
{
    if (c->dir == BENCH_FWD)
        return 2;
    switch (c->as.unary.op) {
    case HUSK_UNARY_SIGN:
    case HUSK_UNARY_FLOOR:
    case HUSK_UNARY_CEIL:
    case HUSK_UNARY_ROUND:
        return 1;
    case HUSK_UNARY_NEGATE:
        return 2;
    default:
        return 3;
    }
}

static double bytes(const bench_case *c)
{
    return bench_case_element(c) * passes(c) * (double)c->as.unary.count;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    const int64_t *count = &c->as.unary.count;
    if (!bench_array_make(&data->x, HUSK_F32, 1, count, NULL) || !bench_array_make(&data->y, HUSK_F32, 1, count, NULL))
        return false;
    bench_array_fill(&data->x, seed, 4);
    for (int64_t i = 0; i < *count; i++) // every function is defined there
        ((float *)data->x.data)[i] = fabsf(((float *)data->x.data)[i]) + 0.0625f;
    if (c->dir == BENCH_FWD)
        return true;
    if (!bench_array_make(&data->dy, HUSK_F32, 1, count, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 1, 1);
    return true;
}

static husk_unary_params params_of(const bench_case *c, const char *variant)
{
    return HUSK_UNARY_PARAMS(.op = c->as.unary.op, .low = -1, .high = 1, .exponent = 1.5f, .variant = variant);
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    husk_unary_params params = params_of(job->c, job->form);
    if (job->c->dir == BENCH_BWD)
        return husk_unary_backward(job->queue, &params, &set->x, NULL, &set->dy, &set->y);
    return husk_unary(job->queue, &params, &set->x, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    husk_unary_params params = params_of(c, NULL);
    husk_ref_array x = bench_ref_array(&data->x), y = bench_ref_array(&output->y), dy = bench_ref_array(&data->dy);
    husk_ref_unary op = {.params = &params, .x = &x};
    husk_ref_unary_backward backward = {.params = &params, .x = &x, .dy = &dy};
    husk_ref_function function =
        c->dir == BENCH_FWD ? husk_ref_unary_function(&op) : husk_ref_unary_backward_function(&backward);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &y, &report);
    bench_verdict_add(verdict, c->dir == BENCH_FWD ? "y" : "dx", &report);
}

// Every function at sizes around vectors and work-groups.
static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int counts[] = {15, 4099};
    const husk_unary_op op = (husk_unary_op)(index / 2 % 18);
    if (index >= 72)
        return false;
    // A gradient that is zero throughout proves nothing: another function's.
    const bool is_flat = op == HUSK_UNARY_SIGN || (op >= HUSK_UNARY_FLOOR && op <= HUSK_UNARY_ROUND);
    snprintf(line, BENCH_CASE_TEXT, "unary count=%d op=%s%s", counts[index % 2],
             husk_unary_name(index >= 36 && is_flat ? HUSK_UNARY_SQUARE : op), index < 36 ? "" : " dir=bwd");
    return true;
}

const bench_op bench_op_unary = {
    .name = "unary",
    .gradients = {[BENCH_BWD] = "unary_backward"},
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
