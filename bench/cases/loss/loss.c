// SPDX-License-Identifier: MIT
// loss n c [inner kind reduction probabilities dtype dir]
#include <math.h>
#include <stdio.h>

#include "cases/array.h"
#include "cases/op.h"
#include "common/text.h"
#include "ref/loss/loss.h"
#include "ref/random.h"

static const bench_choice kind_choices[] = {
#define KIND_CHOICE(name, number, text) {text, number},
    HUSK_LOSS_LIST(KIND_CHOICE)
#undef KIND_CHOICE
        {NULL, 0},
};

static const bench_choice reduction_choices[] = {
    {"mean", HUSK_LOSS_MEAN}, {"sum", HUSK_LOSS_SUM}, {"none", HUSK_LOSS_NONE}, {NULL, 0}};

static const bench_field fields[] = {
    BENCH_REQUIRED("n", as.loss.n, 1, "rows"),
    BENCH_REQUIRED("c", as.loss.c, 1, "classes, or elements of a row"),
    BENCH_INTEGER("inner", as.loss.inner, 1, 1, "extent after the classes"),
    BENCH_CHOICE("kind", as.loss.kind, HUSK_LOSS_CROSS_ENTROPY, kind_choices, "cross_entropy, mean_square, huber ..."),
    BENCH_CHOICE("reduction", as.loss.reduction, HUSK_LOSS_MEAN, reduction_choices, "mean, sum or none"),
    BENCH_CHOICE("probabilities", as.loss.probabilities, 0, bench_flag_choices, "1: targets are no labels"),
    {.key = NULL},
};

static bool is_backward(const bench_case *c)
{
    return c->dir != BENCH_FWD;
}

static bool has_rows(const bench_case *c)
{
    return c->as.loss.kind <= HUSK_LOSS_NEGATIVE_LOG;
}

static bool has_labels(const bench_case *c)
{
    return has_rows(c) && !c->as.loss.probabilities;
}

static double elements(const bench_case *c)
{
    return (double)c->as.loss.n * (double)c->as.loss.c * (double)c->as.loss.inner;
}

static double flops(const bench_case *c)
{
    return (is_backward(c) ? 5 : 3) * elements(c);
}

// x, so many elements of it; targets, of which labels are i32 whatever x is; and what is written.
static double bytes_with(const bench_case *c, double read)
{
    const bench_loss *p = &c->as.loss;
    const double rows = (double)p->n * (double)p->inner, each = has_rows(c) ? rows : elements(c);
    const double size = bench_case_element(c), target = has_labels(c) ? 4 * rows : size * elements(c);
    const double losses = p->reduction == HUSK_LOSS_NONE ? each : 1;
    return target + size * (read + losses + (is_backward(c) ? elements(c) : 0));
}

// x once; of negative_log what labels name, and nothing for its gradient.
static double bytes(const bench_case *c)
{
    if (c->as.loss.kind != HUSK_LOSS_NEGATIVE_LOG)
        return bytes_with(c, elements(c));
    return bytes_with(c, is_backward(c) ? 0 : (double)c->as.loss.n * (double)c->as.loss.inner);
}

static double operands(const bench_case *c)
{
    return bytes_with(c, elements(c));
}

static bool normalise(bench_case *c, char reason[BENCH_REASON_TEXT])
{
    if (c->as.loss.probabilities && c->as.loss.kind != HUSK_LOSS_CROSS_ENTROPY)
        return bench_explain(reason, BENCH_REASON_TEXT, "probabilities=1 is for kind=cross_entropy");
    return true;
}

// The dimensions of x, or without classes.
static int32_t shape_of(const bench_case *c, bool is_whole, int64_t shape[3])
{
    const bench_loss *p = &c->as.loss;
    int32_t rank = 0;
    shape[rank++] = p->n;
    if (is_whole || !has_rows(c))
        shape[rank++] = p->c;
    if (p->inner > 1)
        shape[rank++] = p->inner;
    return rank;
}

static bool make_target(const bench_case *c, bench_data *data, uint64_t seed)
{
    int64_t shape[3];
    const int32_t rank = shape_of(c, !has_labels(c), shape);
    if (!bench_array_make(&data->w, has_labels(c) ? HUSK_I32 : HUSK_F32, rank, shape, NULL))
        return false;
    if (has_labels(c)) {
        husk_ref_random random = {.seed = seed};
        for (int64_t i = 0; i < data->w.count; i++)
            ((int32_t *)data->w.data)[i] = (int32_t)husk_ref_random_below(&random, c->as.loss.c);
        return true;
    }
    bench_array_fill(&data->w, seed, 1.0f);
    for (int64_t i = 0; i < data->w.count; i++)
        ((float *)data->w.data)[i] = fabsf(((float *)data->w.data)[i]);
    return true;
}

static bool make_data(const bench_case *c, bench_data *data, uint64_t seed)
{
    int64_t shape[3], each[3];
    const int32_t rank = shape_of(c, true, shape);
    const int32_t loss_rank = c->as.loss.reduction == HUSK_LOSS_NONE ? shape_of(c, false, each) : 0;
    if (!bench_array_make(&data->x, HUSK_F32, rank, shape, NULL) || !make_target(c, data, seed + 1))
        return false;
    bench_array_fill(&data->x, seed, 4.0f);
    if (!is_backward(c))
        return bench_array_make(&data->y, HUSK_F32, loss_rank, each, NULL);
    if (!bench_array_make(&data->dy, HUSK_F32, loss_rank, each, NULL) ||
        !bench_array_make(&data->y, HUSK_F32, rank, shape, NULL))
        return false;
    bench_array_fill(&data->dy, seed + 2, 1.0f);
    return true;
}

static husk_loss_params params_of(const bench_case *c, const char *variant)
{
    husk_loss_params params = husk_loss_defaults((husk_loss_kind)c->as.loss.kind);
    params.reduction = (husk_loss_reduction)c->as.loss.reduction;
    params.variant = variant;
    return params;
}

static husk_status husk_enqueue(bench_husk_job *job, bench_husk_set *set)
{
    const husk_loss_params params = params_of(job->c, job->form);
    if (is_backward(job->c))
        return husk_loss_backward(job->queue, &params, &set->x, &set->w, NULL, NULL, &set->dy, &set->y);
    return husk_loss(job->queue, &params, &set->x, &set->w, NULL, NULL, &set->y);
}

static void verify(const bench_case *c, const bench_data *data, const bench_output *output,
                   const bench_verify_options *options, bench_verdict *verdict)
{
    const husk_loss_params params = params_of(c, NULL);
    const husk_ref_array x = bench_ref_array(&data->x), target = bench_ref_array(&data->w);
    const husk_ref_array dloss = bench_ref_array(&data->dy), made = bench_ref_array(&output->y);
    husk_ref_loss op = {.params = &params, .x = &x, .target = &target, .dloss = &dloss};
    if (!husk_ref_loss_prepare(&op)) {
        bench_verdict_unchecked(verdict);
        return;
    }
    const husk_ref_function function =
        is_backward(c) ? husk_ref_loss_backward_function(&op) : husk_ref_loss_function(&op);
    husk_ref_report report = {0};
    husk_ref_check(&function, options->seed, &made, &report);
    husk_ref_loss_release(&op);
    bench_verdict_add(verdict, is_backward(c) ? "dx" : "loss", &report);
}

static bool generate(int64_t index, char line[BENCH_CASE_TEXT])
{
    static const int classes[] = {1, 2, 3, 15, 16, 17, 63, 64, 65, 100, 257, 1000, 2049, 4099};
    static const int inners[] = {1, 1, 1, 2, 7, 16, 33};
    static const char *const reductions[] = {"mean", "sum", "none"};
    if (index >= 64)
        return false;
    husk_ref_random draw = {.seed = 0x6c6f7373 + (uint64_t)index};
    const int c = classes[husk_ref_random_below(&draw, 14)], inner = inners[husk_ref_random_below(&draw, 7)];
    const int n = 1 + (int)husk_ref_random_below(&draw, 40);
    const husk_loss_kind kind = (husk_loss_kind)(index % 8);
    const bool probabilities = kind == HUSK_LOSS_CROSS_ENTROPY && husk_ref_random_below(&draw, 2);
    snprintf(line, BENCH_CASE_TEXT, "loss n=%d c=%d inner=%d kind=%s reduction=%s%s%s", n, c, inner,
             husk_loss_kind_name(kind), reductions[husk_ref_random_below(&draw, 3)],
             probabilities ? " probabilities=1" : "", index >= 32 ? " dir=bwd" : "");
    return true;
}

const bench_op bench_op_loss = {
    .name = "loss",
    .gradients = {[BENCH_BWD] = "loss_backward"},
    .fields = fields,
    .common = BENCH_COMMON_DTYPE | BENCH_COMMON_DIR,
    .normalise = normalise,
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
